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
 * Faults out of user mode name no system call either, and count as interrupts.
 * Programs on the beginnings and ends of interrupts would tell the same, and
 * cost as much as those on switches: there are as many.
 *
 * Source: include/linux/preempt.h; arch/x86/include/asm/irq_stack.h,
 * arch/x86/entry/entry_64.S.
 */
#ifndef LULL_INTERRUPT_H
#define LULL_INTERRUPT_H

/* A soft interrupt is served (the other bits of its byte: they are off), an interrupt, an NMI. */
#define LULL_SOFT_INTERRUPT 0x00000100u
#define LULL_INTERRUPTS (0x00ff0000u | LULL_SOFT_INTERRUPT)
/* A task's stack has so many bytes on x86; with KASAN more, of which these are the less likely. */
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
	void *stack;
};
#pragma clang attribute pop

/* `arguments`: the context of a tp_btf program. */
static __always_inline int lull_is_interrupted(void *arguments)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_struct___counts *task = (void *)current;
	struct pt_regs___x86 *saved;
	__u64 place;
	__u32 count;

	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax)) {
		saved = (void *)bpf_task_pt_regs(current);
		if ((long)saved->orig_ax < 0)
			return 1;
		/* What lies between two pointers is a number, which the verifier lets compare. */
		place = arguments - (void *)current;
		barrier_var(place);
		place -= (__u64)task->stack - bpf_get_current_task();
		return place >= LULL_STACK_BYTES;
	}
	if (!bpf_core_field_exists(task->thread_info.preempt_count))
		return 1;
	count = task->thread_info.preempt_count;
	if (bpf_core_field_exists(task->softirq_disable_cnt))
		count |= task->softirq_disable_cnt & LULL_SOFT_INTERRUPT;
	return (count & LULL_INTERRUPTS) != 0;
}

#endif
