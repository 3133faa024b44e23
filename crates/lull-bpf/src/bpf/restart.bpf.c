/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets a trapped call of the job begin again after a signal.
 *
 * Until the request gate has received a trapped call, a signal ends it. The
 * kernel then makes it again if the handler was set with SA_RESTART; else the
 * call returns EINTR, as no read or write of a file does without lull.
 *
 *   wait_for_completion_interruptible  a trapped call's wait was ended: remember the thread
 *   signal_setup_done                  the handler's frame is on the stack: the frame says
 *                                      that the call is to be made again after the handler,
 *                                      as the kernel itself writes it under SA_RESTART
 *
 * The handler runs first, as it would have. A thread whose wait ended without a
 * handler (the kernel itself begins again) is forgotten with its next wait.
 *
 * x86-64 only, since the frame is the machine's. Source: handle_signal() in
 * arch/x86/kernel/signal.c, struct sigcontext in asm/sigcontext.h.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lull_task.h"

#define EINTR 4
#define USER_CODE_64 0x33 /* code segment of 64-bit programs */
#define CALL_BYTES 2	  /* length of the instruction `syscall` */
#define MAX_WAITS 4096

/* Where a ucontext has what the handler returns to. */
#define RESULT_AT 144
#define NEXT_AT 168

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long dx;
	unsigned long orig_ax;
	unsigned long cs;
};
#pragma clang attribute pop

const volatile struct lull_job job = {};

/* Threads whose wait was ended. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_WAITS);
	__type(key, __u32);
	__type(value, __u8);
} ended SEC(".maps");

SEC("fexit/wait_for_completion_interruptible")
int BPF_PROG(lull_wait_over, void *completion, int result)
{
	struct lull_job known = job;
	__u32 tid = bpf_get_current_pid_tgid();
	__u8 yes = 1;

	if (!result)
		bpf_map_delete_elem(&ended, &tid);
	else if (lull_is_of_job(&known, bpf_get_current_task_btf()))
		bpf_map_update_elem(&ended, &tid, &yes, BPF_ANY);
	return 0;
}

SEC("fentry/signal_setup_done")
int BPF_PROG(lull_handler_begins, int failed)
{
	struct lull_job known = job;
	__u32 tid = bpf_get_current_pid_tgid();
	unsigned long context, result, next;
	struct pt_regs *regs;

	if (failed || bpf_map_delete_elem(&ended, &tid))
		return 0;
	/* One that was killed in its wait left its number to somebody else. */
	if (!lull_is_of_job(&known, bpf_get_current_task_btf()))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (regs->cs != USER_CODE_64)
		return 0;
	/* The handler's third argument. */
	context = regs->dx;
	if (bpf_probe_read_user(&result, sizeof(result), (void *)(context + RESULT_AT)) ||
	    bpf_probe_read_user(&next, sizeof(next), (void *)(context + NEXT_AT)) ||
	    result != -EINTR)
		return 0;
	result = regs->orig_ax;
	next -= CALL_BYTES;
	/* The number without the address would be no result; the address without the number, no
	 * call. */
	if (!bpf_probe_write_user((void *)(context + RESULT_AT), &result, sizeof(result)))
		bpf_probe_write_user((void *)(context + NEXT_AT), &next, sizeof(next));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
