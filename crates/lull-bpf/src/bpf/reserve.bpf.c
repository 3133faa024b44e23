/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tells packets by the reservation of the process that opened their socket.
 *
 *   a process enters     user space writes its class down
 *   fork                 the child has its parent's class
 *   socket(), accept()   the socket has its opener's class, or its listener's
 *   egress               the packet's priority is the class, which HTB takes for its own
 *
 * Packets that no such socket sends keep their priority: HTB has a class for the rest.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lull_policy.h"
#include "lull_task.h"

#define MAX_PROCESSES 65536

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
	return -1; /* TCX_NEXT */
}

char LICENSE[] SEC("license") = "GPL";
