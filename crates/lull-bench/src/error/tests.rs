use super::*;

/// An error and all that stands behind it, as `lull` prints it.
fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", chain(cause)))
}

#[test]
fn a_cause_is_told_once() {
    let missing = std::fs::read("/nonexistent/raw.jsonl");
    let text = chain(&missing.at("open", Path::new("/nonexistent/raw.jsonl")).unwrap_err());
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
    let denied: Result<(), io::Error> = Err(io::ErrorKind::PermissionDenied.into());
    let text = chain(&denied.to("watch").unwrap_err());
    assert_eq!(text, "cannot watch: permission denied");
    let cause = serde_json::from_str::<u32>("x").unwrap_err();
    let text = chain(&Error::Record { path: "raw.jsonl".into(), line: 3, cause });
    assert_eq!(text.matches("expected value").count(), 1, "{text}");
}
