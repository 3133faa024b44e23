/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which class a task is of, as far as the task itself shows it: that it belongs
 * to the job, by its control group or its descent, an idle CPU class of its own or
 * of a group above it, and what --protect names. For any task that a BTF-typed
 * program was given, not only for the current one.
 */
#ifndef LULL_TASK_H
#define LULL_TASK_H

#define SCHED_IDLE 5
#define PF_KTHREAD 0x00200000
#define LULL_PARENTS 8
/* Shells, their scripts and what those start: far more than a job is deep. */
#define LULL_ANCESTORS 32

/* The few kernel structures that are read, by name; CO-RE finds the offsets, and the sizes of what
 * is unsigned on both sides. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_group {
	int idle;
	struct task_group *parent;
};
struct kernfs_node {
	__u64 id;
};
struct cgroup_root;
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct task_struct {
	int pid;
	int tgid;
	unsigned int on_rq; /* one byte since 7.3 */
	unsigned int flags;
	unsigned int policy;
	struct task_struct *real_parent;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
};
#pragma clang attribute pop

/* --protect: process ids and cgroup v2 ids; a key's presence is all. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u32);
} protected_ids SEC(".maps");

/* Set before loading. */
const volatile __u32 protect = 0;     /* only what protected_ids names is foreground */
const volatile __u32 task_groups = 0; /* sched_task_group->idle exists here */

/* Which tasks are the job's; all 0: none is known. */
struct lull_job {
	__u64 group;  /* cgroup v2 id */
	__u32 root;   /* without a group: all that descends from this process, */
	__u32 helper; /* but not what descends from this one, which itself works for it */
};

/* Whether cpu.idle is set in the task's CPU group or in one above it. */
static __always_inline int lull_in_idle_group(struct task_struct *task)
{
	struct task_group *group;

	if (!task_groups)
		return 0;
	group = task->sched_task_group;
	for (int level = 0; level < LULL_PARENTS && group; level++) {
		if (group->idle > 0)
			return 1;
		group = group->parent;
	}
	return 0;
}

/* Whether a cgroup v2 group is the one with this id or below it. */
static __always_inline int lull_is_group_below(struct cgroup *group, __u64 id)
{
	struct cgroup_subsys_state *above;

	for (int level = 0; level < LULL_PARENTS && group; level++) {
		if (group->kn->id == id)
			return 1;
		above = group->self.parent;
		if (!above)
			break;
		group = above->cgroup;
	}
	return 0;
}

/* Whether the task is in the cgroup v2 group with this id or below it. */
static __always_inline int lull_in_group(struct task_struct *task, __u64 id)
{
	return lull_is_group_below(task->cgroups->dfl_cgrp, id);
}

/*
 * Whether the task belongs to the job, whatever classes it has: by its group, or
 * where there is none by its descent. The job's helpers and what they start do not.
 */
static __always_inline int lull_is_of_job(const struct lull_job *job, struct task_struct *task)
{
	__u32 tgid;

	if (job->group)
		return lull_in_group(task, job->group);
	if (!job->root)
		return 0;
	for (int level = 0; level < LULL_ANCESTORS; level++) {
		tgid = task->tgid;
		if (tgid <= 1 || tgid == job->helper)
			return 0;
		if (tgid == job->root)
			return level > 0;
		task = task->real_parent;
	}
	return 0;
}

/* Whether a cgroup v2 group, or one above it, is under --protect. */
static __always_inline int lull_is_group_protected(struct cgroup *group)
{
	struct cgroup_subsys_state *above;
	__u64 key;

	for (int level = 0; level < LULL_PARENTS && group; level++) {
		key = group->kn->id | 1ULL << 63; /* apart from process ids */
		if (bpf_map_lookup_elem(&protected_ids, &key))
			return 1;
		above = group->self.parent;
		if (!above)
			break;
		group = above->cgroup;
	}
	return 0;
}

/* Whether the task, or one of its parents, or its cgroup is under --protect. */
static __always_inline int lull_is_protected(struct task_struct *task)
{
	struct cgroup *group = task->cgroups->dfl_cgrp;
	__u64 key;

	for (int i = 0; i < LULL_PARENTS; i++) {
		key = (__u32)task->tgid;
		if (key <= 1)
			break;
		if (bpf_map_lookup_elem(&protected_ids, &key))
			return 1;
		task = task->real_parent;
	}
	return lull_is_group_protected(group);
}

#endif
