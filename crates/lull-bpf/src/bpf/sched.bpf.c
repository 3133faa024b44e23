/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Observes the CPUs: which class runs where, how many the foreground uses, and
 * how long its bursts take with and without background on some CPU.
 *
 *   sched_waking       a task will be made runnable  (a burst begins)
 *   sched_wakeup_new   ... for the first time
 *   sched_switch       a CPU goes from one task to the next
 *
 * Background is what has the idle CPU class, of its own or by its group, or is
 * in the job's group; kernel threads and lull's own processes are neutral; the
 * rest is foreground, or with --protect what it names. A foreground task that
 * the background wakes, like the reader of the job's pipe, works at the job's
 * pace and for it: neutral until it sleeps.
 *
 * A program that would re-enter itself on a CPU is skipped by the kernel, so
 * any event can be missed. Therefore nothing here counts events up and down:
 * each CPU has a slot with the class that runs there, written anew at every
 * switch, and the total moves by the difference between old and new slot. The
 * total is always the sum of the slots, and a slot that is wrong is so until
 * the CPU's next switch.
 *
 * What began before `watched_ns` is not known whole, and counts as nothing.
 * Who runs on since then without a switch is found by `lull_look`, which user
 * space runs on each CPU.
 *
 * All programs run with preemption off and write to their own CPU's record
 * without atomics. What all CPUs share is written when a CPU changes its class
 * to or from foreground or background, and read otherwise.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lull_policy.h"
#include "lull_task.h"
#include "lull_interrupt.h"

#define TASK_PLACES 16384
#define ONE_BACKGROUND (1ULL << 32)
/* Work that the background asked for is its own for so long; then it counts as foreground. */
#define ASKED_NS 100000000ULL
/* --protect: how long a task keeps the class that its ancestors gave it. */
#define VERDICT_NS 200000000ULL

struct task {
	__u64 woken_ns; /* 0: no burst */
	__u64 on_cpu_ns;
	__u64 judged_ns;
	__u64 asked_ns; /* woken by the background; 0: not */
	__u32 pid;
	__u32 class; /* --protect's verdict at `judged_ns` */
	__u8 loaded; /* background ran somewhere at the wake-up */
	__u8 ran;
	__u8 unused[6];
};

/* One per possible CPU; the loader sets the number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lull_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lull_sched);
} shared SEC(".maps");

/* Foreground tasks, by the low bits of their thread ids: looked at with every wake-up and switch,
 * so it must cost next to nothing. Whoever is woken takes the place from another, whose burst is
 * lost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASK_PLACES);
	__type(key, __u32);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

static __always_inline struct lull_cpu *own_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct lull_sched *all_cpus(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&shared, &only);
}

static __always_inline void count(struct lull_histogram *histogram, __u64 span_ns)
{
	__u32 bucket = lull_bucket_of(span_ns);

	if (bucket >= LULL_BUCKETS)
		return;
	histogram->buckets[bucket]++;
	histogram->sum_ns += span_ns;
}

/* The foreground uses one CPU more than it did, `used` in all. */
static __always_inline void note_use(struct lull_sched *all, __u32 used, __u64 now)
{
	/* Two CPUs may race, and the lower value may stay; user space reads what runs now, too. */
	if (used > all->peak)
		all->peak = used;
	if (!all->wake || used <= all->need_above || now - all->last_wake_ns < all->spacing_ns)
		return;
	all->last_wake_ns = now;
	if (__sync_lock_test_and_set(&all->wake, 0)) {
		all->wakes_given++;
		bpf_ringbuf_output(&wakes, &used, sizeof(used), BPF_RB_FORCE_WAKEUP);
	}
}

static __always_inline struct task *place_of(__u32 pid)
{
	__u32 place = pid % TASK_PLACES;

	return bpf_map_lookup_elem(&tasks, &place);
}

/* The record of a task, if it has one. */
static __always_inline struct task *known_task(__u32 pid)
{
	struct task *task = place_of(pid);

	return task && task->pid == pid ? task : 0;
}

/* The record of a task, made if there is none. */
static __always_inline struct task *task_of(__u32 pid)
{
	struct task *task = place_of(pid);

	if (task && task->pid != pid)
		*task = (struct task){.pid = pid};
	return task;
}

/* --protect walks up two trees: too dear for every switch. */
static __always_inline __u32 verdict(struct task_struct *task)
{
	struct task *known = task_of(task->pid);
	__u64 now = bpf_ktime_get_ns();

	if (known && known->judged_ns && now - known->judged_ns < VERDICT_NS)
		return known->class;
	if (known) {
		known->class = lull_is_protected(task) ? LULL_FOREGROUND : LULL_NEUTRAL;
		known->judged_ns = now;
		return known->class;
	}
	return LULL_NEUTRAL;
}

static __always_inline __u32 class_of(struct lull_sched *all, struct task_struct *task)
{
	__u32 tgid;

	if (!task->pid)
		return LULL_NOTHING;
	if (task->flags & PF_KTHREAD)
		return LULL_NEUTRAL;
	if (task->policy == SCHED_IDLE || lull_in_idle_group(task) ||
	    (all->job_group && lull_in_group(task, all->job_group)))
		return LULL_BACKGROUND;
	tgid = task->tgid;
	for (int i = 0; i < LULL_OWN && all->own[i]; i++) {
		if (all->own[i] == tgid)
			return LULL_NEUTRAL;
	}
	return protect ? verdict(task) : LULL_FOREGROUND;
}

/* Whether this task was woken by the background, not long ago. */
static __always_inline int works_for_background(struct task *task)
{
	if (!task || !task->asked_ns)
		return 0;
	if (bpf_ktime_get_ns() - task->asked_ns < ASKED_NS)
		return 1;
	task->asked_ns = 0;
	return 0;
}

/* When the task's burst began, as far as it was watched from its beginning; 0: there is none. */
static __always_inline __u64 burst_of(struct lull_sched *all, struct task *task)
{
	return task->woken_ns >= all->watched_ns ? task->woken_ns : 0;
}

/* A bit field, whose place each kernel tells. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___waits {
	unsigned int in_iowait : 1;
};
#pragma clang attribute pop

static __always_inline int waits_for_io(struct task_struct *task)
{
	struct task_struct___waits *waits = (void *)task;

	return bpf_core_field_exists(waits->in_iowait) &&
	       BPF_CORE_READ_BITFIELD_PROBED(waits, in_iowait);
}

/* A task that may be foreground is woken. */
static __always_inline void waking(void *ctx, struct task_struct *woken, int is_new)
{
	struct lull_sched *all = all_cpus();
	struct lull_cpu *cpu;
	struct task *task;
	__u64 running, now;

	if (!all || !all->watched_ns || class_of(all, woken) != LULL_FOREGROUND)
		return;
	cpu = own_cpu();
	task = task_of(woken->pid);
	if (!cpu || !task)
		return;
	now = bpf_ktime_get_ns();
	if (!is_new && !woken->on_rq) {
		task->asked_ns = 0;
		if (class_of(all, bpf_get_current_task_btf()) == LULL_BACKGROUND &&
		    !lull_is_interrupted(ctx)) {
			task->asked_ns = now;
			task->woken_ns = 0;
			return;
		}
	}
	running = all->running;
	/* One that is still on its queue was woken on its way to sleep: the burst goes on. */
	if (is_new || !burst_of(all, task) || !woken->on_rq) {
		task->woken_ns = now;
		task->on_cpu_ns = 0;
		task->ran = 0;
		task->loaded = running >= ONE_BACKGROUND;
		cpu->began++;
		if (waits_for_io(woken))
			cpu->io_ended++;
		if (task->loaded && (__u32)running + (running >> 32) >= all->online)
			cpu->crowded++;
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(lull_waking, struct task_struct *woken)
{
	waking(ctx, woken, 0);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(lull_wakeup_new, struct task_struct *woken)
{
	waking(ctx, woken, 1);
	return 0;
}

/* The foreground task of this slot leaves the CPU. */
static __always_inline void leave(struct lull_sched *all, struct lull_cpu *cpu, int missed,
				  int sleeps, __u64 now)
{
	struct task *task = known_task(cpu->pid);
	__u64 took;
	__u32 loaded;

	if (task)
		task->on_cpu_ns += now - cpu->task_since_ns;
	if (!sleeps)
		return;
	if (!task || !burst_of(all, task))
		return;
	if (missed) {
		task->woken_ns = 0;
		return;
	}
	/* What starts meanwhile does not count: the longer a burst, the more of a job that wakes
	 * often it would meet. */
	loaded = task->loaded & 1;
	took = now - task->woken_ns;
	count(&cpu->response[loaded], took);
	cpu->bursts[loaded].count++;
	cpu->bursts[loaded].cut_ns += took < all->most_ns ? took : all->most_ns;
	cpu->bursts[loaded].on_cpu_ns += task->on_cpu_ns;
	task->woken_ns = 0;
}

/* A foreground task gets the CPU. */
static __always_inline void enter(struct lull_sched *all, struct lull_cpu *cpu, __u32 pid,
				  struct task *task, __u64 now)
{
	cpu->pid = pid;
	cpu->task_since_ns = now;
	if (task && burst_of(all, task) && !task->ran) {
		task->ran = 1;
		cpu->bursts[task->loaded & 1].delays++;
		count(&cpu->delay[task->loaded & 1], now - task->woken_ns);
	}
}

/* What a slot of this class adds to `running`. */
static __always_inline __u64 share_of(__u32 class)
{
	return class == LULL_FOREGROUND ? 1 : class == LULL_BACKGROUND ? ONE_BACKGROUND : 0;
}

/* The CPU goes to a task of another class. */
static __always_inline void change(struct lull_sched *all, struct lull_cpu *cpu, __u32 class,
				   __u64 now)
{
	__u32 old = cpu->class;
	__u64 move = share_of(class) - share_of(old);
	__u64 after = __sync_fetch_and_add(&all->running, move) + move;

	if (old < LULL_CLASSES)
		cpu->busy_ns[old] += now - cpu->since_ns;
	cpu->class = class;
	cpu->since_ns = now;
	if (class == LULL_FOREGROUND)
		note_use(all, (__u32)after, now);
}

/* What the slot says is from before the watch. */
static __always_inline int is_of_before(struct lull_sched *all, struct lull_cpu *cpu)
{
	return cpu->watched_ns != all->watched_ns;
}

static __always_inline void begin_anew(struct lull_sched *all, struct lull_cpu *cpu)
{
	cpu->watched_ns = all->watched_ns;
	cpu->class = LULL_NOTHING;
	cpu->pid = 0;
}

/* The class of a task that runs; `*record`: its own, if it is foreground by itself and has one. */
static __always_inline __u32 class_on_cpu(struct lull_sched *all, struct task_struct *runs,
					  struct task **record)
{
	__u32 class = class_of(all, runs);

	if (class != LULL_FOREGROUND)
		return class;
	*record = known_task(runs->pid);
	return works_for_background(*record) ? LULL_NEUTRAL : LULL_FOREGROUND;
}

/* Whoever runs here since before the watch may run on for long without a switch. */
SEC("raw_tp")
int lull_look(void *ctx)
{
	struct lull_sched *all = all_cpus();
	struct lull_cpu *cpu = own_cpu();
	struct task_struct *current = bpf_get_current_task_btf();
	struct task *record = 0;
	__u32 class;
	__u64 now;

	if (!all || !cpu || !all->watched_ns || !is_of_before(all, cpu))
		return 0;
	begin_anew(all, cpu);
	class = class_on_cpu(all, current, &record);
	if (class == LULL_NOTHING)
		return 0;
	now = bpf_ktime_get_ns();
	if (class == LULL_FOREGROUND)
		enter(all, cpu, current->pid, record, now);
	change(all, cpu, class, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lull_switch, int preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct lull_sched *all = all_cpus();
	struct lull_cpu *cpu = own_cpu();
	struct task *task = 0;
	__u32 class, old;
	int missed, sleeps;
	__u64 now;

	if (!all || !cpu || !all->watched_ns)
		return 0;
	if (is_of_before(all, cpu))
		begin_anew(all, cpu);
	class = class_on_cpu(all, next, &task);
	old = cpu->class;
	/* Between kernel threads and nothing, or within the background: no clock is read. */
	if (class != LULL_FOREGROUND && old != LULL_FOREGROUND &&
	    share_of(class) == share_of(old)) {
		cpu->class = class;
		return 0;
	}
	now = bpf_ktime_get_ns();
	/* How the task of the slot left is not known then: it is taken for asleep. */
	missed = cpu->pid != prev->pid;
	sleeps = missed || (!preempt && prev_state);
	if (old == LULL_FOREGROUND)
		leave(all, cpu, missed, sleeps, now);
	cpu->pid = 0;
	if (class == LULL_FOREGROUND)
		enter(all, cpu, next->pid, task, now);
	if (class != old)
		change(all, cpu, class, now);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
