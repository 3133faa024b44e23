/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks the sockets of the job, which knows nothing of it. Attached to the job's
 * cgroup, so that all it starts is covered and nothing else is:
 *
 *   connect4, connect6   TCP before its SYN, connected UDP
 *   sendmsg4, sendmsg6   unconnected UDP, with the first datagram
 *   sock_ops             a listener when it begins to listen, what it accepts (lull_receive.h)
 *   setsockopt           a job that sets one of these itself: the mark wins, the program sees
 * success
 *
 * The marks: DSCP Lower Effort (RFC 8622) in IPv4 and IPv6, a priority that the
 * kernel's own queues send last, and for TCP a congestion control.
 * SO_PRIORITY is set last and is what tells a marked socket: IP_TOS changes it.
 *
 * A mark that the kernel refuses is left out: the job's call goes on.
 *
 * The send buffer of datagram sockets is kept small, so that few of their
 * packets are in the interface's queue at a time.
 */
#ifndef LULL_MARK_H
#define LULL_MARK_H

#define SOL_SOCKET 1
#define SOL_IP 0
#define SOL_TCP 6
#define SOL_IPV6 41
#define SO_SNDBUF 7
#define SO_PRIORITY 12
#define SO_SNDBUFFORCE 32
#define SO_MARK 36
#define IP_TOS 1
#define IPV6_TCLASS 67
#define TCP_CONGESTION 13
#define SOCK_STREAM 1
/* TC_PRIO_BULK: the last band of pfifo_fast and prio. */
#define LULL_PRIORITY 2
#define LULL_NAME_BYTES 16
/*
 * The send buffer of datagram sockets, as a program would set it (the kernel
 * doubles it): what one socket may have in a queue. A largest datagram in
 * fragments just fits; with less the kernel would refuse it.
 */
#define LULL_SEND_BUFFER 53248
/* Longer values reach the kernel only if the program says so. */
#define LULL_PAGE 4096

/* Set before loading; empty: the job's TCP keeps what it has. */
const volatile char congestion[LULL_NAME_BYTES] = {};

#define LULL_SET(ctx, level, option, value)                                                        \
	({                                                                                         \
		int __value = (value);                                                             \
		bpf_setsockopt(ctx, level, option, &__value, sizeof(__value));                     \
	})

#define LULL_SET_CONGESTION(ctx)                                                                   \
	({                                                                                         \
		char __name[LULL_NAME_BYTES];                                                      \
		for (int __i = 0; __i < LULL_NAME_BYTES; __i++)                                    \
			__name[__i] = congestion[__i];                                             \
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, __name, sizeof(__name));              \
	})

/* `ctx` is of a kind that bpf_setsockopt takes. */
#define LULL_MARK(ctx, family, is_tcp)                                                             \
	({                                                                                         \
		LULL_SET(ctx, SOL_IP, IP_TOS, LULL_LOWER_EFFORT);                                  \
		if ((family) == LULL_AF_INET6)                                                     \
			LULL_SET(ctx, SOL_IPV6, IPV6_TCLASS, LULL_LOWER_EFFORT);                   \
		LULL_SET(ctx, SOL_SOCKET, SO_PRIORITY, LULL_PRIORITY);                             \
		if ((is_tcp) && congestion[0])                                                     \
			LULL_SET_CONGESTION(ctx);                                                  \
	})

static __always_inline int mark_address(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	int buffer = 0;

	if (sk && sk->priority == LULL_PRIORITY)
		return 1;
	LULL_MARK(ctx, ctx->family, ctx->type == SOCK_STREAM);
	if (ctx->type != SOCK_STREAM &&
	    !bpf_getsockopt(ctx, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) &&
	    buffer > 2 * LULL_SEND_BUFFER)
		LULL_SET(ctx, SOL_SOCKET, SO_SNDBUF, LULL_SEND_BUFFER);
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

static __always_inline int is_internet(__u32 family)
{
	return family == LULL_AF_INET || family == LULL_AF_INET6;
}

/* A larger buffer than datagrams may have becomes that; the program sees success. */
static __always_inline void bound_buffer(struct bpf_sockopt *ctx)
{
	int *value = ctx->optval;

	if ((void *)(value + 1) <= ctx->optval_end && *value > LULL_SEND_BUFFER)
		*value = LULL_SEND_BUFFER;
}

SEC("cgroup/setsockopt")
int lull_setsockopt(struct bpf_sockopt *ctx)
{
	int level = ctx->level, option = ctx->optname;
	struct bpf_sock *sk = ctx->sk;

	if ((level == SOL_IP && option == IP_TOS) || (level == SOL_IPV6 && option == IPV6_TCLASS) ||
	    (level == SOL_SOCKET && option == SO_PRIORITY) ||
	    (level == SOL_TCP && option == TCP_CONGESTION && congestion[0]))
		ctx->optlen = -1; /* done, says the kernel to the program */
	else if (level == SOL_SOCKET && (option == SO_SNDBUF || option == SO_SNDBUFFORCE) && sk &&
		 sk->type != SOCK_STREAM && is_internet(sk->family))
		bound_buffer(ctx);
	else if (ctx->optlen > LULL_PAGE)
		ctx->optlen = 0; /* take the program's own bytes */
	return 1;
}

#endif
