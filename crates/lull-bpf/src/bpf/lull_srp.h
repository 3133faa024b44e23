/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Whether a socket takes one more packet (lull-core/src/proportional/srp.rs). Tests compile this
 * header natively and compare it with the Rust original.
 */
#ifndef LULL_SRP_H
#define LULL_SRP_H

#include "lull_record.h"

/* What waits at a socket, or may wait there. */
struct lull_amount {
	lull_u64 packets;
	lull_u64 bytes;
};

static inline int lull_takes(const struct lull_amount *room, const struct lull_amount *waiting,
			     lull_u64 bytes)
{
	if (waiting->packets >= room->packets)
		return 0;
	/* One packet fits into any buffer. */
	if (!waiting->bytes)
		return 1;
	return waiting->bytes <= room->bytes && bytes <= room->bytes - waiting->bytes;
}

#endif
