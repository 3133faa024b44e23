use super::spread::spread;

#[test]
fn results_come_in_the_order_of_the_items() {
    let squares = spread(&(0..100_u64).collect::<Vec<_>>(), |n| {
        std::thread::yield_now();
        n * n
    });
    assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<u64>>());
    assert!(spread(&[0_u8; 0], |_| 0).is_empty());
}
