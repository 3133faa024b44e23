use super::{MemoryStat, to_write};

const MIB: u64 = 1 << 20;

#[test]
fn what_is_clean_goes_before_anything_is_written() {
    let stat = MemoryStat { inactive_file: 10 * MIB, swap_cached: Some(20 * MIB), ..MemoryStat::default() };
    assert_eq!(to_write(100 * MIB, &stat, 80 * MIB), 0);
    assert_eq!(to_write(100 * MIB, &stat, 60 * MIB), 10 * MIB);
    let untold = MemoryStat { swap_cached: None, ..stat };
    assert_eq!(to_write(100 * MIB, &untold, 60 * MIB), 30 * MIB);
    assert_eq!(to_write(50 * MIB, &untold, 60 * MIB), 0, "it is small enough");
}
