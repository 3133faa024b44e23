/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether an interrupt is above the current task: then it is not the task that
 * does what is seen.
 *
 * Most architectures count interrupts in the task (`thread_info`; with
 * PREEMPT_RT the soft ones beside it). x86 counts them for each CPU, in a
 * variable whose address not every kernel tells. There it is seen from the stack
 * that the program's arguments lie on:
 *
 *   an interrupt out of the kernel, or a soft one   a stack of its own
 *   an interrupt out of user mode                   the task's stack, which is
 *                                                   empty then; the registers saved
 *                                                   there name no system call
 *   a system call                                   the task's stack
 *
 * Programs on the beginnings and ends of interrupts would tell the same, and
 * cost as much as those on switches: there are as many.
 *
 * Edge cases: registers that name no system call are also those of faults out of
 * user mode, of a return from a signal handler, and of what a tracer has
 * changed. What is done then counts as an interrupt's: whom it wakes stays
 * foreground.
 *
 * Source: include/linux/preempt.h; arch/x86/include/asm/irq_stack.h,
 * arch/x86/entry/entry_64.S.
 */
#ifndef LULL_INTERRUPT_H
#define LULL_INTERRUPT_H

/* In the count: a soft interrupt is served; one of the others is, or an NMI. */
#define LULL_SOFT_INTERRUPT 0x00000100u
#define LULL_HARD_INTERRUPT 0x1fff0000u
/* The system calls that wake somebody go no deeper. */
#define LULL_STACK_BYTES 16384

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86 {
	unsigned long orig_ax;
};
struct thread_info___counts {
	unsigned int preempt_count;
};
struct task_struct___counts {
	struct thread_info___counts thread_info;
	int softirq_disable_cnt;
};
#pragma clang attribute pop

/* `arguments`: the context of a tp_btf program. */
static __always_inline int lull_is_interrupted(void *arguments)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_struct___counts *task = (void *)current;
	struct pt_regs___x86 *saved;
	__u64 depth;

	/* PREEMPT_RT: soft interrupts are served on the task's own stack. */
	if (bpf_core_field_exists(task->softirq_disable_cnt) &&
	    task->softirq_disable_cnt & LULL_SOFT_INTERRUPT)
		return 1;
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax)) {
		saved = (void *)bpf_task_pt_regs(current);
		if ((long)saved->orig_ax < 0)
			return 1;
		/* The registers are saved at the beginning of the stack. */
		depth = (void *)saved - arguments;
		return depth >= LULL_STACK_BYTES;
	}
	if (!bpf_core_field_exists(task->thread_info.preempt_count))
		return 1;
	return (task->thread_info.preempt_count & (LULL_HARD_INTERRUPT | LULL_SOFT_INTERRUPT)) != 0;
}

#endif
