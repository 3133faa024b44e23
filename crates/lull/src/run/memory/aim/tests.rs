#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{CACHE_KEEP_BYTES, MOST_KEPT_BYTES};
use crate::run::settings::{Given, parse};

#[test]
fn a_job_keeps_more_page_cache_where_nobody_uses_the_memory() {
    let given = |text: &str| Given::default().over(parse(text).unwrap()).unwrap().memory.unwrap();
    let aim = given("");
    assert_eq!(aim.may_keep(0, 0), CACHE_KEEP_BYTES);
    assert_eq!(aim.may_keep(100 << 20, 300 << 20), 100 << 20);
    assert_eq!(aim.may_keep(0, u64::MAX), MOST_KEPT_BYTES);
    let named = given("[run]\ncache-keep = \"8MiB\"\n");
    assert_eq!(named.may_keep(100 << 20, 300 << 20), 8 << 20, "what is named is kept to");
}
