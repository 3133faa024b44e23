/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A congestion control for background TCP: nothing while the interface is held
 * by the foreground, and no queue of its own at any other time.
 *
 *                 interface in F or P
 *     open ───────────────────────────────▶ held
 *       ▲    keeps its window in mind        │  two packets in flight, at a
 *       └────────────────────────────────────┘  rate that falls
 *                 interface in I or B
 *
 * Held, a flow keeps a trickle, because only an acknowledgement runs this code:
 * without one nothing would tell the flow that the interface is free again. Two
 * packets, because receivers acknowledge every second one at once and a single
 * one late. The next packet waits for as long as the foreground has the interface
 * in any case: until what it has in the queue has left, a millisecond at most, and for the
 * interval. If that was not all, half of the time that the flow has been held counts, so that
 * it comes back from a short hold soon and from a long one late, about as late as the
 * hold was long; never slower than a hundredth of the best rate (least_held_rate). The state is
 * looked at before each packet, too, so a hold begins with the first that would go, and ends where
 * one has waited.
 *
 * Open, it is a window that grows as Reno's does, and shrinks as soon as its own
 * packets make a queue of more than about a millisecond anywhere on the way
 * (LEDBAT's idea, RFC 6817, with a shorter target; what round trips differ by in any
 * case is no queue), so that it also yields to
 * foreground that is sent by other machines, or more background bytes wait in the
 * interface's queue than the bound allows. Once it has shrunk, it is never more than
 * its best rate carries in the least round trip and that queue, and packets are paced
 * at twice that rate at most: a flow that comes back from a hold, with a round trip
 * that tells nothing of a queue, sends no burst. The least round trip is best seen
 * while it is held; if it was not for a while, it is made so for a few round trips.
 *
 * A millisecond is ten times what a question takes on a link without a queue. So, open
 * beside a foreground that sent something in the last second, a flow on a way that is no longer
 * than a millisecond is not paced, but has two or three packets in the interface's queue, or what
 * goes in LULL_BESIDE_US: the next one goes when one has left, and late acknowledgements leave no
 * gap. The window stays what it was meanwhile, and counts on ways whose narrow place is elsewhere.
 * With less in the queue round trips are shorter, and so is the interval.
 *
 * `held_until_ns` is written by user space ever anew: without lull, flows are
 * open.
 */
#ifndef LULL_IDLE_H
#define LULL_IDLE_H

#define LULL_HELD_PACKETS 2
/* The smallest bound of an open flow, in packets: what keeps a link busy between two
 * acknowledgements. */
#define LULL_LEAST_BOUND 4
/* The least rate while held: of the best that was seen, and in bytes per second; on a slow way
 * that would be much of it, and an eighth of the best is enough, but not less than the last. */
#define LULL_HELD_RATE_SHIFT 7
#define LULL_HELD_RATE 65536ULL
#define LULL_HELD_SLOW_SHIFT 3
#define LULL_HELD_SLOWEST 4096ULL
/* The wait of the next packet while held, beyond what is sure: of the time held so far, and at
 * least. */
#define LULL_HELD_WAIT_SHIFT 1
#define LULL_HELD_WAIT_NS 100000ULL
/* What the foreground has in the queue is taken to need no longer than this: the flow may be one of
 * many, and know a part of the link's rate only. */
#define LULL_LEAVING_MOST_NS 1000000ULL
/* A queue of this many microseconds is too long, plus a share of the round trip. */
#define LULL_QUEUE_US 1000
#define LULL_QUEUE_SHIFT 3
#define LULL_QUEUE_MOST_US 5000
/* Beside a foreground that sent something lately, this much of the best rate may wait in the
 * interface's queue, but so many packets at least. */
#define LULL_LATELY_NS 1000000000ULL
#define LULL_BESIDE_US 50
#define LULL_BESIDE_PACKETS 2
/* What round trips differ by counts up to this part of the least. */
#define LULL_SPREAD_SHIFT 2
/* The least round trip is looked for with a small window if it was not found for so long, during
 * so many round trips. */
#define LULL_PROBE_NS 10000000000ULL
#define LULL_PROBE_TRIPS 8
/* … and no longer than this, or two round trips. */
#define LULL_SEARCH_MOST_NS 200000000ULL
/* What a rate is told from, and before a hold; how much of the best is forgotten each time. */
#define LULL_RATE_NS 4000000ULL
#define LULL_LAST_RATE_NS 1000000ULL
#define LULL_RATE_FADES_SHIFT 8
/* Packets per second, at least, of an open flow that may send. */
#define LULL_LEAST_PACE 4000
#define LULL_SECOND_NS 1000000000ULL
#define LULL_SECOND_US 1000000ULL
#define LULL_PACING_NONE 0
#define LULL_PACING_NEEDED 1
/* Of a pace, what TCP small queues lets wait: a millisecond, in powers of two. */
#define LULL_PACING_SHIFT 10
#define LULL_CA_CWR 2
#define LULL_CA_RECOVERY 3
#define LULL_CA_LOSS 4
#define LULL_BUFFER_WINDOWS 20
/* What the kernel takes if no congestion control says otherwise. */
#define LULL_LEAST_SEGMENTS 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
};
struct rate_sample {
	long rtt_us;
	__u32 acked_sacked;
	__u32 prior_in_flight;
};
#pragma clang attribute pop

/* As the kernel's, but with only the members that are set. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	void (*init)(struct sock *sk);
};

/* Kept with the socket, at most 104 bytes. */
struct flow {
	__u64 best_rate; /* bytes per second */
	__u64 shrunk_ns;
	__u64 held_ns;	     /* since when */
	__u64 least_ns;	     /* when `least_us` was found */
	__u64 rate_since_ns; /* `arrived` counts since then; 0: since the next acknowledgement */
	__u32 least_us;	     /* the least smoothed round trip */
	__u32 window;	   /* while open, less what the interface's queue takes off; 0: not known */
	__u32 kept_window; /* 0: open */
	__u32 state;
	__u32 was_held; /* since `rate_since_ns` */
	__u32 arrived;	/* packets */
	__u32 shown_us; /* the least round trip with a small window, not smoothed; 0: none yet */
};

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return (struct flow *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline __u32 at_least(__u32 window)
{
	return window > LULL_HELD_PACKETS ? window : LULL_HELD_PACKETS;
}

/* Bytes of a class in the interface's queue. */
static __always_inline __u64 waiting_bytes(struct lull_interface *interface, enum lull_class class,
					   __u64 now)
{
	struct lull_class_view *view = &interface->device.view[class];
	__u64 bytes = view->bytes, ended = interface->ended_bytes[class];

	return lull_in_queue(view, now) > 0 && bytes > ended ? bytes - ended : 0;
}

/* More background in the interface's queue than may be there. */
static __always_inline int is_too_deep(struct lull_interface *interface, __u64 now)
{
	return interface && interface->depth_bytes &&
	       waiting_bytes(interface, LULL_BACKGROUND, now) > interface->depth_bytes;
}

/* Whether foreground packets passed the interface in the last second. */
static __always_inline int is_beside(struct lull_interface *interface, __u64 now)
{
	__u64 last;

	if (!interface)
		return 0;
	last = interface->device.view[LULL_FOREGROUND].last_start_ns;
	return last && now < last + LULL_LATELY_NS;
}

/* Counts anew what arrives. */
static __always_inline void begin_rate(struct flow *flow, __u64 now)
{
	flow->rate_since_ns = now;
	flow->arrived = 0;
	flow->was_held = 0;
}

SEC("struct_ops")
void BPF_PROG(lull_idle_init, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	flow->best_rate = 0;
	flow->shrunk_ns = 0;
	flow->held_ns = 0;
	flow->least_ns = 0;
	flow->least_us = 0;
	flow->window = 0;
	flow->kept_window = 0;
	flow->state = 0;
	flow->shown_us = 0;
	begin_rate(flow, 0);
	/* Without the fq qdisc TCP keeps the pace by itself. */
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = LULL_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(lull_idle_state, struct sock *sk, __u8 state)
{
	struct flow *flow = flow_of(sk);

	flow->state = state;
	/* Everything under way is taken for lost. */
	if (state == LULL_CA_LOSS && flow->window)
		flow->window = LULL_HELD_PACKETS;
}

/* After a loss. */
SEC("struct_ops")
__u32 BPF_PROG(lull_idle_ssthresh, struct sock *sk)
{
	struct flow *flow = flow_of(sk);
	__u32 window = flow->window ? flow->window : tcp_of(sk)->snd_cwnd;

	if (flow->kept_window) {
		flow->kept_window = at_least(flow->kept_window / 2);
		window = flow->kept_window * 2;
	}
	return at_least(window / 2);
}

SEC("struct_ops")
__u32 BPF_PROG(lull_idle_undo, struct sock *sk)
{
	return tcp_of(sk)->snd_cwnd;
}

/*
 * How many windows the send buffer holds. The job runs seldom beside a foreground
 * that computes, and its connection sends from the buffer meanwhile.
 */
SEC("struct_ops")
__u32 BPF_PROG(lull_idle_buffer, struct sock *sk)
{
	return LULL_BUFFER_WINDOWS;
}

static __always_inline __u64 trip_ns_of(struct tcp_sock *tp)
{
	return (__u64)(tp->srtt_us >> 3) * 1000;
}

/*
 * The best rate, from what has arrived in `least_ns`, or a round trip if that is longer, in
 * which the flow was not held; in less than LULL_RATE_NS a bucket of tokens on the way, or
 * acknowledgements that come at once, show several times the rate. On a way that is longer than
 * holds are apart it was held at some time: then the rate is as good as that, or better. Returns
 * whether it was long enough.
 */
static __always_inline int note_rate(struct flow *flow, struct tcp_sock *tp, __u64 least_ns,
				     __u64 now)
{
	__u64 span_ns = now - flow->rate_since_ns, rate;

	if (!flow->rate_since_ns || span_ns < least_ns || span_ns < trip_ns_of(tp))
		return 0;
	rate = (__u64)flow->arrived * tp->mss_cache * LULL_SECOND_NS / span_ns;
	if (rate > flow->best_rate)
		flow->best_rate = rate;
	else if (!flow->was_held)
		flow->best_rate -= flow->best_rate >> LULL_RATE_FADES_SHIFT;
	return 1;
}

/* A hold begins: beside a foreground that pauses for less than LULL_RATE_NS nothing else tells a
 * rate. */
static __always_inline void note_last_rate(struct flow *flow, struct tcp_sock *tp, __u64 now)
{
	note_rate(flow, tp, LULL_LAST_RATE_NS, now);
	if (trip_ns_of(tp) < LULL_RATE_NS)
		flow->rate_since_ns = 0;
	else
		flow->was_held = 1;
}

/* The queue that a flow may make, in microseconds. */
static __always_inline __u32 queue_us(__u32 least_us)
{
	__u32 target_us = (least_us >> LULL_QUEUE_SHIFT) + LULL_QUEUE_US;

	return target_us < LULL_QUEUE_MOST_US ? target_us : LULL_QUEUE_MOST_US;
}

/*
 * The longest smoothed round trip of an open flow. On a short way round trips
 * differ by what holds do to them, so that counts up to a part of the least.
 */
static __always_inline __u32 longest_us(struct flow *flow, struct tcp_sock *tp)
{
	__u32 spread_us = tp->mdev_us >> 2, most_us = flow->least_us >> LULL_SPREAD_SHIFT;

	return flow->least_us + queue_us(flow->least_us) +
	       (spread_us < most_us ? spread_us : most_us);
}

/* The packets that the best rate carries in that, and a quarter more: a better rate must show. */
static __always_inline __u32 bound_of(struct flow *flow, struct tcp_sock *tp)
{
	__u64 bytes = flow->best_rate * longest_us(flow, tp) / LULL_SECOND_US;
	__u64 packets = bytes / (tp->mss_cache ? tp->mss_cache : 1);

	packets += packets / 4;
	return packets > LULL_LEAST_BOUND ? (__u32)packets : LULL_LEAST_BOUND;
}

/* The window of an open flow after an acknowledgement. */
static __always_inline void steer(struct sock *sk, const struct rate_sample *rs,
				  struct lull_interface *interface, __u64 now)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);
	__u32 window = flow->window, threshold = tp->snd_ssthresh;
	__u32 acked = rs->acked_sacked, bound;

	if (flow->state == LULL_CA_CWR || flow->state == LULL_CA_RECOVERY) {
		flow->window = at_least(window < threshold ? window : threshold);
		return;
	}
	if ((tp->srtt_us >> 3) > longest_us(flow, tp) || is_too_deep(interface, now)) {
		/* Once in a round trip: what is in flight shows the window before. */
		if (now - flow->shrunk_ns < (__u64)(tp->srtt_us >> 3) * 1000)
			return;
		flow->shrunk_ns = now;
		flow->window = at_least(window - (window >> 3));
		tp->snd_ssthresh = flow->window;
		return;
	}
	bound = bound_of(flow, tp);
	if (flow->best_rate && window >= threshold && window >= bound) {
		flow->window = bound;
		return;
	}
	/* A window that is not used proves nothing. */
	if (rs->prior_in_flight + acked < window - (window >> 2))
		return;
	if (window < threshold) {
		flow->window = window + acked;
		return;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= window) {
		tp->snd_cwnd_cnt = 0;
		flow->window = window + 1;
	}
}

/* Bytes per second that a held flow has in any case. */
static __always_inline __u64 least_held_rate(__u64 best_rate)
{
	__u64 share = best_rate >> LULL_HELD_RATE_SHIFT, least = best_rate >> LULL_HELD_SLOW_SHIFT;

	if (!best_rate) /* held from its first packet: the way may be a slow one */
		least = LULL_HELD_RATE >> 2;
	if (least > LULL_HELD_RATE)
		least = LULL_HELD_RATE;
	if (least < LULL_HELD_SLOWEST)
		least = LULL_HELD_SLOWEST;
	return share > least ? share : least;
}

/* How long the foreground will have the interface in any case. */
static __always_inline __u64 surely_held_ns(struct flow *flow, struct lull_interface *interface,
					    __u64 now)
{
	__u64 leaving_ns = 0, lull_ns;

	if (!is_held(interface, now))
		return 0;
	if (flow->best_rate)
		leaving_ns = waiting_bytes(interface, LULL_FOREGROUND, now) * LULL_SECOND_NS /
			     flow->best_rate;
	if (leaving_ns > LULL_LEAVING_MOST_NS)
		leaving_ns = LULL_LEAVING_MOST_NS;
	lull_ns = lull_interface_lull(&interface->device, leaving_ns, now);
	return lull_ns > now ? lull_ns - now : 0;
}

/* Bytes per second of a flow that is held at `now`. */
static __always_inline __u64 held_rate(struct flow *flow, struct lull_interface *interface,
				       __u32 packet_bytes, __u64 now)
{
	__u64 wait = (now - flow->held_ns) >> LULL_HELD_WAIT_SHIFT;
	__u64 least = least_held_rate(flow->best_rate), rate;
	__u64 surely = surely_held_ns(flow, interface, now);

	if (wait < surely)
		wait = surely;
	if (wait < LULL_HELD_WAIT_NS)
		wait = LULL_HELD_WAIT_NS;
	rate = packet_bytes * LULL_SECOND_NS / wait;
	return rate > least ? rate : least;
}

/* How long the least round trip is looked for. */
static __always_inline __u64 search_ns(__u64 trip_ns)
{
	__u64 most = 2 * trip_ns > LULL_SEARCH_MOST_NS ? 2 * trip_ns : LULL_SEARCH_MOST_NS;

	return trip_ns * LULL_PROBE_TRIPS < most ? trip_ns * LULL_PROBE_TRIPS : most;
}

/*
 * Keeps the least round trip; one that was found with a small window counts anew. After
 * fewer round trips than LULL_PROBE_TRIPS the smoothed one tells of what was before, too:
 * on a long way the least single one counts.
 */
static __always_inline void note_trip(struct flow *flow, struct tcp_sock *tp,
				      const struct rate_sample *rs, __u64 now)
{
	__u32 trip_us = tp->srtt_us >> 3;
	__u64 trip_ns = (__u64)trip_us * 1000;
	__u64 small_ns = flow->kept_window ? now - flow->held_ns : 0;

	if (!trip_us)
		return;
	/* What was under way when the window became small has arrived by then. */
	if (small_ns >= trip_ns && rs->rtt_us > 0 &&
	    (!flow->shown_us || rs->rtt_us < flow->shown_us))
		flow->shown_us = rs->rtt_us;
	if (!flow->least_us || trip_us <= flow->least_us) {
		flow->least_us = trip_us;
		flow->least_ns = now;
		return;
	}
	if (now - flow->least_ns < LULL_PROBE_NS || small_ns < search_ns(trip_ns))
		return;
	if (small_ns >= trip_ns * LULL_PROBE_TRIPS)
		flow->least_us = trip_us;
	else if (flow->shown_us)
		flow->least_us = flow->shown_us;
	flow->least_ns = now;
	flow->shown_us = 0;
}

static __always_inline __u32 in_flight(struct tcp_sock *tp)
{
	__u32 out = tp->packets_out + tp->retrans_out, gone = tp->sacked_out + tp->lost_out;

	return out > gone ? out - gone : 0;
}

/* Bytes that a flow may have in the interface's queue beside a foreground. */
static __always_inline __u64 beside_bytes(struct flow *flow, struct tcp_sock *tp)
{
	__u64 bytes = flow->best_rate * LULL_BESIDE_US / LULL_SECOND_US;
	__u64 least = (__u64)LULL_BESIDE_PACKETS * tp->mss_cache;

	return bytes > least ? bytes : least;
}

/*
 * The packets that may be in flight now. Beside a foreground as many more go at once as
 * twice what may wait in the interface's queue; how many of them go in fact the kernel
 * decides (pace). Where other flows of the job fill the queue already, none.
 */
static __always_inline __u32 allowed(struct flow *flow, struct tcp_sock *tp,
				     struct lull_interface *interface, __u64 now)
{
	__u64 twice = 2 * beside_bytes(flow, tp);
	__u32 most = in_flight(tp);

	if (waiting_bytes(interface, LULL_BACKGROUND, now) < twice)
		most += twice / (tp->mss_cache ? tp->mss_cache : 1);
	most = at_least(most);
	return most < flow->window ? most : flow->window;
}

/* No faster than the job itself wants it (SO_MAX_PACING_RATE). */
static __always_inline void set_pace(struct sock *sk, __u64 rate)
{
	__u64 most = sk->sk_max_pacing_rate;

	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = LULL_PACING_NEEDED;
	sk->sk_pacing_rate = rate < most ? rate : most;
}

/*
 * The pace of an open flow: twice the window per round trip while it doubles, else a fifth
 * more, so that pacing does not bound it, but at most twice the best rate: timers are late. Never
 * so slow that packets go one by one: the receiver would be late with each acknowledgement, and a
 * long round trip would keep the pace slow.
 */
static __always_inline void pace(struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);
	__u64 least = (__u64)tp->mss_cache * LULL_LEAST_PACE, most = 2 * flow->best_rate, rate;

	if (!tp->srtt_us)
		return;
	rate = (__u64)flow->window * tp->mss_cache * 8 * LULL_SECOND_US / tp->srtt_us;
	if (flow->window < tp->snd_ssthresh) {
		rate *= 2;
	} else {
		rate += rate / 5;
		if (most && rate > most)
			rate = most;
	}
	if (most && least > most)
		least = most;
	set_pace(sk, rate > least ? rate : least);
}

/*
 * Beside a foreground nothing is paced on a short way, unless the fq qdisc does that or the job
 * has asked for it (on a long one the narrow place may be elsewhere, and a burst waits there): the
 * kernel keeps no more of the flow in the interface's queue than goes in about a millisecond at the
 * pace (TCP small queues), two or three packets at least, and sends the next one when one has left.
 * So a pace is named of which a millisecond is what may wait.
 */
static __always_inline void bound_queue(struct sock *sk)
{
	if (flow_of(sk)->least_us > LULL_QUEUE_US || sk->sk_pacing_status > LULL_PACING_NEEDED ||
	    sk->sk_max_pacing_rate != ~0UL) {
		pace(sk);
		return;
	}
	sk->sk_pacing_status = LULL_PACING_NONE;
	sk->sk_pacing_rate = beside_bytes(flow_of(sk), tcp_of(sk)) << LULL_PACING_SHIFT;
}

/* What an open flow may send at `now`. */
static __always_inline void open_up(struct sock *sk, struct lull_interface *interface, __u64 now)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);

	if (is_beside(interface, now)) {
		tp->snd_cwnd = allowed(flow, tp, interface, now);
		bound_queue(sk);
	} else {
		tp->snd_cwnd = flow->window;
		pace(sk);
	}
}

/* Holds the flow, or goes on doing so, if the interface is the foreground's; whether it is. */
static __always_inline int hold(struct sock *sk, struct lull_interface *interface, __u64 now)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct flow *flow = flow_of(sk);

	if (!is_held(interface, now) && now - flow->least_ns < LULL_PROBE_NS)
		return 0;
	if (!flow->kept_window) {
		flow->kept_window = at_least(flow->window ? flow->window : tp->snd_cwnd);
		flow->held_ns = now;
		flow->shown_us = 0;
		note_last_rate(flow, tp, now);
	}
	tp->snd_cwnd = LULL_HELD_PACKETS;
	set_pace(sk, held_rate(flow, interface, tp->mss_cache, now));
	return 1;
}

/* Ends a hold; whether there was one. */
static __always_inline int come_back(struct flow *flow)
{
	if (!flow->kept_window)
		return 0;
	flow->window = flow->kept_window;
	flow->kept_window = 0;
	return 1;
}

/*
 * The kernel asks for this before it sends anything: after an acknowledgement, a
 * write, or the wait of a paced packet. So a hold begins with the next packet, and
 * ends with the next wait.
 */
SEC("struct_ops")
__u32 BPF_PROG(lull_idle_segments, struct sock *sk)
{
	__u64 now = bpf_ktime_get_ns();
	struct lull_interface *interface = interface_below(sk);
	struct flow *flow = flow_of(sk);

	/* The first acknowledgement begins it, and a search for the least round trip: a flow that
	 * was silent would send its first packets two by two. */
	if (!flow->least_us)
		return LULL_LEAST_SEGMENTS;
	if (is_held(interface, now) || flow->kept_window) {
		if (hold(sk, interface, now))
			return LULL_LEAST_SEGMENTS;
		come_back(flow);
	} else if (!is_beside(interface, now)) {
		return LULL_LEAST_SEGMENTS;
	}
	if (flow->window)
		open_up(sk, interface, now);
	return LULL_LEAST_SEGMENTS;
}

SEC("struct_ops")
void BPF_PROG(lull_idle_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	__u64 now = bpf_ktime_get_ns();
	struct tcp_sock *tp = tcp_of(sk);
	struct lull_interface *interface = interface_below(sk);
	struct flow *flow = flow_of(sk);

	note_trip(flow, tp, rs, now);
	flow->arrived += rs->acked_sacked;
	if (hold(sk, interface, now))
		return;
	if (!flow->window)
		flow->window = tp->snd_cwnd;
	if (note_rate(flow, tp, LULL_RATE_NS, now) || !flow->rate_since_ns)
		begin_rate(flow, now);
	if (!come_back(flow))
		steer(sk, rs, interface, now);
	open_up(sk, interface, now);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops lull_idle = {
    .init = (void *)lull_idle_init,
    .set_state = (void *)lull_idle_state,
    .ssthresh = (void *)lull_idle_ssthresh,
    .undo_cwnd = (void *)lull_idle_undo,
    .sndbuf_expand = (void *)lull_idle_buffer,
    .min_tso_segs = (void *)lull_idle_segments,
    .cong_control = (void *)lull_idle_control,
    .name = "lull_idle",
};

#endif
