use super::{RANGE, ranges};

fn pieces_of(maps: &str, from: u64, most: u64) -> Vec<(u64, u64)> {
    ranges(maps, from, most).collect()
}

#[test]
fn terabytes_that_are_mapped_are_not_gone_through_before_the_first_piece() {
    let maps = "10000000000-2fffffff0000 rw-p 00000000 00:00 0\n";
    let first: Vec<_> = ranges(maps, 0, 1 << 18).take(2).collect();
    assert_eq!(first, [(1 << 40, 1 << 18), ((1 << 40) + (1 << 18), 1 << 18)]);
}

#[test]
fn private_writable_mappings_are_taken_in_pieces() {
    let maps = "00400000-00500000 r-xp 00000000 fe:00 1 /bin/x\n\
                01000000-01a00000 rw-p 00000000 00:00 0 [heap]\n\
                02000000-02001000 rw-s 00000000 00:05 7 /dev/zero\n\
                7ff000000000-7ff000001000 rw-p 00000000 00:00 0 [stack]\n";
    let pieces = pieces_of(maps, 0, RANGE);
    assert_eq!(pieces, [(0x100_0000, 4 << 20), (0x140_0000, 4 << 20), (0x180_0000, 2 << 20)]);
    assert_eq!(pieces_of(maps, 0x180_0000, RANGE), [(0x180_0000, 2 << 20)]);
    assert_eq!(pieces_of(maps, 0x180_0000, 1 << 20), [(0x180_0000, 1 << 20), (0x190_0000, 1 << 20)]);
}
