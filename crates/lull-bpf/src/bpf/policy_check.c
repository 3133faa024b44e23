/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* lull_policy.h and lull_srp.h, compiled natively, for the tests that compare them with lull-core.
 */
#include "lull_policy.h"
#include "lull_srp.h"

lull_u32 lull_check_bucket_of(lull_u64 value)
{
	return lull_bucket_of(value);
}

lull_u32 lull_check_derive_state(const struct lull_class_view *fg, const struct lull_class_view *bg,
				 lull_u64 interval_ns, lull_u32 flags, lull_u64 now)
{
	return (lull_u32)lull_derive_state(fg, bg, interval_ns, flags, now);
}

lull_u64 lull_check_earliest_lull(const struct lull_class_view *fg, lull_u64 interval_ns,
				  lull_u32 flags, lull_u64 leaving_ns, lull_u64 now)
{
	return lull_earliest_lull(fg, interval_ns, flags, leaving_ns, now);
}

lull_u64 lull_check_recently_ns(void)
{
	return LULL_RECENTLY_NS;
}

lull_u64 lull_check_in_queue(lull_u64 started, lull_u64 ended, lull_u64 last_start_ns, lull_u64 now)
{
	struct lull_class_view view = {
	    .started = started, .ended = ended, .last_start_ns = last_start_ns};

	return lull_in_queue(&view, now);
}

int lull_check_takes(const struct lull_amount *room, const struct lull_amount *waiting,
		     lull_u64 bytes)
{
	return lull_takes(room, waiting, bytes);
}
