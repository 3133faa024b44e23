/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * What the page-cache observers and user space share. Rust mirror: pages.rs.
 */
#ifndef LULL_PAGES_H
#define LULL_PAGES_H

/* A chunk is 4 MiB of a file; lull-core/src/memory/pages.rs has the same shape. */
#define LULL_CHUNK_WORDS 16
#define LULL_CHUNK_PAGES (64 * LULL_CHUNK_WORDS)

struct lull_chunk {
	unsigned long long inode;
	unsigned long long index; /* in chunks */
	unsigned int dev;	  /* as the kernel writes it */
	unsigned int generation;  /* of the inode number */
};

struct lull_chunk_pages {
	unsigned long long filled[LULL_CHUNK_WORDS];
	unsigned long long dirtied[LULL_CHUNK_WORDS];
};

struct lull_pages {
	unsigned long long job_group; /* cgroup v2 id of the job */
	unsigned int own;	      /* the process that reads ahead for the job */
	unsigned int side;	      /* which map is written to */
	unsigned long long wake_pages;
	unsigned long long unseen; /* pages since the last wake-up */
	unsigned long long filled; /* pages ever */
	unsigned long long dirtied;
	unsigned long long missed; /* pages that found the map full */
};

_Static_assert(sizeof(struct lull_chunk) == 24, "mirrored in pages.rs");
_Static_assert(sizeof(struct lull_chunk_pages) == 256, "mirrored in pages.rs");
_Static_assert(sizeof(struct lull_pages) == 56, "mirrored in pages.rs");

#endif
