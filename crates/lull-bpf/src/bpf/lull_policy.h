/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * The pure functions that the kernel programs share with user space: the state
 * of a device at a moment and its next lull (lull-core/src/idletime/derive.rs), the bucket of a
 * latency (lull-core/src/base/histogram.rs), and whether foreground waits for a CPU
 * (lull-bpf/src/cpu.rs). Tests compile this
 * header natively and compare it with the Rust originals.
 */
#ifndef LULL_POLICY_H
#define LULL_POLICY_H

#include "lull_record.h"

static inline lull_u32 lull_bucket_of(lull_u64 value)
{
	lull_u32 log = 0;
	lull_u64 rest = value;
	lull_u32 index;

	if (value < LULL_SUB)
		return (lull_u32)value;
	if (rest >> 32) {
		log += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		log += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		log += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		log += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		log += 2;
		rest >>= 2;
	}
	log += (lull_u32)(rest >> 1);
	index = (log - LULL_SUB_BITS + 1) * LULL_SUB +
		((lull_u32)(value >> (log - LULL_SUB_BITS)) & (LULL_SUB - 1));
	return index < LULL_BUCKETS ? index : LULL_BUCKETS - 1;
}

/* Whether an interval that began at `start` (0: never) still runs at `now`. */
static inline int lull_interval_runs(lull_u64 start, lull_u64 interval_ns, lull_u64 now)
{
	if (!start || !interval_ns)
		return 0;
	if (interval_ns == LULL_INFINITE)
		return 1;
	return now < start + interval_ns;
}

static inline enum lull_state lull_derive_state(const struct lull_class_view *fg,
						const struct lull_class_view *bg,
						lull_u64 interval_ns, lull_u32 flags, lull_u64 now)
{
	lull_u64 start = flags & LULL_START_ON_REQUEST ? fg->last_start_ns : fg->last_end_ns;
	int pause = (flags & LULL_PAUSE_AFTER_BG) ||
		    ((flags & LULL_PAUSE_AFTER_BG_IDLE) && (long long)bg->in_service <= 0);

	if ((long long)fg->in_service > 0)
		return LULL_F;
	if (lull_interval_runs(start, interval_ns, now))
		return LULL_P;
	if (pause && lull_interval_runs(bg->last_end_ns, interval_ns, now))
		return LULL_P;
	return (long long)bg->in_service > 0 ? LULL_B : LULL_I;
}

/* When the foreground may leave the resource at the earliest, if what is in service needs
 * `leaving_ns` for it; ~0 for never. */
static inline lull_u64 lull_earliest_lull(const struct lull_class_view *fg, lull_u64 interval_ns,
					  lull_u32 flags, lull_u64 leaving_ns, lull_u64 now)
{
	int busy = (long long)fg->in_service > 0;
	lull_u64 gone = busy ? now + leaving_ns : now, end;
	lull_u64 from = flags & LULL_START_ON_REQUEST ? fg->last_start_ns
			: busy			      ? gone
						      : fg->last_end_ns;

	if (!from || !interval_ns)
		return gone;
	if (interval_ns == LULL_INFINITE)
		return ~0ULL;
	end = from + interval_ns;
	return end > gone ? end : gone;
}

/* Packets of a class that wait in an interface's queue. */
static inline lull_u64 lull_in_queue(const struct lull_class_view *view, lull_u64 now)
{
	if (view->started <= view->ended || now >= view->last_start_ns + LULL_STALE_NS)
		return 0;
	return view->started - view->ended;
}

/* The state of an interface, whose views do not say what is in service. */
static inline enum lull_state lull_interface_state(const struct lull_device *device, lull_u64 now)
{
	struct lull_class_view fg = device->view[LULL_FOREGROUND];
	struct lull_class_view bg = device->view[LULL_BACKGROUND];

	fg.in_service = lull_in_queue(&fg, now);
	bg.in_service = lull_in_queue(&bg, now);
	return lull_derive_state(&fg, &bg, device->interval_ns, device->flags, now);
}

/* When the foreground may leave an interface at the earliest, if what waits there needs
 * `leaving_ns`. */
static inline lull_u64 lull_interface_lull(const struct lull_device *device, lull_u64 leaving_ns,
					   lull_u64 now)
{
	struct lull_class_view fg = device->view[LULL_FOREGROUND];

	fg.in_service = lull_in_queue(&fg, now);
	return lull_earliest_lull(&fg, device->interval_ns, device->flags, leaving_ns, now);
}

#endif
