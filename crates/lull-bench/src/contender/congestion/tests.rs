use super::*;

#[test]
fn one_that_the_kernel_lacks_is_named_beside_those_that_it_has() {
    assert_eq!(obstacle("reno"), None);
    let told = obstacle("nonesuch").unwrap();
    assert!(told.contains("'nonesuch'") && told.contains("reno"), "{told}");
}
