use super::*;

#[test]
fn a_job_keeps_more_page_cache_where_nobody_uses_the_memory() {
    let aim = MemoryAim {
        begins: Begins::default(),
        cache_keep_bytes: CACHE_KEEP_BYTES,
        keeps_unused: true,
        dirty_bytes: 64 << 20,
        room: MemoryThresholds::default(),
        batch_bytes: None,
        cleans: true,
        longest_hold: None,
    };
    assert_eq!(aim.may_keep(0, 0), CACHE_KEEP_BYTES);
    assert_eq!(aim.may_keep(100 << 20, 300 << 20), 100 << 20);
    assert_eq!(aim.may_keep(0, u64::MAX), MOST_KEPT_BYTES);
    let named = MemoryAim { cache_keep_bytes: 8 << 20, keeps_unused: false, ..aim };
    assert_eq!(named.may_keep(100 << 20, 300 << 20), 8 << 20, "what is named is kept to");
}
