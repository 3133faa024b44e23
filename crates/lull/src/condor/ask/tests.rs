use super::*;

#[test]
fn values_are_told_apart() {
    let row: [Value; 6] = row("\"slot1@n1\"\ttrue\t0.5\tundefined\terror\t1795634077").unwrap();
    assert_eq!(row[0].text(), Some("slot1@n1"));
    assert_eq!(row[1].is_true(), Some(true));
    assert_eq!(row[2].number(), Some(0.5));
    assert_eq!(row[3], Value::Nothing);
    assert_eq!(row[4], Value::Nothing);
    assert_eq!(row[5].number(), Some(1_795_634_077.0));
    assert_eq!(super::row::<2>("1\t2\t3"), None);
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let error = tool("condor_no_such_tool", &[]).unwrap_err().to_string();
    assert!(error.contains("no condor_no_such_tool here"), "{error}");
    let error = tool("sh", &["-c", "echo one; echo two >&2; exit 1"]).unwrap_err().to_string();
    assert!(error.contains("sh failed"), "{error}");
}
