/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks the sockets of the job, which knows nothing of it. Attached to the job's
 * cgroup, so that all it starts is covered and nothing else is:
 *
 *   connect4, connect6   TCP before its SYN, connected UDP
 *   sendmsg4, sendmsg6   unconnected UDP, with the first datagram
 *   sock_ops             a listener when it begins to listen, what it accepts
 *   setsockopt           a job that sets one of these itself: the mark wins, the program sees
 * success
 *
 * The marks: DSCP Lower Effort (RFC 8622) in IPv4 and IPv6, a priority that the
 * kernel's own queues send last, and for TCP a congestion control.
 * SO_PRIORITY is set last and is what tells a marked socket: IP_TOS changes it.
 *
 * A mark that the kernel refuses is left out: the job's call goes on.
 */
#ifndef LULL_MARK_H
#define LULL_MARK_H

#define SOL_SOCKET 1
#define SOL_IP 0
#define SOL_TCP 6
#define SOL_IPV6 41
#define SO_PRIORITY 12
#define IP_TOS 1
#define IPV6_TCLASS 67
#define TCP_CONGESTION 13
#define SOCK_STREAM 1
/* TC_PRIO_BULK: the last band of pfifo_fast and prio. */
#define LULL_PRIORITY 2
#define LULL_NAME_BYTES 16
/* Longer values reach the kernel only if the program says so. */
#define LULL_PAGE 4096

/* Set before loading; empty: the job's TCP keeps what it has. */
const volatile char congestion[LULL_NAME_BYTES] = {};

#define LULL_SET(ctx, level, option, value)                                                        \
	({                                                                                         \
		int __value = (value);                                                             \
		bpf_setsockopt(ctx, level, option, &__value, sizeof(__value));                     \
	})

/* `ctx` is of a kind that bpf_setsockopt takes. */
#define LULL_MARK(ctx, family, is_tcp)                                                             \
	({                                                                                         \
		LULL_SET(ctx, SOL_IP, IP_TOS, LULL_LOWER_EFFORT);                                  \
		if ((family) == LULL_AF_INET6)                                                     \
			LULL_SET(ctx, SOL_IPV6, IPV6_TCLASS, LULL_LOWER_EFFORT);                   \
		LULL_SET(ctx, SOL_SOCKET, SO_PRIORITY, LULL_PRIORITY);                             \
		if ((is_tcp) && congestion[0]) {                                                   \
			char __name[LULL_NAME_BYTES];                                              \
			for (int __i = 0; __i < LULL_NAME_BYTES; __i++)                            \
				__name[__i] = congestion[__i];                                     \
			bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, __name, sizeof(__name));      \
		}                                                                                  \
	})

static __always_inline int mark_address(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	if (sk && sk->priority == LULL_PRIORITY)
		return 1;
	LULL_MARK(ctx, ctx->family, ctx->type == SOCK_STREAM);
	return 1;
}

SEC("cgroup/connect4")
int lull_connect4(struct bpf_sock_addr *ctx)
{
	return mark_address(ctx);
}

SEC("cgroup/connect6")
int lull_connect6(struct bpf_sock_addr *ctx)
{
	return mark_address(ctx);
}

SEC("cgroup/sendmsg4")
int lull_sendmsg4(struct bpf_sock_addr *ctx)
{
	return mark_address(ctx);
}

SEC("cgroup/sendmsg6")
int lull_sendmsg6(struct bpf_sock_addr *ctx)
{
	return mark_address(ctx);
}

SEC("sockops")
int lull_sock_ops(struct bpf_sock_ops *ctx)
{
	if (ctx->op == BPF_SOCK_OPS_TCP_LISTEN_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		LULL_MARK(ctx, ctx->family, 1);
	return 1;
}

SEC("cgroup/setsockopt")
int lull_setsockopt(struct bpf_sockopt *ctx)
{
	int level = ctx->level, option = ctx->optname;

	if ((level == SOL_IP && option == IP_TOS) || (level == SOL_IPV6 && option == IPV6_TCLASS) ||
	    (level == SOL_SOCKET && option == SO_PRIORITY) ||
	    (level == SOL_TCP && option == TCP_CONGESTION && congestion[0]))
		ctx->optlen = -1; /* done, says the kernel to the program */
	else if (ctx->optlen > LULL_PAGE)
		ctx->optlen = 0; /* take the program's own bytes */
	return 1;
}

#endif
