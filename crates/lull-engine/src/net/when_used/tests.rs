use super::*;

#[test]
fn what_the_loader_says_is_told_once() {
    let (sender, outcome) = sync_channel(1);
    let mut net = WhenUsed::Loading(outcome);
    net.is_used();
    assert!(net.outcome().is_none());
    sender.send(Err("no BPF".to_owned())).unwrap();
    assert!(matches!(net.outcome(), Some(Err(why)) if why == "no BPF"));
    net.is_used();
    assert!(net.outcome().is_none());
}

#[test]
fn a_loader_that_dies_is_over() {
    let (sender, outcome) = sync_channel(1);
    let mut net = WhenUsed::Loading(outcome);
    drop(sender);
    assert!(net.outcome().is_none());
    assert!(matches!(net, WhenUsed::Over));
}
