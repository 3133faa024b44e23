/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sends what the job sends without congestion control (datagrams, ping), and what
 * was named as background of other sockets (lull_tag.h), into a waiting room while the interface is
 * the foreground's. The room is a device of lull's own; its queue makes the sender wait
 * (lull-linux/src/gate/room.rs).
 *
 * Runs as the last thing before the interface's queue (tcx, Linux 6.6), so that
 * nothing of the job is in that queue in F and P. While the room is being
 * emptied, what comes goes behind what waits.
 *
 * Without lull `held_until_ns` lapses and the program is gone: all goes straight
 * to the interface.
 */
#ifndef LULL_ROOM_H
#define LULL_ROOM_H

#define LULL_STRAIGHT (-1) /* TCX_NEXT */

/* Interface index, in lull's own network namespace, to slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LULL_MAX_DEVICES);
	__type(key, __u32);
	__type(value, __u32);
} rooms SEC(".maps");

#define LULL_AF_PACKET 17

static __always_inline int is_sent_by_job(struct __sk_buff *skb)
{
	for (int level = 1; job_group && level <= LULL_PARENTS; level++)
		if (bpf_skb_ancestor_cgroup_id(skb, level) == job_group)
			return 1;
	return 0;
}

/* Of a program that lull did not start. What comes out of a room is sent by a packet socket. */
static __always_inline int is_of_others(struct __sk_buff *skb, struct bpf_sock *sk)
{
	return sk->family != LULL_AF_PACKET && (is_leaving_named(skb) || answers_as_background(sk));
}

SEC("tcx/egress")
int lull_room(struct __sk_buff *skb)
{
	__u32 index = skb->ifindex, *slot = bpf_map_lookup_elem(&rooms, &index);
	struct lull_interface *interface;
	struct bpf_sock *sk;
	__u64 now;

	if (!slot)
		return LULL_STRAIGHT;
	interface = bpf_map_lookup_elem(&interfaces, slot);
	if (!interface || !interface->room || !skb->sk)
		return LULL_STRAIGHT;
	sk = bpf_sk_fullsock(skb->sk);
	if (!sk || sk->protocol == LULL_IPPROTO_TCP)
		return LULL_STRAIGHT;
	now = bpf_ktime_get_ns();
	if (now >= interface->held_until_ns)
		return LULL_STRAIGHT;
	if (!interface->room_busy && !is_held(interface, now))
		return LULL_STRAIGHT;
	if (!is_sent_by_job(skb) && !is_of_others(skb, sk))
		return LULL_STRAIGHT;
	interface->room_busy = 1;
	__sync_fetch_and_add(&interface->parked, 1);
	/* A program may give each datagram a class of its own, which no socket option shows. */
	write_lower_effort(skb);
	return bpf_redirect((__u32)interface->room, 0);
}

#endif
