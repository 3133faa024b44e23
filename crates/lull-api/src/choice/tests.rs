//! Words with a meaning of their own.

use super::*;

#[test]
fn holds_can_be_bounded_or_off() {
    assert_eq!("off".parse(), Ok(LongestHold::Off));
    assert_eq!("0".parse(), Ok(LongestHold::Off));
    assert_eq!("50ms".parse(), Ok(LongestHold::AtMost(Nanos::from_millis(50))));
    assert!("soon".parse::<LongestHold>().unwrap_err().contains("soon"));
}
