use super::is_quiet;

const AT_REST: &str =
    " 254 0 vda 9 0 72 4 5 0 40 3 0 6 7 0 0 0 0 0 0\n 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

#[test]
fn counters_that_stand_still_are_quiet() {
    assert!(is_quiet(AT_REST, AT_REST));
}

#[test]
fn a_request_served_or_in_service_or_another_disk_is_work() {
    let served = AT_REST.replacen(" 9 ", " 10 ", 1);
    assert!(!is_quiet(AT_REST, &served));
    let in_service = AT_REST.replacen(" 3 0 6", " 3 1 6", 1);
    assert!(!is_quiet(&in_service, &in_service));
    let fewer: String = AT_REST.lines().take(1).map(|line| format!("{line}\n")).collect();
    assert!(!is_quiet(AT_REST, &fewer));
}

#[test]
fn what_is_not_understood_is_work() {
    assert!(!is_quiet("vda\n", "vda\n"));
}
