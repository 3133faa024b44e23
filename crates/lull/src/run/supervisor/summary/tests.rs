use lull_core::Nanos;

use super::is_starved;

#[test]
fn a_job_is_starved_that_wants_a_cpu_and_uses_next_to_none() {
    let ms = Nanos::from_millis;
    let starved =
        |wanted: u64, used: u64| is_starved(ms(1000), [ms(50), ms(20)], [ms(50 + wanted), ms(20 + used)]);
    assert!(starved(500, 99));
    assert!(!starved(499, 0), "it wanted none, or was held");
    assert!(!starved(800, 100), "a thread waits while another runs");
}
