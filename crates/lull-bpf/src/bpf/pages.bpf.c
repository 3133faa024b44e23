/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Observes the page cache: which pages of which files the job brought in, and
 * which it made dirty.
 *
 *   mm_filemap_add_to_page_cache  a folio that was not there is
 *   writeback_dirty_folio         a clean folio becomes dirty
 *
 * Both run in the task that reads or writes, read-ahead included. A page that
 * was there before is never added, so what is recorded here is what may be
 * taken away again.
 *
 * Pages are kept in bitmaps, one per chunk of a file, in one of two maps. User
 * space turns to the other one, waits until every program that still wrote to
 * the first is over, and empties that.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "lull_pages.h"
#include "lull_task.h"

#define MINOR_BITS 20
#define MAX_CHUNKS 16384
#define ORDER_MASK 0xff
#define WORD_BITS 64

/* The few kernel structures that are read, by name; CO-RE finds the offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
enum pageflags {
	PG_head = 6,
};
struct super_block {
	__u32 s_dev;
};
struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};
struct address_space {
	struct inode *host;
};
struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
};
#pragma clang attribute pop

struct pages_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CHUNKS);
	__type(key, struct lull_chunk);
	__type(value, struct lull_chunk_pages);
} pages_0 SEC(".maps"), pages_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lull_pages);
} pages_shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wakes SEC(".maps");

static __always_inline int is_of_job(struct lull_pages *all, struct task_struct *task)
{
	if (all->own && (__u32)task->tgid == all->own)
		return 1;
	return all->job_group && lull_in_group(task, all->job_group);
}

/* Pages of a folio. Its first word holds the flags, whatever type that is. */
static __always_inline __u64 pages_of(struct folio *folio)
{
	unsigned long flags = 0;
	__u8 order = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(struct folio, _flags_1))
		bpf_probe_read_kernel(&order, sizeof(order),
				      (void *)folio +
					  bpf_core_field_offset(struct folio, _flags_1));
	return order < 16 ? 1ULL << order : 1;
}

static __always_inline void mark(__u64 *words, __u64 first, __u64 count)
{
	__u32 word = first / WORD_BITS % LULL_CHUNK_WORDS;

	if (count < WORD_BITS) {
		__sync_fetch_and_or(&words[word], ((1ULL << count) - 1) << first % WORD_BITS);
		return;
	}
	for (__u32 i = 0; i < LULL_CHUNK_WORDS; i++) {
		if (i >= word && (__u64)(i - word) * WORD_BITS < count)
			words[i] = ~0ULL;
	}
}

static __always_inline void note(void *map, struct lull_pages *all, struct lull_chunk *chunk,
				 __u64 first, __u64 count, int dirtied)
{
	struct lull_chunk_pages *pages = bpf_map_lookup_elem(map, chunk);

	if (!pages) {
		struct lull_chunk_pages none = {};

		bpf_map_update_elem(map, chunk, &none, BPF_NOEXIST);
		pages = bpf_map_lookup_elem(map, chunk);
	}
	if (!pages) {
		__sync_fetch_and_add(&all->missed, count);
		return;
	}
	if (dirtied)
		mark(pages->dirtied, first, count);
	else
		mark(pages->filled, first, count);
}

static __always_inline void observe(struct folio *folio, int dirtied)
{
	struct lull_pages *all;
	struct lull_chunk chunk = {};
	struct inode *inode;
	__u64 first, count;
	__u32 only = 0;

	all = bpf_map_lookup_elem(&pages_shared, &only);
	if (!all || !is_of_job(all, bpf_get_current_task_btf()) || !folio->mapping)
		return;
	inode = folio->mapping->host;
	if (!inode)
		return;
	chunk.dev = inode->i_sb->s_dev;
	/* Memory, network and the kernel's own file systems have no device. */
	if (!(chunk.dev >> MINOR_BITS))
		return;
	chunk.inode = inode->i_ino;
	chunk.generation = inode->i_generation;
	first = folio->index;
	chunk.index = first / LULL_CHUNK_PAGES;
	count = pages_of(folio);
	if (all->side & 1)
		note(&pages_1, all, &chunk, first % LULL_CHUNK_PAGES, count, dirtied);
	else
		note(&pages_0, all, &chunk, first % LULL_CHUNK_PAGES, count, dirtied);
	__sync_fetch_and_add(dirtied ? &all->dirtied : &all->filled, count);
	/* Two that come at once wake twice: no harm. */
	all->unseen += count;
	if (all->unseen >= all->wake_pages) {
		all->unseen = 0;
		bpf_ringbuf_output(&wakes, &only, sizeof(only), BPF_RB_FORCE_WAKEUP);
	}
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(lull_page_filled, struct folio *folio)
{
	observe(folio, 0);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(lull_page_dirtied, struct folio *folio, struct address_space *mapping)
{
	observe(folio, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
