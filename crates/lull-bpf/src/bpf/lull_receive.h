/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scheduling of what the job receives (the paper, section 5.4): the window that
 * the job's connections announce bounds what the other side has under way.
 *
 *        an acknowledgement goes while the foreground asks
 *     open ─────────────────────────────────────────────▶ held
 *       ▲                                                   │  two packets under way
 *       └───────────────────────────────────────────────────┘
 *                  one goes when it does no more
 *
 * The kernel asks before each packet that goes whether options are to be added to
 * its header: none are, but the window that it announces is decided after that.
 *
 * The foreground asks for an interval from each packet that it sends on a
 * connection through which it also receives (LULL_ASKS_SHIFT), and from each
 * datagram. What only uploads needs the other direction for acknowledgements
 * alone.
 *
 * Open, the window is what carries the most without a queue on the way of more
 * than about a millisecond, since the queue is where packets for the
 * foreground wait, too. A round, from one acknowledgement to another, lasts until
 * more has come than had been announced before it began: the other side can send
 * that only after the first, so it takes a round trip, the queue included.
 *
 *     rounds are longer than the least and the queue    an eighth less
 *     shorter than the least and most of it             twice as much, until it has shrunk
 *                                                       once; then an eighth more
 *
 * Rounds differ by more than that queue on many ways: it is their mean that
 * counts, and it may be longer by as much as they are apart. The least mean is
 * seen with two packets under way. If that was not so for LULL_PROBE_NS, or never
 * when the window shrinks for the first time, a few rounds are held for it, so
 * that a queue is not taken for the way. A sender that has little to send looks
 * like a slow way, and gets the window that its rate needs. Through an interface
 * that is not watched (loopback) the window is left alone. While a connection has no
 * route, which its next packet gets, the window stays what it was.
 *
 * What was announced before cannot be taken back: the other side may send that
 * much once. While the program reads it, the kernel may think that a larger
 * buffer helps, and widen the window with it: it is made small again. When lull
 * ends, connections of the job that other processes have by then get the whole
 * window back (lull_open_windows). The guardian opens the windows after lull's death.
 */
#ifndef LULL_RECEIVE_H
#define LULL_RECEIVE_H

#define TCP_WINDOW_CLAMP 10
/* Two packets of an Ethernet. */
#define LULL_HELD_WINDOW 2920
/* The first window, as that of a sender, and the largest. */
#define LULL_FIRST_WINDOW 14600
#define LULL_MOST_WINDOW (1U << 28)
/* The window that an open connection has at least. */
#define LULL_LEAST_WINDOW 5840
/* How long a connection is held at most to see the least mean. */
#define LULL_PROBE_MOST_NS 2000000000ULL
/* Rounds of which the mean is taken. */
#define LULL_ROUNDS 4

struct receiver {
	__u64 began_ns;	 /* the round */
	__u64 probed_ns; /* the last round of a held window ended */
	__u32 edge;	 /* the sequence number that ends the round */
	__u32 announced; /* the window that was asked for last; 0: none */
	__u32 open;	 /* the window while open */
	__u32 mean_us;	 /* of rounds, lately */
	__u32 spread_us; /* how far they are from it, in the mean */
	__u32 least_us;	 /* the least mean */
	__u8 changed;	 /* the window is another one than when the round began */
	__u8 has_shrunk;
	__u8 held_rounds; /* whole ones of this hold */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct receiver);
} receivers SEC(".maps");

/* From the connection's beginning: to be called before each packet that goes. */
static __always_inline void watch_packets(struct bpf_sock_ops *ctx)
{
	bpf_sock_ops_cb_flags_set(ctx,
				  ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/* Whether the way to this host is the foreground's. */
static __always_inline int is_asked_for(struct lull_interface *interface, __u64 now)
{
	return interface && now < interface->held_until_ns &&
	       lull_interval_runs(interface->asked_ns, interface->receive_interval_ns, now);
}

/* A round of a window that stayed as it was has taken so long. */
static __always_inline void judge(struct receiver *receiver, __u32 span_us, __u32 granted,
				  __u64 now)
{
	__u32 open = receiver->open, off_us, most_us, over_us;

	/* What a hold shows has nothing of what was before. */
	if (!receiver->mean_us ||
	    (receiver->announced == LULL_HELD_WINDOW && !receiver->held_rounds)) {
		receiver->mean_us = span_us;
		receiver->spread_us = 0;
	}
	off_us =
	    span_us > receiver->mean_us ? span_us - receiver->mean_us : receiver->mean_us - span_us;
	receiver->mean_us += span_us / LULL_ROUNDS - receiver->mean_us / LULL_ROUNDS;
	receiver->spread_us += off_us / LULL_ROUNDS - receiver->spread_us / LULL_ROUNDS;
	if (receiver->announced == LULL_HELD_WINDOW) {
		if (++receiver->held_rounds < LULL_ROUNDS)
			return;
		receiver->held_rounds = 0;
		receiver->probed_ns = now;
		receiver->least_us = receiver->mean_us;
		return;
	}
	if (!receiver->least_us || receiver->mean_us < receiver->least_us)
		receiver->least_us = receiver->mean_us;
	most_us = queue_us(receiver->least_us) + receiver->spread_us;
	over_us = receiver->mean_us - receiver->least_us;
	if (over_us > most_us) {
		if (!receiver->has_shrunk)
			receiver->probed_ns = now - LULL_PROBE_NS;
		receiver->has_shrunk = 1;
		open -= open >> 3;
	} else if (!receiver->has_shrunk) {
		open *= 2;
	} else if (over_us < most_us - most_us / 4) {
		open += open >> 3;
	}
	/* Where the buffer is what bounds the window, a wider one says nothing. */
	if (open > receiver->open && receiver->open > 2 * granted)
		return;
	if (open > LULL_MOST_WINDOW)
		open = LULL_MOST_WINDOW;
	receiver->open = open > LULL_LEAST_WINDOW ? open : LULL_LEAST_WINDOW;
}

/* Ends the round if it is over, and begins the next. */
static __always_inline void round(struct receiver *receiver, struct tcp_sock *tp, __u64 now)
{
	if (receiver->began_ns && (__s32)(tp->rcv_nxt - receiver->edge) <= 0)
		return;
	if (receiver->began_ns && !receiver->changed && now - receiver->began_ns < LULL_SECOND_NS)
		judge(receiver, (now - receiver->began_ns) / 1000, tp->rcv_wnd, now);
	receiver->began_ns = now;
	receiver->edge = tp->rcv_wup + tp->rcv_wnd;
	receiver->changed = 0;
}

/* The window that the packet is going to announce. */
static __always_inline void packet_goes(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *socket = ctx->sk;
	struct lull_interface *interface;
	struct receiver *receiver;
	__u64 now = bpf_ktime_get_ns();
	struct tcp_sock *tp;
	__u32 window;

	if (!socket)
		return;
	tp = bpf_skc_to_tcp_sock(socket);
	if (!tp)
		return;
	interface = interface_below((struct sock *)tp);
	receiver = bpf_sk_storage_get(&receivers, socket, NULL,
				      interface ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!receiver)
		return;
	if (!receiver->open) {
		receiver->open = LULL_FIRST_WINDOW;
		receiver->probed_ns = now;
	}
	round(receiver, tp, now);
	/* On a way of seconds a few rounds take too long. */
	if (now - receiver->probed_ns >= LULL_PROBE_NS + LULL_PROBE_MOST_NS)
		receiver->probed_ns = now;
	if (!((struct sock *)tp)->sk_dst_cache && receiver->announced)
		window = receiver->announced;
	else if (!interface)
		window = LULL_MOST_WINDOW;
	else if (is_asked_for(interface, now) || now - receiver->probed_ns >= LULL_PROBE_NS)
		window = LULL_HELD_WINDOW;
	else
		window = receiver->open;
	if (window != receiver->announced) {
		receiver->changed = 1;
		receiver->held_rounds = 0;
	}
	receiver->announced = window;
	if (tp->window_clamp != window)
		LULL_SET(ctx, SOL_TCP, TCP_WINDOW_CLAMP, window);
}

/* As the kernel hands it to a program that looks at every connection of a network namespace. */
struct lull_each_connection {
	void *meta;
	struct sock_common *connection; /* 0: the last was looked at */
};

/* Run once, when nothing bounds windows any more. */
SEC("iter/tcp")
int lull_open_windows(struct lull_each_connection *each)
{
	struct sock_common *connection = each->connection;
	struct receiver *receiver;
	struct tcp_sock *tp;

	if (!connection)
		return 0;
	tp = bpf_skc_to_tcp_sock(connection);
	if (!tp)
		return 0;
	receiver = bpf_sk_storage_get(&receivers, tp, NULL, 0);
	if (receiver && receiver->announced)
		LULL_SET(tp, SOL_TCP, TCP_WINDOW_CLAMP, LULL_MOST_WINDOW);
	return 0;
}

/* What the job has connected before the programs on its group were there. */
SEC("iter/tcp")
int lull_mark_connections(struct lull_each_connection *each)
{
	struct sock_common *connection = each->connection;
	struct tcp_sock *tp;
	struct sock *sk;

	if (!connection)
		return 0;
	tp = bpf_skc_to_tcp_sock(connection);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	if (is_of_job(sk))
		LULL_MARK(tp, sk->__sk_common.skc_family, 1);
	return 0;
}

SEC("sockops")
int lull_sock_ops(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		packet_goes(ctx);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		LULL_MARK(ctx, ctx->family, 1);
		watch_packets(ctx);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		watch_packets(ctx);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		LULL_MARK(ctx, ctx->family, 1);
		break;
	}
	return 1;
}

#endif
