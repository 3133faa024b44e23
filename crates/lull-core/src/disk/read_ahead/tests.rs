//! Windows and jumps.

use super::{PIECE_BYTES, Piece, ReadAheadPlan, WINDOW_BYTES};
use proptest::prelude::*;

#[test]
fn a_file_that_nobody_reads_is_left_alone() {
    let mut ahead = ReadAheadPlan::new(4096);
    assert_eq!(ahead.next_piece(4096, 1 << 30), None);
    assert_eq!(ahead.next_piece(8192, 1 << 30), Some(Piece { offset: 8192, length: PIECE_BYTES }));
}

#[test]
fn a_reader_that_jumps_is_followed() {
    let mut ahead = ReadAheadPlan::new(0);
    assert_eq!(ahead.next_piece(1, 1 << 40).map(|piece| piece.offset), Some(1));
    assert_eq!(ahead.next_piece(1 << 30, 1 << 40).map(|piece| piece.offset), Some(1 << 30));
    assert_eq!(ahead.next_piece(4096, 1 << 40).map(|piece| piece.offset), Some(4096));
}

proptest! {
    #[test]
    fn pieces_cover_the_window_once_in_order(size in 1_u64..20_000_000, steps in prop::collection::vec(1_u64..300_000, 1..200)) {
        let mut ahead = ReadAheadPlan::new(0);
        let (mut position, mut until) = (0_u64, None);
        for step in steps {
            position = (position + step).min(size);
            while let Some(piece) = ahead.next_piece(position, size) {
                prop_assert!(piece.length > 0 && piece.length <= PIECE_BYTES);
                prop_assert!(piece.offset + piece.length <= size.min(position + WINDOW_BYTES));
                prop_assert!(piece.offset >= position || until == Some(piece.offset));
                until = Some(piece.offset + piece.length);
            }
            let end = size.min(position + WINDOW_BYTES);
            prop_assert!(until.is_none_or(|until| until.max(position) + PIECE_BYTES > end));
        }
    }
}
