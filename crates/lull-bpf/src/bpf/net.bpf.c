/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Observes packets per network interface: who has what in its queue, since when,
 * and how long foreground packets wait there with and without background.
 *
 *   net_dev_queue        the stack hands a packet to the interface   (arrival)
 *   net_dev_start_xmit   the driver takes it                         (end)
 *   consume_skb          it was cut into segments                    (end)
 *   kfree_skb            the queue dropped it                        (end)
 *
 * Background is what a socket of the job sends or the room gives back, what carries
 * DSCP Lower Effort, and what a person named (lull_tag.h); the rest is foreground,
 * or with --protect what a socket of the named groups sends. What no socket sends and is
 * not of IP (ARP) is neutral.
 *
 * A program that would re-enter itself on a CPU is skipped by the kernel, so any
 * event can be missed. Nothing is counted up and down: each packet has a number
 * in its class, and what waits is what was numbered after the last that left
 * (lull_in_queue). Where packets overtake each other within a class (several
 * hardware queues, fq, fq_codel), more waits than is counted: those that were
 * overtaken are missing.
 *
 * Where the interface itself crosses into another namespace (veth), the packet
 * loses its socket there; the mark then tells its class.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include "lull_policy.h"
#include "lull_task.h"
#include "lull_net.h"
#include "lull_mark.h"
#include "lull_idle.h"
#include "lull_receive.h"
#include "lull_tag.h"
#include "lull_room.h"

#define MAX_QUEUED 32768
/* A connection asks for answers if it has received this part of what it has sent, or has sent
 * little so far. */
#define LULL_ASKS_SHIFT 4
#define LULL_ASKS_FIRST_BYTES 16384

struct packet {
	__u64 arrived_ns;
	__u64 number;
	__u64 bytes_before_next; /* of its class, with its own */
	__u32 slot;
	__u8 class;
	__u8 loaded; /* background waited on arrival */
	__u8 unused[2];
};

/* Those that left unseen make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_QUEUED);
	__type(key, __u64);
	__type(value, struct packet);
} queued SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

static __always_inline void wake(struct lull_device *device, __u32 reason)
{
	if (!(device->wake & reason))
		return;
	if (__sync_fetch_and_and(&device->wake, ~reason) & reason)
		bpf_ringbuf_output(&wakes, &reason, sizeof(reason), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void count_span(struct lull_histogram *histogram, __u64 span_ns)
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

/* Raises `place` to `value`; of two at once the smaller may win until the next packet. */
static __always_inline void raise(__u64 *place, __u64 value)
{
	if (*(volatile __u64 *)place < value)
		*(volatile __u64 *)place = value;
}

/* Whether the packet carries DSCP Lower Effort. */
static __always_inline int is_lower_effort(struct sk_buff *skb)
{
	__u8 start[2];
	__u16 protocol = bpf_ntohs(skb->protocol);

	if (!is_ip(protocol))
		return 0;
	if (bpf_probe_read_kernel(start, sizeof(start), skb->head + skb->network_header))
		return 0;
	return is_lower_effort_class(traffic_class(protocol, start));
}

/* Whether the packet waited in the interface's room (lull_room.h). */
static __always_inline int is_from_room(struct lull_interface *interface, struct sock *sk)
{
	return interface->giver && (__u64)sk->__sk_common.skc_cookie.counter == interface->giver;
}

static __always_inline __u32 class_of(struct lull_interface *interface, struct sk_buff *skb,
				      struct sock *sk)
{
	__u16 protocol;

	if (sk && (is_of_job(sk) || is_from_room(interface, sk)))
		return LULL_BACKGROUND;
	if (is_lower_effort(skb) || is_packet_named(skb))
		return LULL_BACKGROUND;
	if (protect)
		return sk && lull_is_group_protected(sk->sk_cgrp_data.cgroup) ? LULL_FOREGROUND
									      : LULL_NEUTRAL;
	protocol = bpf_ntohs(skb->protocol);
	if (!sk && !is_ip(protocol))
		return LULL_NEUTRAL;
	return LULL_FOREGROUND;
}

static __always_inline void arrive_foreground(struct lull_interface *interface, struct sock *sk,
					      enum lull_state state, __u64 now)
{
	struct lull_device *device = &interface->device;
	__u64 gap_start = device->view[LULL_FOREGROUND].last_end_ns;

	if (state != LULL_F && gap_start && now > gap_start) {
		count_span(&device->gaps, now - gap_start);
		if (state != LULL_P)
			count_event(device, LULL_P, LULL_ON_TIMEOUT);
	}
	if (sk && sk->sk_protocol == LULL_IPPROTO_TCP) {
		/* Beyond what the verifier knows of a socket of any kind. */
		struct tcp_sock *tp = (struct tcp_sock *)sk;

		raise(&interface->rtt_ns, (__u64)(BPF_CORE_READ(tp, srtt_us) >> 3) * 1000);
		if ((BPF_CORE_READ(tp, bytes_received) << LULL_ASKS_SHIFT) + LULL_ASKS_FIRST_BYTES <
		    BPF_CORE_READ(tp, bytes_acked))
			return;
	}
	interface->asked_ns = now;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(lull_net_queue, struct sk_buff *skb)
{
	struct lull_interface *interface;
	struct lull_class_view *view;
	struct lull_device *device;
	struct packet packet = {};
	struct sock *sk = skb->sk;
	__u64 key = (__u64)(unsigned long)skb;
	enum lull_state state;
	__u32 class, len;

	interface = interface_of(skb->dev, &packet.slot);
	if (!interface)
		return 0;
	device = &interface->device;
	if (sk && !is_full(sk))
		sk = NULL;
	class = class_of(interface, skb, sk);
	if (class == LULL_NEUTRAL) {
		__sync_fetch_and_add(&device->neutral, 1);
		return 0;
	}
	packet.arrived_ns = bpf_ktime_get_ns();
	packet.class = class;
	packet.loaded = lull_in_queue(&device->view[LULL_BACKGROUND], packet.arrived_ns) > 0;
	state = lull_interface_state(device, packet.arrived_ns);
	count_event(device, state,
		    class == LULL_FOREGROUND ? LULL_ON_FOREGROUND : LULL_ON_BACKGROUND);
	if (class == LULL_FOREGROUND) {
		arrive_foreground(interface, sk, state, packet.arrived_ns);
	} else if (!sk || !is_of_job(sk)) {
		/* What the job's freezer does not reach is no leak of it. */
		__sync_fetch_and_add(&interface->others, 1);
	} else if ((state == LULL_F || state == LULL_P) && sk->sk_protocol != LULL_IPPROTO_TCP) {
		/* TCP yields by itself; what it sends nevertheless is its trickle. */
		__sync_fetch_and_add(&device->leaks, 1);
		wake(device, LULL_WAKE_LEAK);
	}
	len = skb->len;
	view = &device->view[class & 1];
	view->last_start_ns = packet.arrived_ns;
	packet.number = __sync_fetch_and_add(&view->started, 1) + 1;
	packet.bytes_before_next = __sync_fetch_and_add(&view->bytes, len) + len;
	bpf_map_update_elem(&queued, &key, &packet, BPF_ANY);
	return 0;
}

/* The packet waits no more. */
static __always_inline void leave(const void *skb)
{
	__u64 key = (__u64)(unsigned long)skb;
	struct packet *found = bpf_map_lookup_elem(&queued, &key);
	struct lull_interface *interface;
	struct lull_class_view *view;
	struct lull_device *device;
	struct packet packet;
	__u64 now, span;

	if (!found)
		return;
	packet = *found;
	if (bpf_map_delete_elem(&queued, &key))
		return;
	interface = bpf_map_lookup_elem(&interfaces, &packet.slot);
	if (!interface)
		return;
	device = &interface->device;
	view = &device->view[packet.class & 1];
	now = bpf_ktime_get_ns();
	span = now - packet.arrived_ns;
	view->last_end_ns = now;
	raise(&view->ended, packet.number);
	raise(&interface->ended_bytes[packet.class & 1], packet.bytes_before_next);
	if (packet.class == LULL_BACKGROUND)
		count_span(&device->service, span);
	else if (packet.loaded)
		count_span(&device->loaded, span);
	else
		count_span(&device->quiet, span);
	if (lull_in_queue(view, now))
		return;
	count_event(device, packet.class == LULL_FOREGROUND ? LULL_F : LULL_B, LULL_ON_EMPTY);
	wake(device, packet.class == LULL_FOREGROUND ? LULL_WAKE_FG_END : LULL_WAKE_BG_END);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(lull_net_start, const struct sk_buff *skb)
{
	leave(skb);
	return 0;
}

SEC("tp_btf/consume_skb")
int BPF_PROG(lull_net_consume, struct sk_buff *skb)
{
	leave(skb);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(lull_net_drop, struct sk_buff *skb)
{
	leave(skb);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
