use super::{Counts, counts_in, sure};

const SHOWN: &str = "\
class htb 1078:1 root rate 100Mbit ceil 100Mbit burst 16362b cburst 16362b 
 Sent 38503806 bytes 25439 pkt (dropped 0, overlimits 16 requeues 0) 
 backlog 0b 0p requeues 0
 lended: 116 borrowed: 0 giants: 0

class htb 1078:12 parent 1078:11 leaf 8eca: prio 0 rate 19800Kbit ceil 100Mbit burst 16Kb cburst 16362b 
 Sent 8368526 bytes 5531 pkt (dropped 7, overlimits 246 requeues 0) 
 backlog 1478Kb 3p requeues 0
 lended: 5531 borrowed: 0 giants: 0
";

#[test]
fn counts_are_those_of_the_class_that_was_asked_for() {
    let counts = Counts { bytes: 8_368_526, packets: 5_531, drops: 7, backlog: 1_478 << 10 };
    assert_eq!(counts_in(SHOWN, "1078:12"), Some(counts));
    assert_eq!(counts_in(SHOWN, "1078:1").map(|counts| counts.backlog), Some(0));
    assert_eq!(counts_in(SHOWN, "1078:2"), None);
    assert_eq!(counts_in("", "1078:1"), None);
}

#[test]
fn something_stays_for_the_rest_whatever_is_reserved() {
    assert_eq!(sure(12_500_000), 12_375_000);
    assert_eq!(sure(0), 0);
}
