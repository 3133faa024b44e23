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
/* Histogram shape: lull-core/src/base/histogram.rs. */
#define LULL_SUB_BITS 3
#define LULL_SUB (1 << LULL_SUB_BITS)
#define LULL_BUCKETS (LULL_SUB * (40 - LULL_SUB_BITS + 1))

enum lull_class {
	LULL_FOREGROUND = 0,
	LULL_BACKGROUND = 1,
	LULL_CLASSES = 2,
	/* Nobody waits for it: asynchronous write-back, kernel threads, or unprotected. */
	LULL_NEUTRAL = 2,
	/* Of a CPU only: nothing runs there. */
	LULL_NOTHING = 3,
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
#define LULL_WAKE_LEAK 4u /* background begins while the foreground holds it off */

#define LULL_INFINITE (~0ULL)

/* No packet waits in an interface's queue for longer than this; one that seems to has left unseen.
 */
#define LULL_STALE_NS 1000000000ULL

struct lull_class_view {
	lull_u64 started;
	lull_u64 ended;
	lull_u64 last_start_ns;
	lull_u64 last_end_ns;
	lull_u64 bytes;
	lull_u64 in_service; /* reads as signed: a missed event may make it step below zero until it
				heals */
	lull_u64 in_service_bytes; /* likewise */
};

/* Background that ended within this time counts as met: lull-core/src/disk/telemetry.rs. */
#define LULL_RECENTLY_NS 1000000ULL

struct lull_histogram {
	lull_u64 buckets[LULL_BUCKETS];
	lull_u64 sum_ns;
};

struct lull_total {
	lull_u64 count;
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
	lull_u64 dropped; /* requests without room among those in service, or in the ring */
	/*
	 * Latency of the foreground requests that arrived while no other was in
	 * service: [0] without background in service or shortly before, [1] with.
	 */
	struct lull_total heads[2];
	struct lull_histogram quiet;
	struct lull_histogram loaded;
	struct lull_histogram gaps;
	struct lull_histogram service;
};

/* A request that has ended, as it goes through the ring of a recording. */
struct lull_request {
	lull_u64 arrived_ns;
	lull_u64 ended_ns;
	lull_u64 bytes;
	lull_u32 slot; /* of its device */
	lull_u32 class;
};

#define LULL_OWN 6

/* Bursts of foreground tasks, from wake-up to the next sleep, that ended on one CPU. */
struct lull_bursts {
	lull_u64 delays; /* wake-ups that led to running; sums of times are in the histograms */
	lull_u64 count;
	lull_u64 on_cpu_ns;
	lull_u64 cut_ns; /* what all took, each up to `most_ns` (lull_sched) */
};

/* One CPU; written by programs on that CPU alone. [0] quiet, [1] background ran on some CPU at the
 * wake-up. */
struct lull_cpu {
	lull_u32 class;
	lull_u32 pid;			/* the foreground task that runs, else 0 */
	lull_u64 since_ns;		/* of `class` */
	lull_u64 task_since_ns;		/* of `pid` */
	lull_u64 busy_ns[LULL_CLASSES]; /* up to the last change of class */
	struct lull_bursts bursts[2];
	lull_u64 watched_ns; /* `class`, `pid` and their times are of this watch (lull_sched) */
	lull_u64 began;	     /* bursts whose wake-up this CPU made */
	lull_u64 crowded;    /* ... while every CPU ran somebody, background among them */
	struct lull_histogram delay[2];	   /* wake-up to running */
	struct lull_histogram response[2]; /* wake-up to the next sleep */
	lull_u64 io_ended;		   /* wake-ups that this CPU made out of waits for I/O */
	lull_u64 unused[3];
};

/* All CPUs together. */
struct lull_sched {
	/* Written by user space. */
	lull_u64 watched_ns; /* what began before is not known whole */
	lull_u64 spacing_ns; /* between two wake-ups of user space */
	lull_u64 job_group;  /* cgroup v2 id of the job, or 0 where its tasks bear an idle class */
	lull_u32 own[LULL_OWN]; /* lull's own processes, up to the first 0 */
	lull_u32 online;	/* CPUs */
	lull_u32 need_above;	/* with `wake`: wake user space when the foreground uses more */
	lull_u32 wake;
	/* Written by the kernel programs. */
	lull_u32 peak;	  /* the most CPUs that the foreground used; set back by user space */
	lull_u64 running; /* CPUs that run foreground (low half) and background (high half) */
	lull_u64 last_wake_ns;
	lull_u64 wakes_given;
	/* Written by user space. */
	lull_u64 most_ns; /* a burst counts for no more in `cut_ns` */
	lull_u64 unused[4];
};

/*
 * One network interface. A request is a packet, from the stack's handing it to
 * the interface until the driver takes it. What waits is what started after the
 * last one that ended, as if packets of a class left in order: a missed end is
 * mended by the next one (lull_in_queue), and one that is overtaken counts no more.
 */
struct lull_interface {
	struct lull_device device; /* in_service stays 0 */
	/* Written by user space: background is held up to then, and never later. */
	lull_u64 held_until_ns;
	/* Written by the kernel programs. */
	lull_u64 ended_bytes[LULL_CLASSES];
	lull_u64
	    rtt_ns; /* largest smoothed round trip of foreground TCP since user space took it */
	/* Written by user space. */
	lull_u64 room;	      /* index of the device where the job's datagrams wait; 0: none */
	lull_u64 depth_bytes; /* background that may wait in the queue; 0: no bound */
	/* Set by the kernel programs with the first that waits, cleared by user space. */
	lull_u64 room_busy;
	/* Written by the kernel programs. */
	lull_u64 parked;   /* packets that were sent to wait */
	lull_u64 others;   /* packets of background that no socket of the job sent */
	lull_u64 asked_ns; /* the last foreground packet that lets something come back */
	/* Written by user space: how long what the job receives is held after it. */
	lull_u64 receive_interval_ns;
	/* … and the cookie of the socket through which what waited in the room comes; 0: none. */
	lull_u64 giver;
};

_Static_assert(sizeof(struct lull_interface) == sizeof(struct lull_device) + 96,
	       "mirrored in record.rs");
_Static_assert(sizeof(struct lull_cpu) == 128 + 4 * 8 * (LULL_BUCKETS + 1) + 8 * 4,
	       "mirrored in record.rs");
_Static_assert(sizeof(struct lull_cpu) % 64 == 0, "CPUs share no cache line");
_Static_assert(sizeof(struct lull_sched) == 128, "mirrored in record.rs");
_Static_assert(sizeof(struct lull_class_view) == 56, "mirrored in record.rs");
_Static_assert(sizeof(struct lull_histogram) == 8 * (LULL_BUCKETS + 1), "mirrored in record.rs");
_Static_assert(sizeof(struct lull_device) ==
		   16 + 2 * 56 + 8 * 16 + 32 + 32 + 4 * 8 * (LULL_BUCKETS + 1),
	       "mirrored in record.rs");
_Static_assert(sizeof(struct lull_request) == 32, "mirrored in record.rs");

#endif
