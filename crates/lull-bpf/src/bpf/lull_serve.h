/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who works for the background: a FUSE daemon that it reads through, the worker
 * of a loop or crypt device, a server that it asks over a pipe or a local socket.
 * What they do meanwhile is the background's.
 *
 * Whom a task of the background wakes itself, and not an interrupt above it,
 * works for it. Who does hands that on to kernel threads, to the threads of its own
 * process and to its children.
 *
 *             woken by the background
 *    own ───────────────────────────────▶ serving ◀─┐ answers the background (wakes
 *     ▲                                      │      └─ one of its tasks)
 *     └──────────────────────────────────────┘
 *       woken by anybody else, answers somebody else, or LULL_ASKED_NS have passed
 *
 * A wake-up out of an uninterruptible sleep changes nothing: the work goes on
 * after a request of its own. Idle workers of the kernel sleep so, too, but do not
 * count as load, which tells them apart.
 *
 * Edge cases: two tasks whose ids share a place forget each other; a missed event
 * leaves a task serving until the time is over. Who takes the next request without
 * a sleep is not seen to change sides until it answers.
 */
#ifndef LULL_SERVE_H
#define LULL_SERVE_H

/* Work that the background asked for is its own for so long: what waits for a slow disk in a long
 * queue. Then it counts as foreground. */
#define LULL_ASKED_NS 1000000000ULL
#define LULL_ASKED_PLACES 4096
#define LULL_UNINTERRUPTIBLE 0x0002u
#define LULL_NO_LOAD 0x0400u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___state {
	unsigned int __state;
};
#pragma clang attribute pop

struct lull_asked_task {
	__u64 since_ns;
	__u32 pid; /* 0: none */
	__u32 unused;
};

/* By the low bits of the thread id: looked at with every wake-up, so it must cost next to nothing.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LULL_ASKED_PLACES);
	__type(key, __u32);
	__type(value, struct lull_asked_task);
} asked_tasks SEC(".maps");

static __always_inline struct lull_asked_task *lull_asked_place(struct task_struct *task)
{
	__u32 place = (__u32)task->pid % LULL_ASKED_PLACES;

	return bpf_map_lookup_elem(&asked_tasks, &place);
}

/* Whether the task does now what the background asked it for. */
static __always_inline int lull_serves_background(struct task_struct *task)
{
	struct lull_asked_task *asked = lull_asked_place(task);

	return asked && asked->pid && asked->pid == (__u32)task->pid &&
	       bpf_ktime_get_ns() - asked->since_ns < LULL_ASKED_NS;
}

static __always_inline void lull_ask(struct task_struct *task)
{
	struct lull_asked_task *asked = lull_asked_place(task);

	if (!asked)
		return;
	asked->since_ns = bpf_ktime_get_ns();
	asked->pid = task->pid;
}

static __always_inline void lull_forget(struct task_struct *task)
{
	struct lull_asked_task *asked = lull_asked_place(task);

	if (asked && asked->pid == (__u32)task->pid)
		asked->pid = 0;
}

static __always_inline int lull_waits_for_device(struct task_struct *task)
{
	struct task_struct___state *inner = (void *)task;

	return bpf_core_field_exists(inner->__state) &&
	       (inner->__state & (LULL_UNINTERRUPTIBLE | LULL_NO_LOAD)) == LULL_UNINTERRUPTIBLE;
}

/* `arguments`: the context of the program on sched_waking. */
static __always_inline void lull_note_waking(void *arguments, struct task_struct *woken)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	int is_of_background, serves;

	if (lull_waits_for_device(woken))
		return;
	is_of_background = lull_is_background(waker);
	serves = !is_of_background && lull_serves_background(waker);
	if (is_of_background || serves) {
		if (lull_is_interrupted(arguments)) {
			lull_forget(woken);
			return;
		}
		if (lull_is_background(woken)) {
			if (serves)
				lull_ask(waker);
			return;
		}
		if (is_of_background || woken->flags & PF_KTHREAD || woken->tgid == waker->tgid) {
			lull_ask(woken);
			return;
		}
		if (!lull_serves_background(woken))
			lull_forget(waker);
	}
	lull_forget(woken);
}

/* A child begins to run. One of the background is background by itself. */
static __always_inline void lull_note_birth(struct task_struct *child)
{
	if (lull_serves_background(bpf_get_current_task_btf()))
		lull_ask(child);
	else
		lull_forget(child);
}

#endif
