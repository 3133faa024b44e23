/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scheduling of what the job receives (the paper, section 5.4): while the
 * interface is the foreground's, the job's connections announce a window of two
 * packets, so that the other side has no more than that under way.
 *
 *                packet comes in F or P
 *     open ──────────────────────────────▶ held
 *       ▲    keeps its window in mind       │  two packets under way
 *       └───────────────────────────────────┘
 *                packet comes in I or B
 *
 * The state is looked at with each packet that comes; held, enough come to see
 * the end. What was announced before cannot be taken back: the other side may
 * send that much once. While the program reads it, the kernel may think that a
 * larger buffer helps, and widen the window with it: it is made small again. The
 * guardian opens the windows after lull's death.
 */
#ifndef LULL_RECEIVE_H
#define LULL_RECEIVE_H

#define TCP_WINDOW_CLAMP 10
/* Two packets of an Ethernet. */
#define LULL_HELD_WINDOW 2920

/* The window before the hold; 0 while open. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} windows SEC(".maps");

/* From the connection's beginning: to be called with each packet that comes. */
static __always_inline void watch_packets(struct bpf_sock_ops *ctx)
{
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags |
					   BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG);
}

static __always_inline void packet_comes(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *socket = ctx->sk;
	struct tcp_sock *tp;
	__u32 *window;
	int held;

	if (!socket)
		return;
	tp = bpf_skc_to_tcp_sock(socket);
	if (!tp)
		return;
	held = is_held(interface_below((struct sock *)tp), bpf_ktime_get_ns());
	window = bpf_sk_storage_get(&windows, socket, NULL, held ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!window)
		return;
	if (held && tp->window_clamp > LULL_HELD_WINDOW) {
		*window = tp->window_clamp;
		LULL_SET(ctx, SOL_TCP, TCP_WINDOW_CLAMP, LULL_HELD_WINDOW);
	} else if (!held && *window) {
		LULL_SET(ctx, SOL_TCP, TCP_WINDOW_CLAMP, *window);
		*window = 0;
	}
}

SEC("sockops")
int lull_sock_ops(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		packet_comes(ctx);
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
