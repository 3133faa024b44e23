/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tells packets by the reservation of the process that opened their socket.
 *
 *   a process enters     user space writes its class down
 *   fork                 the child has its parent's class
 *   socket(), accept()   the socket has its opener's class, or its listener's
 *   egress               the packet's priority is the class, which HTB takes for its own
 *   ingress              a packet that its socket cannot take is dropped before IP sees it
 *
 * Packets that no such socket sends keep their priority: HTB has a class for the rest. Packets for
 * other sockets go their way.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include "lull_policy.h"
#include "lull_srp.h"
#include "lull_task.h"

#define MAX_PROCESSES 65536
/* As many as HTB has minor numbers. */
#define MAX_QUEUES 65536

#define LULL_AF_INET 2
#define LULL_AF_INET6 10
/* A fragment, the last of which has an offset only. */
#define LULL_FRAGMENT 0x3fff
#define LULL_TCP_FLAGS_AT 13
#define LULL_TCP_SYN 0x02
#define LULL_TCP_ACK 0x10
#define LULL_PACKET_HOST 0
/* Newer than the headers of some that build this. */
#define LULL_TCX_NEXT -1
#define LULL_TCX_DROP 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
};
struct task_struct___live {
	struct signal_struct *signal;
};
struct sk_buff {
	unsigned int truesize;
};
struct sk_buff_head {
	__u32 qlen;
};
struct sock {
	struct {
		atomic_t rmem_alloc;
	} sk_backlog;
	int sk_rcvbuf;
	struct sk_buff_head sk_receive_queue;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
};
struct udp_sock {
	struct sk_buff_head reader_queue;
};
#pragma clang attribute pop

/* By process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, __u32);
} sockets SEC(".maps");

/* Input of one queue. */
struct queue {
	struct lull_amount most; /* that may wait at one of its sockets */
	__u64 packets;		 /* that were let through, and their bytes */
	__u64 bytes;
	__u64 refused;
};

/* By class. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

/* What the loader listens to; nothing is said here. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(lull_reserve_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u32 *class = from == to ? 0 : bpf_map_lookup_elem(&classes, &from);

	if (class) {
		__u32 same = *class;

		bpf_map_update_elem(&classes, &to, &same, BPF_ANY);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(lull_reserve_exit, struct task_struct *task)
{
	struct task_struct___live *of = (void *)task;
	__u32 pid = task->tgid;

	/* Its last thread. */
	if (BPF_CORE_READ(of, signal, live.counter) == 0)
		bpf_map_delete_elem(&classes, &pid);
	return 0;
}

SEC("cgroup/sock_create")
int lull_reserve_socket(struct bpf_sock *socket)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u32 *class = bpf_map_lookup_elem(&classes, &pid);
	__u32 *of_socket;

	if (class) {
		of_socket = bpf_sk_storage_get(&sockets, socket, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (of_socket)
			*of_socket = *class;
	}
	return 1;
}

SEC("tcx/egress")
int lull_reserve_packet(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	__u32 *class;

	sk = sk ? bpf_sk_fullsock(sk) : 0;
	class = sk ? bpf_sk_storage_get(&sockets, sk, 0, 0) : 0;
	if (class)
		skb->priority = *class;
	return LULL_TCX_NEXT;
}

void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
void *bpf_rdonly_cast(const void *of, __u32 type) __ksym;
#define LULL_AS(type, of) ((struct type *)bpf_rdonly_cast(of, bpf_core_type_id_kernel(struct type)))

/* Between whom a packet goes. */
struct ends {
	struct bpf_sock_tuple tuple;
	__u32 tuple_bytes;
	__u32 family;
	__u8 protocol;
	__u8 opens; /* a connection */
};

static __always_inline int load(struct __sk_buff *skb, __u32 at, void *to, __u32 bytes)
{
	return bpf_skb_load_bytes_relative(skb, at, to, bytes, BPF_HDR_START_NET) == 0;
}

/* Reads whose packet it is, if that stands at its beginning: not in a fragment, not behind options
 * of IPv6. */
static __always_inline int read_ends(struct __sk_buff *skb, struct ends *ends)
{
	__u16 ports[2];
	__u8 flags = 0;
	__u32 at;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (!load(skb, 0, &ip, sizeof(ip)) || ip.frag_off & bpf_htons(LULL_FRAGMENT))
			return 0;
		at = ip.ihl * 4;
		ends->family = LULL_AF_INET;
		ends->protocol = ip.protocol;
		ends->tuple.ipv4.saddr = ip.saddr;
		ends->tuple.ipv4.daddr = ip.daddr;
		ends->tuple_bytes = sizeof(ends->tuple.ipv4);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip;

		if (!load(skb, 0, &ip, sizeof(ip)))
			return 0;
		at = sizeof(ip);
		ends->family = LULL_AF_INET6;
		ends->protocol = ip.nexthdr;
		__builtin_memcpy(ends->tuple.ipv6.saddr, &ip.saddr, sizeof(ip.saddr));
		__builtin_memcpy(ends->tuple.ipv6.daddr, &ip.daddr, sizeof(ip.daddr));
		ends->tuple_bytes = sizeof(ends->tuple.ipv6);
	} else {
		return 0;
	}
	if (ends->protocol != IPPROTO_UDP && ends->protocol != IPPROTO_TCP)
		return 0;
	if (!load(skb, at, ports, sizeof(ports)))
		return 0;
	if (ends->family == LULL_AF_INET) {
		ends->tuple.ipv4.sport = ports[0];
		ends->tuple.ipv4.dport = ports[1];
	} else {
		ends->tuple.ipv6.sport = ports[0];
		ends->tuple.ipv6.dport = ports[1];
	}
	if (ends->protocol == IPPROTO_TCP &&
	    !load(skb, at + LULL_TCP_FLAGS_AT, &flags, sizeof(flags)))
		return 0;
	ends->opens = (flags & (LULL_TCP_SYN | LULL_TCP_ACK)) == LULL_TCP_SYN;
	return 1;
}

/*
 * Whether the packet would find room. A socket's own bounds hold as well: what they would have
 * dropped behind IP is dropped here. Connections that are there bound what comes by their windows.
 */
static __always_inline int finds_room(struct __sk_buff *skb, struct bpf_sock *of,
				      const struct ends *ends, const struct queue *queue)
{
	struct sock *sk = LULL_AS(sock, of);
	struct lull_amount room = queue->most, waiting = {};
	struct sk_buff *packet;
	__u64 own;

	if (ends->protocol == IPPROTO_TCP) {
		if (!ends->opens || of->state != BPF_TCP_LISTEN)
			return 1;
		/* One more than listen(2) said. */
		own = (__u64)sk->sk_max_ack_backlog + 1;
		room.packets = room.packets < own ? room.packets : own;
		waiting.packets = sk->sk_ack_backlog;
		return lull_takes(&room, &waiting, 0);
	}
	own = (__u32)sk->sk_rcvbuf;
	room.bytes = room.bytes < own ? room.bytes : own;
	waiting.packets = sk->sk_receive_queue.qlen + LULL_AS(udp_sock, of)->reader_queue.qlen;
	waiting.bytes = (__u32)sk->sk_backlog.rmem_alloc.counter;
	packet = bpf_cast_to_kern_ctx(skb);
	return lull_takes(&room, &waiting, packet->truesize);
}

/* Whether the packet goes on to another host, whatever socket of this one has its port. */
static __always_inline int is_passing(struct __sk_buff *skb, const struct ends *ends)
{
	struct bpf_fib_lookup route = {};
	long found;

	route.family = ends->family;
	route.ifindex = skb->ifindex;
	route.l4_protocol = ends->protocol;
	if (ends->family == LULL_AF_INET) {
		route.ipv4_src = ends->tuple.ipv4.saddr;
		route.ipv4_dst = ends->tuple.ipv4.daddr;
	} else {
		__builtin_memcpy(route.ipv6_src, ends->tuple.ipv6.saddr, sizeof(route.ipv6_src));
		__builtin_memcpy(route.ipv6_dst, ends->tuple.ipv6.daddr, sizeof(route.ipv6_dst));
	}
	found = bpf_fib_lookup(skb, &route, sizeof(route), 0);
	return found != BPF_FIB_LKUP_RET_NOT_FWDED && found != BPF_FIB_LKUP_RET_FWD_DISABLED;
}

SEC("tcx/ingress")
int lull_reserve_input(struct __sk_buff *skb)
{
	int verdict = LULL_TCX_NEXT;
	struct ends ends = {};
	struct bpf_sock *sk;
	struct queue *queue;
	__u32 *class;

	/* Others are for many, or for another interface. */
	if (skb->pkt_type != LULL_PACKET_HOST || skb->vlan_present || !read_ends(skb, &ends))
		return LULL_TCX_NEXT;
	if (ends.protocol == IPPROTO_UDP)
		sk = bpf_sk_lookup_udp(skb, &ends.tuple, ends.tuple_bytes, BPF_F_CURRENT_NETNS, 0);
	else
		sk = bpf_sk_lookup_tcp(skb, &ends.tuple, ends.tuple_bytes, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return LULL_TCX_NEXT;
	class = bpf_sk_storage_get(&sockets, sk, 0, 0);
	queue = class ? bpf_map_lookup_elem(&queues, class) : 0;
	if (queue && finds_room(skb, sk, &ends, queue)) {
		__sync_fetch_and_add(&queue->packets, skb->gso_segs ? skb->gso_segs : 1);
		__sync_fetch_and_add(&queue->bytes, skb->len);
	} else if (queue && !is_passing(skb, &ends)) {
		__sync_fetch_and_add(&queue->refused, 1);
		verdict = LULL_TCX_DROP;
	}
	bpf_sk_release(sk);
	return verdict;
}

char LICENSE[] SEC("license") = "GPL";
