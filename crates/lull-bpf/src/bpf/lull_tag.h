/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is background although no job of lull's sent it: packets that a person
 * named by port, by local address or by the mark they carry, and the answers of
 * sockets that were asked with DSCP Lower Effort.
 *
 *   tcx/egress       writes DSCP Lower Effort and the last priority into such a
 *                    packet, before the observer and the interface's queue see it
 *   sock_ops         gives named connections the congestion control of the job's
 *   cgroup_skb       notes at a socket whether the last packet that came to it
 *                    was Lower Effort: what the socket then sends is, too
 *
 *                  a Lower Effort packet comes
 *     foreground ───────────────────────────────▶ background
 *         ▲                                            │
 *         └────────────────────────────────────────────┘
 *                  another packet comes
 *
 * A connection in that state has the job's congestion control, once per round
 * trip looked at, and gets its own back.
 *
 * The ports of all but a datagram's first fragment are not there to be seen, and
 * those behind extension headers of IPv6 are not looked for.
 *
 * The programs go with lull. Connections keep the congestion control, open,
 * until they are closed.
 */
#ifndef LULL_TAG_H
#define LULL_TAG_H

#define LULL_TAGS 16
#define LULL_NEXT (-1) /* TCX_NEXT: to the programs after this one */
#define LULL_V4_BYTES 20
#define LULL_V6_BYTES 40
#define LULL_V4_CHECKSUM_AT 10
#define LULL_IPPROTO_UDP 17
#define LULL_IPPROTO_DCCP 33
#define LULL_IPPROTO_SCTP 132
#define LULL_IPPROTO_UDPLITE 136

/* Written by user space before anything is attached; mirrored in net/tags.rs. */
struct lull_tags {
	__u32 ports, addresses, marks; /* how many of each */
	__u32 answers;
	struct {
		__u16 first, last;
	} port[LULL_TAGS];
	struct {
		__u32 words[4]; /* network order; IPv4 as ::ffff:a.b.c.d */
	} address[LULL_TAGS];
	struct {
		__u32 value, mask;
	} mark[LULL_TAGS];
};
_Static_assert(sizeof(struct lull_tags) == 464, "mirrored in net/tags.rs");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lull_tags);
} tags SEC(".maps");

/* How the socket was asked last. */
struct lull_asked {
	__u32 lower_effort;
	__u32 changed;		      /* its congestion control */
	char before[LULL_NAME_BYTES]; /* … was this */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lull_asked);
} asked SEC(".maps");

/* What a packet or a connection can be named by. */
struct lull_flow {
	__u32 source[4];
	__u32 mark;
	__u16 ports[2]; /* source, destination; 0: none */
};

/* The fixed part of an IP header. */
union lull_header {
	__u8 bytes[LULL_V6_BYTES];
	__u32 words[LULL_V6_BYTES / 4];
};

/* The traffic class, from the first two bytes of the header. */
static __always_inline __u8 traffic_class(__u16 protocol, const __u8 *start)
{
	/* Version and length, then the field; in IPv6 the field begins after four bits. */
	return protocol == ETH_P_IP ? start[1] : (__u8)(start[0] << 4 | start[1] >> 4);
}

static __always_inline int is_lower_effort_class(__u8 class)
{
	return (class & LULL_DSCP_MASK) == LULL_LOWER_EFFORT;
}

static __always_inline void set_v4(__u32 *words, __u32 address)
{
	words[0] = 0;
	words[1] = 0;
	words[2] = bpf_htonl(0xffff);
	words[3] = address;
}

/* Takes the address; returns where the ports are, 0 if nowhere. */
static __always_inline __u32 read_header(struct lull_flow *flow, __u16 protocol,
					 const union lull_header *header)
{
	__u32 ports_at = LULL_V6_BYTES;
	__u8 transport = header->bytes[6];

	if (protocol == ETH_P_IP) {
		set_v4(flow->source, header->words[3]);
		if (header->bytes[6] & 0x1f || header->bytes[7])
			return 0; /* a later fragment */
		transport = header->bytes[9];
		ports_at = (header->bytes[0] & 0xf) * 4;
	} else {
		for (int i = 0; i < 4; i++)
			flow->source[i] = header->words[2 + i];
	}
	switch (transport) {
	case LULL_IPPROTO_TCP:
	case LULL_IPPROTO_UDP:
	case LULL_IPPROTO_DCCP:
	case LULL_IPPROTO_SCTP:
	case LULL_IPPROTO_UDPLITE:
		return ports_at;
	}
	return 0;
}

/* Whether a person named this. */
static __always_inline int is_named(const struct lull_tags *named, const struct lull_flow *flow)
{
	__u16 source = bpf_ntohs(flow->ports[0]), destination = bpf_ntohs(flow->ports[1]);

	for (__u32 i = 0; i < LULL_TAGS && i < named->ports; i++) {
		__u16 first = named->port[i].first, last = named->port[i].last;

		if ((source >= first && source <= last) ||
		    (destination >= first && destination <= last))
			return 1;
	}
	for (__u32 i = 0; i < LULL_TAGS && i < named->addresses; i++) {
		const __u32 *words = named->address[i].words;

		if (words[0] == flow->source[0] && words[1] == flow->source[1] &&
		    words[2] == flow->source[2] && words[3] == flow->source[3])
			return 1;
	}
	for (__u32 i = 0; i < LULL_TAGS && i < named->marks; i++)
		if ((flow->mark & named->mark[i].mask) == named->mark[i].value)
			return 1;
	return 0;
}

/* The tags, if anything is named. */
static __always_inline struct lull_tags *named_tags(void)
{
	__u32 zero = 0;
	struct lull_tags *named = bpf_map_lookup_elem(&tags, &zero);

	return named && (named->ports || named->addresses || named->marks) ? named : NULL;
}

static __always_inline int is_ip(__u16 protocol)
{
	return protocol == ETH_P_IP || protocol == ETH_P_IPV6;
}

/* Whether a packet was named, on its way out, and in a program that may read all memory. */
static __always_inline int is_packet_named(struct sk_buff *skb)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	struct lull_tags *named = named_tags();
	union lull_header header = {};
	struct lull_flow flow = {};
	const unsigned char *start;
	__u32 ports_at;

	if (!named)
		return 0;
	flow.mark = skb->mark;
	start = skb->head + skb->network_header;
	if (is_ip(protocol) &&
	    !bpf_probe_read_kernel(&header, protocol == ETH_P_IP ? LULL_V4_BYTES : LULL_V6_BYTES,
				   start)) {
		ports_at = read_header(&flow, protocol, &header);
		if (ports_at)
			bpf_probe_read_kernel(flow.ports, sizeof(flow.ports), start + ports_at);
	}
	return is_named(named, &flow);
}

/* The same of a program on the interface. */
static __always_inline int is_leaving_named(struct __sk_buff *skb)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	struct lull_tags *named = named_tags();
	union lull_header header = {};
	struct lull_flow flow = {};
	__u32 ports_at = 0;
	long failed = 1;

	if (!named)
		return 0;
	flow.mark = skb->mark;
	if (protocol == ETH_P_IP)
		failed =
		    bpf_skb_load_bytes_relative(skb, 0, &header, LULL_V4_BYTES, BPF_HDR_START_NET);
	else if (protocol == ETH_P_IPV6)
		failed =
		    bpf_skb_load_bytes_relative(skb, 0, &header, LULL_V6_BYTES, BPF_HDR_START_NET);
	if (!failed)
		ports_at = read_header(&flow, protocol, &header);
	if (ports_at)
		bpf_skb_load_bytes_relative(skb, ports_at, flow.ports, sizeof(flow.ports),
					    BPF_HDR_START_NET);
	return is_named(named, &flow);
}

/* Whether the socket was asked as background. */
static __always_inline int answers_as_background(struct bpf_sock *sk)
{
	struct lull_asked *found = sk ? bpf_sk_storage_get(&asked, sk, NULL, 0) : NULL;

	return found && found->lower_effort;
}

/* Linux 6.2; the programs on interfaces need 6.6. */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

static __always_inline void write_lower_effort(struct __sk_buff *skb)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	struct sk_buff *inner;
	__u8 start[2], class;
	__u16 before, after;
	__u32 at;

	if (!is_ip(protocol) || !bpf_cast_to_kern_ctx ||
	    bpf_skb_load_bytes_relative(skb, 0, start, sizeof(start), BPF_HDR_START_NET))
		return;
	class = traffic_class(protocol, start);
	if (is_lower_effort_class(class))
		return;
	class = (class & ~LULL_DSCP_MASK) | LULL_LOWER_EFFORT;
	inner = bpf_cast_to_kern_ctx(skb);
	/* Copied: the verifier allows no 32-bit arithmetic with pointers of the kernel. */
	at = (__u32)((unsigned long)BPF_CORE_READ(inner, head) + inner->network_header -
		     (unsigned long)BPF_CORE_READ(inner, data));
	if (protocol == ETH_P_IP) {
		__builtin_memcpy(&before, start, sizeof(before));
		start[1] = class;
		__builtin_memcpy(&after, start, sizeof(after));
		bpf_l3_csum_replace(skb, at + LULL_V4_CHECKSUM_AT, before, after, sizeof(after));
		bpf_skb_store_bytes(skb, at, start, sizeof(start), 0);
	} else {
		start[0] = (start[0] & 0xf0) | class >> 4;
		start[1] = (start[1] & 0x0f) | (__u8)(class << 4);
		bpf_skb_store_bytes(skb, at, start, sizeof(start), BPF_F_RECOMPUTE_CSUM);
	}
}

SEC("tcx/egress")
int lull_tag(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;

	if (!is_leaving_named(skb) && !answers_as_background(sk))
		return LULL_NEXT;
	skb->priority = LULL_PRIORITY;
	write_lower_effort(skb);
	return LULL_NEXT;
}

SEC("cgroup_skb/ingress")
int lull_host_asked(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	__u16 protocol = bpf_ntohs(skb->protocol);
	struct lull_asked *found;
	__u8 start[2];
	int lower;

	if (!sk || !is_ip(protocol) || bpf_skb_load_bytes(skb, 0, start, sizeof(start)))
		return 1;
	lower = is_lower_effort_class(traffic_class(protocol, start));
	found = bpf_sk_storage_get(&asked, sk, NULL, lower ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (found && found->lower_effort != lower)
		found->lower_effort = lower;
	return 1;
}

/*
 * Whether the connection goes through an interface that this lull watches: one
 * in another network namespace may be another lull's.
 */
static __always_inline int is_watched(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp && interface_below((struct sock *)tp);
}

/* Background has the congestion control of the job's; what is foreground again, its own. */
static __always_inline void follow_asker(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct lull_asked *found = sk ? bpf_sk_storage_get(&asked, sk, NULL, 0) : NULL;
	char name[LULL_NAME_BYTES] = {};

	if (!found || found->lower_effort == found->changed)
		return;
	if (!found->changed) {
		if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
			return;
		__builtin_memcpy(found->before, name, sizeof(name));
		LULL_SET_CONGESTION(ctx);
	} else {
		__builtin_memcpy(name, found->before, sizeof(name));
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	}
	found->changed = found->lower_effort;
}

static __always_inline int is_connection_named(struct bpf_sock_ops *ctx)
{
	struct lull_tags *named = named_tags();
	struct lull_flow flow = {};
	int mark = 0;

	if (!named)
		return 0;
	if (ctx->family == LULL_AF_INET) {
		set_v4(flow.source, ctx->local_ip4);
		/* Both branches joined would read at a computed place, which the verifier refuses.
		 */
		barrier();
	} else {
		flow.source[0] = ctx->local_ip6[0];
		flow.source[1] = ctx->local_ip6[1];
		flow.source[2] = ctx->local_ip6[2];
		flow.source[3] = ctx->local_ip6[3];
	}
	flow.ports[0] = bpf_htons((__u16)ctx->local_port);
	flow.ports[1] = bpf_htons((__u16)bpf_ntohl(ctx->remote_port));
	if (!bpf_getsockopt(ctx, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)))
		flow.mark = mark;
	return is_named(named, &flow);
}

SEC("sockops")
int lull_host_ops(struct bpf_sock_ops *ctx)
{
	__u32 zero = 0;
	struct lull_tags *all = bpf_map_lookup_elem(&tags, &zero);

	if (!all || !congestion[0])
		return 1;
	if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB && ctx->op != BPF_SOCK_OPS_RTT_CB)
		return 1;
	if (!is_watched(ctx))
		return 1;
	switch (ctx->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		if (is_connection_named(ctx))
			LULL_SET_CONGESTION(ctx);
		else if (all->answers)
			bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags |
							   BPF_SOCK_OPS_RTT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_RTT_CB:
		follow_asker(ctx);
		break;
	}
	return 1;
}

#endif
