/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs about the network have in common: the records of the
 * interfaces, finding the record of a device, and whose a socket is.
 */
#ifndef LULL_NET_H
#define LULL_NET_H

#define LULL_AF_INET 2
#define LULL_AF_INET6 10
#define LULL_IPPROTO_TCP 6
#define LULL_TCP_TIME_WAIT 6
#define LULL_TCP_NEW_SYN_RECV 12
/* RFC 8622: DSCP 1, in the upper six bits of the field. */
#define LULL_LOWER_EFFORT 0x04
#define LULL_DSCP_MASK 0xfc
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd

/* The few kernel structures that are read, by name; CO-RE finds the offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	int ifindex;
	possible_net_t nd_net;
};
struct dst_entry {
	struct net_device *dev;
};
typedef struct {
	long long counter;
} atomic64_t;
struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	atomic64_t skc_cookie;
};
struct sock_cgroup_data {
	struct cgroup *cgroup;
};
struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	__u16 sk_protocol;
	unsigned int sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	struct sock_cgroup_data sk_cgrp_data;
};
struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	__be16 protocol;
	__u16 network_header;
	__u32 mark;
	unsigned char *head;
	unsigned char *data;
};
struct tcp_sock {
	__u32 window_clamp;
	__u32 rcv_nxt;
	__u32 rcv_wup;
	__u32 rcv_wnd;
	__u64 bytes_received;
	__u64 bytes_acked;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 srtt_us; /* in eighths */
	__u32 mdev_us; /* how far round trips are apart, in quarters */
};
#pragma clang attribute pop

/* Set before loading, after those of lull_task.h. */
const volatile __u64 job_group = 0; /* cgroup v2 id of the job; 0: only marks tell background */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u32);
	__type(value, struct lull_interface);
} interfaces SEC(".maps");

/* Network namespace (high half) and interface index, which is unique only there, to slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u64);
	__type(value, __u32);
} slots SEC(".maps");

static __always_inline struct lull_interface *interface_of(struct net_device *dev, __u32 *slot)
{
	__u32 *found;
	__u64 key;

	if (!dev)
		return NULL;
	key = (__u64)dev->nd_net.net->ns.inum << 32 | (__u32)dev->ifindex;
	found = bpf_map_lookup_elem(&slots, &key);
	if (!found)
		return NULL;
	*slot = *found;
	return bpf_map_lookup_elem(&interfaces, slot);
}

/* The record of the interface that the socket sends through. */
static __always_inline struct lull_interface *interface_below(struct sock *sk)
{
	struct dst_entry *dst = sk->sk_dst_cache;
	__u32 slot;

	return dst ? interface_of(dst->dev, &slot) : NULL;
}

/* Whether the interface is the foreground's now, and lull lives. */
static __always_inline int is_held(struct lull_interface *interface, __u64 now)
{
	enum lull_state state;

	if (!interface || now >= interface->held_until_ns)
		return 0;
	state = lull_interface_state(&interface->device, now);
	return state == LULL_F || state == LULL_P;
}

/* A socket that has all its fields: no request and no remainder of a connection. */
static __always_inline int is_full(struct sock *sk)
{
	__u8 state = sk->__sk_common.skc_state;

	return state != LULL_TCP_TIME_WAIT && state != LULL_TCP_NEW_SYN_RECV;
}

/* Whether a full socket was made by the job. */
static __always_inline int is_of_job(struct sock *sk)
{
	return job_group && lull_is_group_below(sk->sk_cgrp_data.cgroup, job_group);
}

#endif
