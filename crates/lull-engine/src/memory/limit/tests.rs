#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc::TryRecvError;

use lull_core::{MemoryThresholds, Nanos};

use super::{LimitLine, LimitOrder, LimitOrders, Wakers};

/// Far longer than any test lasts.
const FOREVER: Nanos = Nanos::from_secs(60);

#[test]
fn new_thresholds_and_the_end_wake_the_thread() {
    let (line, orders) = LimitLine::new().unwrap();
    let LimitOrders { orders, nudge } = orders;
    let mut wakers = Wakers { nudge, trigger: None };
    let order = LimitOrder::Set(MemoryThresholds { low_bytes: 1, high_bytes: 2 });
    line.send(order).unwrap();
    wakers.sleep(FOREVER);
    assert_eq!(orders.try_recv(), Ok(order));
    assert_eq!(orders.try_recv(), Err(TryRecvError::Empty));
    wakers.sleep(Nanos::from_millis(1));
    drop(line);
    wakers.sleep(FOREVER);
    assert_eq!(orders.try_recv(), Err(TryRecvError::Disconnected));
}
