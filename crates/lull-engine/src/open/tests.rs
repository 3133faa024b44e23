use super::Open;

#[test]
fn the_gate_is_closed_until_it_is_opened_for_what_is_there_now() {
    let open = Open::default();
    assert!(!open.is_open());
    open.open(open.count());
    assert!(open.is_open());
    open.open(open.count() + 1);
    assert!(!open.is_open(), "the foreground has asked for something since");
    open.open(open.count());
    open.watch(Vec::new());
    assert!(!open.is_open(), "the disks are other ones");
}
