/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A timer in the kernel that wakes user space once the foreground has stayed
 * away for a while: one wake-up of the supervisor instead of one per end.
 *
 * Arming a timer programs the clock device, which costs about as much as
 * several context switches on a virtual machine. So an alarm is armed lazily:
 * one that runs is never moved; when it goes off it looks at the record and
 * runs for the rest, if the foreground has come and gone since. Its owner has
 * a word in the record that says whether it runs:
 *
 *                 lull_alarm_start             goes off
 *      0 resting ──────────────────▶ 1 armed ───────────┐
 *          ▲                            ▲  rest left    │
 *          │ foreground is here,        └───────────────┤
 *          │ or user space was woken                    │
 *          └────────────────────────────────────────────┘
 *
 * The one that goes off clears the word first and looks at the record after
 * that; the one that ends the foreground changes the record first and takes the
 * word after that. So one of the two sees the other, and no end is lost.
 *
 * The including program defines `lull_alarm_fired(slot)`.
 */
#ifndef LULL_ALARM_H
#define LULL_ALARM_H

#define LULL_CLOCK_MONOTONIC 1

struct lull_alarm {
	struct bpf_timer timer;
};

/* Timers may not lie in mapped memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u32);
	__type(value, struct lull_alarm);
} alarms SEC(".maps");

static __always_inline void lull_alarm_fired(__u32 slot);

static int lull_alarm_callback(void *map, __u32 *slot, struct lull_alarm *alarm)
{
	lull_alarm_fired(*slot);
	return 0;
}

/* Run once by the loader: making a timer allocates, which a scheduler's tracepoint may not. */
SEC("syscall")
int lull_alarm_setup(void *ctx)
{
	struct lull_alarm *alarm;
	__u32 slot;

	for (int i = 0; i < LULL_MAX_DEVICES; i++) {
		slot = i;
		alarm = bpf_map_lookup_elem(&alarms, &slot);
		if (!alarm || bpf_timer_init(&alarm->timer, &alarms, LULL_CLOCK_MONOTONIC) ||
		    bpf_timer_set_callback(&alarm->timer, lull_alarm_callback))
			return 1;
	}
	return 0;
}

/* Arms the alarm of `slot` unless it runs; `armed` is its word in the record. */
static __always_inline void lull_alarm_start(__u32 slot, __u32 *armed, __u64 delay_ns)
{
	struct lull_alarm *alarm;

	if (*(volatile __u32 *)armed || __sync_lock_test_and_set(armed, 1))
		return;
	alarm = bpf_map_lookup_elem(&alarms, &slot);
	if (!alarm || bpf_timer_start(&alarm->timer, delay_ns, 0))
		*armed = 0;
}

/* To be called first when the alarm goes off. */
static __always_inline void lull_alarm_rest(__u32 *armed)
{
	__sync_lock_test_and_set(armed, 0);
}

#endif
