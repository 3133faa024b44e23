/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * What the kernel programs and the user-space side share: one record per
 * observed device, in a memory-mapped array, read without a system call.
 * Plain C types only, so that BPF, a native compiler and the Rust mirror
 * (record.rs, layout asserted there and here) agree on it.
 *
 * Times are CLOCK_MONOTONIC nanoseconds, 0 for "never"; counts are cumulative.
 */
#ifndef LULL_RECORD_H
#define LULL_RECORD_H

typedef unsigned long long lull_u64;
typedef unsigned int lull_u32;

#define LULL_MAX_DEVICES 16
/* Histogram shape: lull-core/src/histogram.rs. */
#define LULL_SUB_BITS 3
#define LULL_SUB (1 << LULL_SUB_BITS)
#define LULL_BUCKETS (LULL_SUB * (40 - LULL_SUB_BITS + 1))

enum lull_class {
	LULL_FOREGROUND = 0,
	LULL_BACKGROUND = 1,
	LULL_CLASSES = 2,
	/* Nobody waits for it: asynchronous write-back, or unprotected. */
	LULL_NEUTRAL = 2,
};

enum lull_state {
	LULL_I = 0,
	LULL_F = 1,
	LULL_B = 2,
	LULL_P = 3,
	LULL_STATES = 4,
};

enum lull_event {
	LULL_ON_FOREGROUND = 0,
	LULL_ON_BACKGROUND = 1,
	LULL_ON_TIMEOUT = 2,
	LULL_ON_EMPTY = 3,
	LULL_EVENTS = 4,
};

/* lull_device.flags */
#define LULL_START_ON_REQUEST                                                                      \
	1u		       /* the interval starts with the request, not with its completion    \
				*/
#define LULL_PAUSE_AFTER_BG 2u /* variant: B on b goes to P */
#define LULL_PAUSE_AFTER_BG_IDLE 4u /* variant: B on i goes to P */

/* lull_device.wake: what user space waits for */
#define LULL_WAKE_FG_END 1u
#define LULL_WAKE_BG_END 2u
#define LULL_WAKE_LEAK 4u

#define LULL_INFINITE (~0ULL)

struct lull_class_view {
	lull_u64 started;
	lull_u64 ended;
	lull_u64 last_start_ns;
	lull_u64 last_end_ns;
	lull_u64 bytes;
	lull_u64 in_service; /* reads as signed: a missed event may make it step below zero until it
				heals */
};

struct lull_histogram {
	lull_u64 buckets[LULL_BUCKETS];
	lull_u64 sum_ns;
};

struct lull_device {
	/* Written by user space. */
	lull_u64 interval_ns;
	lull_u32 flags;
	lull_u32 wake;
	/* Written by the kernel programs. */
	struct lull_class_view view[LULL_CLASSES];
	lull_u64 counters[LULL_STATES][LULL_EVENTS];
	lull_u64 leaks;	  /* background requests that started in F or P */
	lull_u64 neutral; /* requests of neither class */
	lull_u64 healed;  /* in-service entries whose end was missed */
	struct lull_histogram quiet;
	struct lull_histogram loaded;
	struct lull_histogram gaps;
	struct lull_histogram service;
};

_Static_assert(sizeof(struct lull_class_view) == 48, "mirrored in record.rs");
_Static_assert(sizeof(struct lull_histogram) == 8 * (LULL_BUCKETS + 1), "mirrored in record.rs");
_Static_assert(sizeof(struct lull_device) == 16 + 2 * 48 + 8 * 16 + 24 + 4 * 8 * (LULL_BUCKETS + 1),
	       "mirrored in record.rs");

#endif
