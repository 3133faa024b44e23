use super::MemorySummary;

#[test]
fn only_what_there_is_is_said() {
    let mut summary =
        MemorySummary { filled_bytes: 3 << 20, evicted_bytes: 2 << 20, ..MemorySummary::default() };
    assert!(summary.text().contains("3.0 MiB brought in, 2.0 MiB taken out again\n"), "{}", summary.text());
    assert_eq!(summary.short_text(), "resident 0 B");
    summary.dirtied_bytes = 5 << 20;
    summary.dirty_bytes = 1 << 20;
    summary.kept_bytes = 1 << 20;
    assert!(summary.text().contains("1.0 MiB kept; 5.0 MiB made dirty"), "{}", summary.text());
    assert!(summary.short_text().ends_with(", cache kept 1.0 MiB, dirty 1.0 MiB"));
}
