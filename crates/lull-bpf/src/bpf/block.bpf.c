/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Observes block requests per device: who has what in service, since when, and
 * how long foreground requests take with and without background in service.
 *
 *   block_bio_queue    in the submitter: tags bios whose class the request itself will not show
 *   block_split        a part of a bio is one of its own: it has the tag of the whole
 *   block_bio_remap    finds the paths of an NVMe disk that may have several
 *   sched_waking       who works for the background (lull_serve.h)
 *   sched_wakeup_new   … and its children
 *   ext4_sync_file     how many of the foreground wait for that file system
 *   block_rq_insert    the request waits in an elevator        (arrival)
 *   block_rq_issue     the request goes to the device          (arrival, with scheduler `none`)
 *   block_rq_requeue   the device had no room; the request will be issued again
 *   block_rq_merge     the request became part of another one  (gone without completion)
 *   block_rq_complete  the device is done with it
 *
 * The class is that of the first bio. What the job submits is background by the
 * job's group or descent, whatever I/O class it has chosen, and so is what lull
 * itself or somebody else submits who works for it, or in the name of its group. Of the others
 * ioprio class idle (the kernel derives it from SCHED_IDLE too) is background,
 * asynchronous writes are neutral (the flusher's, nobody waits for them), the
 * rest is foreground. With --protect only what is named is foreground.
 *
 * What a kernel thread writes of a file system's own (its journal, its maps,
 * blocks that it gives back) is on whose behalf? Mostly of whoever writes files,
 * and that may be the job alone. Somebody waits for it if somebody is in fsync
 * or writes synchronously; so it is foreground while one of the foreground is,
 * and neutral else.
 *
 * An NVMe disk whose controller could have others beside it (as many server disks)
 * has no requests of its own: they are made by its paths (nvme0c0n1), hidden
 * disks that no file of sysfs gives a number. A path counts for its disk from
 * the first bio on that is sent to it.
 *
 * A program that would re-enter itself on a CPU is skipped by the kernel, so
 * any event can be missed. Every request in service therefore has an entry
 * keyed by its address. When the address comes back while its entry still
 * stands, the end was missed and the counts are mended; user space does the
 * same with entries that are older than any request can be.
 *
 * With `recording` each request that ends also goes through a ring, one record
 * each. Nobody is woken: user space empties the ring every few milliseconds. A
 * request that finds no room is counted (`dropped`).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lull_policy.h"
#include "lull_task.h"
#include "lull_interrupt.h"

#define IOPRIO_CLASS_SHIFT 13
#define IOPRIO_CLASS_IDLE 3
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_WRITE_ZEROES 9
#define MINOR_BITS 20
#define GENHD_FL_HIDDEN 2
#define MOST_PATHS 4
#define MAX_IN_SERVICE 16384

/* The few kernel structures that are read, by name; CO-RE finds the offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
};
struct file;
struct inode;
struct gendisk {
	int major;
	int first_minor;
	int flags;
};
struct request_queue {
	struct gendisk *disk;
};
struct block_device {
	struct gendisk *bd_disk;
};
struct blkcg {
	struct cgroup_subsys_state css;
};
struct blkcg_gq {
	struct blkcg *blkcg;
};
struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_ioprio;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
};
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
};
#pragma clang attribute pop

struct entry {
	__u64 arrived_ns;
	__u32 slot;
	__u8 class;
	__u8 loaded;	  /* background was in service on arrival, or shortly before */
	__u8 issued;	  /* seen on its way to the device */
	__u8 head;	  /* no foreground was in service on arrival */
	__u64 done_bytes; /* by partial completions */
	__u64 bytes;	  /* on arrival */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u32);
	__type(value, struct lull_device);
} devices SEC(".maps");

/* Device number, also that of a path, to slot in `devices`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LULL_MAX_DEVICES * (1 + MOST_PATHS));
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_IN_SERVICE);
	__type(key, __u64);
	__type(value, struct entry);
} in_service SEC(".maps");

/* Bios whose class was found in the submitter's context. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_IN_SERVICE);
	__type(key, __u64);
	__type(value, __u32);
} tags SEC(".maps");

/* By slot: whether who last asked for a flush is no foreground. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u32);
	__type(value, __u32);
} quiet_flushes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

/* Requests that have ended; sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} requests SEC(".maps");

/* Set before loading. */
const volatile __u32 recording = 0;  /* each request that ends goes into `requests` */
const volatile __u32 syncs_told = 0; /* `syncing` is kept */
const volatile struct lull_job job = {};

static __always_inline int lull_is_of_this_job(struct task_struct *task)
{
	struct lull_job known = job;

	return lull_is_of_job(&known, task);
}

/* Whether the task is background by itself. */
static __always_inline int lull_is_background(struct task_struct *task)
{
	return task->policy == SCHED_IDLE || lull_is_of_this_job(task) || lull_in_idle_group(task);
}

#include "lull_serve.h"

/* How many of the foreground wait for an ext4 to write. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} syncing SEC(".maps");

static __always_inline __u32 number_of(struct gendisk *disk)
{
	return (__u32)disk->major << MINOR_BITS | (__u32)disk->first_minor;
}

static __always_inline struct lull_device *device_of(struct gendisk *disk, __u32 *slot)
{
	__u32 dev, *found;

	if (!disk)
		return NULL;
	dev = number_of(disk);
	found = bpf_map_lookup_elem(&slots, &dev);
	if (!found)
		return NULL;
	*slot = *found;
	return bpf_map_lookup_elem(&devices, slot);
}

static __always_inline void wake(struct lull_device *device, __u32 reason)
{
	if (!(device->wake & reason))
		return;
	if (__sync_fetch_and_and(&device->wake, ~reason) & reason)
		bpf_ringbuf_output(&wakes, &reason, sizeof(reason), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void count_latency(struct lull_histogram *histogram, __u64 span_ns)
{
	__u32 bucket = lull_bucket_of(span_ns);

	if (bucket >= LULL_BUCKETS)
		return;
	__sync_fetch_and_add(&histogram->buckets[bucket], 1);
	__sync_fetch_and_add(&histogram->sum_ns, span_ns);
}

static __always_inline void count_event(struct lull_device *device, __u32 state, __u32 event)
{
	__sync_fetch_and_add(&device->counters[state & 3][event & 3], 1);
}

static __always_inline void leave(struct lull_device *device, __u32 class, __u64 bytes)
{
	struct lull_class_view *view = &device->view[class & 1];

	__sync_fetch_and_add(&view->in_service_bytes, -bytes);
	if ((long long)__sync_fetch_and_add(&view->in_service, -1ULL) <= 0)
		__sync_fetch_and_add(&view->in_service, 1); /* its start was missed */
}

/* Whether a request that arrives now meets background, or follows it closely. */
static __always_inline int meets_background(const struct lull_device *device, __u64 now)
{
	const struct lull_class_view *view = &device->view[LULL_BACKGROUND];

	return (long long)view->in_service > 0 ||
	       (view->last_end_ns && now < view->last_end_ns + LULL_RECENTLY_NS);
}

static __always_inline void record(struct lull_device *device, const struct entry *entry, __u64 now,
				   __u64 bytes)
{
	struct lull_request request = {
	    .arrived_ns = entry->arrived_ns,
	    .ended_ns = now,
	    .bytes = bytes,
	    .slot = entry->slot,
	    .class = entry->class,
	};

	if (bpf_ringbuf_output(&requests, &request, sizeof(request), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&device->dropped, 1);
}

/* Whether nobody of the foreground waits for what file systems write. */
static __always_inline int nobody_syncs(void)
{
	__u32 key = 0;
	__u64 *waiting;

	if (!syncs_told)
		return 0;
	waiting = bpf_map_lookup_elem(&syncing, &key);
	return waiting && (long long)*waiting <= 0;
}

/* Whether the current task writes a journal, and the data that have to be written before. */
static __always_inline int is_journal(void)
{
	char comm[16] = {};

	return !bpf_get_current_comm(comm, sizeof(comm)) && comm[0] == 'j' && comm[1] == 'b' &&
	       comm[2] == 'd' && comm[3] == '2';
}

/*
 * Whether a file system writes this for itself, and nobody waits for it. Other
 * kernel threads pass on what somebody else writes; nobody ever waits for a
 * discard of theirs.
 */
static __always_inline int is_upkeep(struct task_struct *task, __u32 flags)
{
	if (!(task->flags & PF_KTHREAD))
		return 0;
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_WRITE:
		return is_journal() && nobody_syncs();
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return 1;
	default:
		return 0;
	}
}

/*
 * A flush has no bio of its own: nobody of the foreground waits for it if the
 * bio that asked for one last was not the foreground's.
 */
static __always_inline int is_quiet_flush(__u32 slot)
{
	__u32 *quiet = bpf_map_lookup_elem(&quiet_flushes, &slot);

	return quiet && *quiet && nobody_syncs();
}

static __always_inline void note_flush(struct bio *bio, __u32 slot, __u32 quiet)
{
	__u32 fua = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_FUA);
	__u32 preflush = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);

	if (bio->bi_opf & (fua | preflush))
		bpf_map_update_elem(&quiet_flushes, &slot, &quiet, BPF_ANY);
}

static __always_inline __u32 class_of(struct request *rq, __u32 slot)
{
	struct bio *bio = rq->bio;
	__u64 key = (__u64)(unsigned long)bio;
	__u32 class = protect ? LULL_NEUTRAL : LULL_FOREGROUND;
	__u32 flags = rq->cmd_flags;
	__u32 sync = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC);
	__u32 *tag;

	if (bio && (bio->bi_ioprio >> IOPRIO_CLASS_SHIFT) == IOPRIO_CLASS_IDLE)
		class = LULL_BACKGROUND;
	else if ((flags & REQ_OP_MASK) == REQ_OP_WRITE && !(flags & sync))
		class = LULL_NEUTRAL;
	else if ((flags & REQ_OP_MASK) == REQ_OP_FLUSH && is_quiet_flush(slot))
		class = LULL_NEUTRAL;
	tag = bpf_map_lookup_elem(&tags, &key);
	if (tag) {
		class = *tag;
		/* A neutral one has no entry, so it is asked about again when it is issued. */
		if (class != LULL_NEUTRAL)
			bpf_map_delete_elem(&tags, &key);
	}
	return class;
}

static __always_inline void arrive(struct request *rq)
{
	struct lull_class_view *view;
	struct lull_device *device;
	struct entry entry = {};
	__u64 key = (__u64)(unsigned long)rq;
	__u64 now, gap_start;
	enum lull_state state;
	struct entry *old;
	__u64 missed_bytes;
	__u32 class, missed;

	device = device_of(rq->q->disk, &entry.slot);
	if (!device)
		return;
	class = class_of(rq, entry.slot);
	old = bpf_map_lookup_elem(&in_service, &key);
	if (old) {
		missed = old->class;
		missed_bytes = old->bytes;
		if (!bpf_map_delete_elem(&in_service, &key)) {
			leave(device, missed, missed_bytes);
			__sync_fetch_and_add(&device->healed, 1);
		}
	}
	if (class == LULL_NEUTRAL) {
		__sync_fetch_and_add(&device->neutral, 1);
		return;
	}
	now = bpf_ktime_get_ns();
	entry.arrived_ns = now;
	entry.class = class;
	entry.bytes = rq->__data_len;
	entry.loaded = meets_background(device, now);
	entry.head = (long long)device->view[LULL_FOREGROUND].in_service <= 0;
	if (bpf_map_update_elem(&in_service, &key, &entry, BPF_NOEXIST)) {
		__sync_fetch_and_add(&device->dropped, 1);
		return;
	}
	state = lull_derive_state(&device->view[LULL_FOREGROUND], &device->view[LULL_BACKGROUND],
				  device->interval_ns, device->flags, now);
	count_event(device, state,
		    class == LULL_FOREGROUND ? LULL_ON_FOREGROUND : LULL_ON_BACKGROUND);
	view = &device->view[class & 1];
	if (class == LULL_FOREGROUND) {
		gap_start = view->last_end_ns;
		if (state != LULL_F && gap_start && now > gap_start) {
			count_latency(&device->gaps, now - gap_start);
			if (state != LULL_P)
				count_event(device, LULL_P, LULL_ON_TIMEOUT);
		}
	} else if (state == LULL_F || state == LULL_P) {
		__sync_fetch_and_add(&device->leaks, 1);
		wake(device, LULL_WAKE_LEAK);
	}
	__sync_fetch_and_add(&view->started, 1);
	__sync_fetch_and_add(&view->bytes, entry.bytes);
	__sync_fetch_and_add(&view->in_service_bytes, entry.bytes);
	__sync_fetch_and_add(&view->in_service, 1);
	view->last_start_ns = now;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(lull_rq_insert, struct request *rq)
{
	arrive(rq);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(lull_rq_issue, struct request *rq)
{
	__u64 key = (__u64)(unsigned long)rq;
	struct entry *entry = bpf_map_lookup_elem(&in_service, &key);
	struct lull_device *device;
	__u32 slot;

	/*
	 * An entry from the elevator's insert is this very request if it is still
	 * of this device and young; one that was inserted long ago and never seen
	 * again is told apart by `arrive` on the next insert.
	 */
	if (entry) {
		device = device_of(rq->q->disk, &slot);
		if (device && slot == entry->slot && !entry->issued) {
			entry->issued = 1;
			return 0;
		}
	}
	arrive(rq);
	entry = bpf_map_lookup_elem(&in_service, &key);
	if (entry)
		entry->issued = 1;
	return 0;
}

/* The device took nothing: the request is back in the queue and will be issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(lull_rq_requeue, struct request *rq)
{
	__u64 key = (__u64)(unsigned long)rq;
	struct entry *entry = bpf_map_lookup_elem(&in_service, &key);

	if (entry)
		entry->issued = 0;
	return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(lull_rq_merge, struct request *rq)
{
	__u64 key = (__u64)(unsigned long)rq;
	struct entry *entry = bpf_map_lookup_elem(&in_service, &key);
	struct lull_device *device;
	__u32 slot, class;
	__u64 bytes;

	if (!entry)
		return 0;
	slot = entry->slot;
	class = entry->class;
	bytes = entry->bytes;
	device = bpf_map_lookup_elem(&devices, &slot);
	if (!bpf_map_delete_elem(&in_service, &key) && device)
		leave(device, class, bytes);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(lull_rq_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	__u64 key = (__u64)(unsigned long)rq;
	struct entry *found = bpf_map_lookup_elem(&in_service, &key);
	struct lull_class_view *view;
	struct lull_device *device;
	struct lull_total *head;
	struct entry entry;
	__u64 now, span;

	if (!found)
		return 0;
	found->done_bytes += nr_bytes;
	/* A partial completion leaves the rest in service. */
	if (nr_bytes < rq->__data_len)
		return 0;
	entry = *found;
	/* Whoever takes the entry away takes the request off the count. */
	if (bpf_map_delete_elem(&in_service, &key))
		return 0;
	device = bpf_map_lookup_elem(&devices, &entry.slot);
	if (!device)
		return 0;
	now = bpf_ktime_get_ns();
	span = now - entry.arrived_ns;
	view = &device->view[entry.class & 1];
	leave(device, entry.class, entry.bytes);
	__sync_fetch_and_add(&view->ended, 1);
	view->last_end_ns = now;
	if (recording)
		record(device, &entry, now, entry.done_bytes);
	if (entry.class == LULL_FOREGROUND && entry.head) {
		head = &device->heads[entry.loaded & 1];
		__sync_fetch_and_add(&head->count, 1);
		__sync_fetch_and_add(&head->sum_ns, span);
	}
	if (entry.class == LULL_BACKGROUND)
		count_latency(&device->service, span);
	else if (entry.loaded)
		count_latency(&device->loaded, span);
	else
		count_latency(&device->quiet, span);
	if ((long long)view->in_service <= 0)
		count_event(device, entry.class == LULL_FOREGROUND ? LULL_F : LULL_B,
			    LULL_ON_EMPTY);
	if (entry.class == LULL_BACKGROUND)
		wake(device, LULL_WAKE_BG_END);
	else if ((long long)view->in_service <= 0)
		wake(device, LULL_WAKE_FG_END);
	return 0;
}

/*
 * Whether the bio is sent in the name of the job's group, as by the worker of a
 * loop device. Groups of another hierarchy have ids of their own.
 */
static __always_inline int is_for_job_group(struct bio *bio, struct task_struct *task)
{
	struct cgroup *group;

	if (!job.group || !bpf_core_field_exists(bio->bi_blkg) || !bio->bi_blkg)
		return 0;
	group = bio->bi_blkg->blkcg->css.cgroup;
	return group->root == task->cgroups->dfl_cgrp->root &&
	       lull_is_group_below(group, job.group);
}

/*
 * Whether somebody submits this for the background. A journal is everybody's, and
 * so is what the flusher writes.
 */
static __always_inline int is_on_behalf(struct bio *bio, struct task_struct *task)
{
	__u32 sync = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC);

	if (task->flags & PF_KTHREAD) {
		if ((bio->bi_opf & REQ_OP_MASK) == REQ_OP_WRITE &&
		    (!(bio->bi_opf & sync) || is_journal()))
			return 0;
	}
	return lull_serves_background(task) || is_for_job_group(bio, task);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(lull_bio_queue, struct bio *bio)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 key = (__u64)(unsigned long)bio;
	int is_tagged = 1;
	__u32 slot, tag;

	if (!device_of(bio->bi_bdev->bd_disk, &slot))
		return 0;
	if (lull_is_of_this_job(task) || (job.helper && job.helper == (__u32)task->tgid))
		tag = LULL_BACKGROUND;
	else if (is_upkeep(task, bio->bi_opf))
		tag = LULL_NEUTRAL;
	else if (is_on_behalf(bio, task))
		tag = LULL_BACKGROUND;
	else if (protect && lull_is_protected(task))
		tag = LULL_FOREGROUND;
	else if (lull_in_idle_group(task))
		tag = LULL_BACKGROUND;
	else
		is_tagged = 0;
	note_flush(bio, slot, is_tagged && tag != LULL_FOREGROUND);
	if (is_tagged)
		bpf_map_update_elem(&tags, &key, &tag, BPF_ANY);
	else
		bpf_map_delete_elem(&tags, &key);
	return 0;
}

/* `part` goes first; the whole is cut at its end and goes on, with the tag it has. */
SEC("tp_btf/block_split")
int BPF_PROG(lull_split, struct bio *part)
{
	__u64 key = (__u64)(unsigned long)part;
	__u64 whole = (__u64)(unsigned long)part->bi_private;
	__u32 *found = bpf_map_lookup_elem(&tags, &whole);
	__u32 tag;

	if (found) {
		tag = *found;
		bpf_map_update_elem(&tags, &key, &tag, BPF_ANY);
	} else {
		bpf_map_delete_elem(&tags, &key);
	}
	return 0;
}

/* The bio was sent to `whole`, and goes on to the disk that it names now. */
SEC("tp_btf/block_bio_remap")
int BPF_PROG(lull_bio_remap, struct bio *bio, __u32 whole)
{
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	__u32 path, slot, *found;

	if (!(disk->flags & GENHD_FL_HIDDEN))
		return 0;
	found = bpf_map_lookup_elem(&slots, &whole);
	if (!found)
		return 0;
	slot = *found;
	path = number_of(disk);
	bpf_map_update_elem(&slots, &path, &slot, BPF_NOEXIST);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(lull_block_waking, struct task_struct *woken)
{
	lull_note_waking(ctx, woken);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(lull_block_birth, struct task_struct *child)
{
	lull_note_birth(child);
	return 0;
}

/*
 * fsync, fdatasync, msync, and each synchronous write. An end is not counted
 * where nobody is known to wait; a beginning without its end leaves the journal
 * foreground, which it is where nothing is told.
 */
static __always_inline void count_sync(long long change)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 *waiting;
	__u32 key = 0;

	if (lull_is_background(task) || lull_serves_background(task))
		return;
	waiting = bpf_map_lookup_elem(&syncing, &key);
	if (waiting && (long long)__sync_fetch_and_add(waiting, change) + change < 0)
		__sync_fetch_and_add(waiting, -change);
}

/* Programs are attached in this order: an end without its beginning does no harm. */
SEC("tp_btf/ext4_sync_file_exit")
int BPF_PROG(lull_sync_end, struct inode *inode)
{
	count_sync(-1);
	return 0;
}

SEC("tp_btf/ext4_sync_file_enter")
int BPF_PROG(lull_sync_begin, struct file *file)
{
	count_sync(1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
