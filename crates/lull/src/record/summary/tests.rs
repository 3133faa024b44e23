use super::*;

fn summary(parts: Vec<Part>) -> Summary {
    Summary { span: Nanos::from_secs(30), parts, missed: Some(3) }
}

fn part(name: &str, requests: [u64; 2]) -> Part {
    Part { name: name.to_owned(), requests, neutral: 5, ..Part::default() }
}

#[test]
fn the_line_adds_up_all_disks_and_the_page_names_those_at_work() {
    let summary = summary(vec![part("vda", [10, 2]), part("vdb", [0, 0]), part("vdc", [1, 0])]);
    let page = summary.page(Path::new("some.txt"));
    assert!(page.starts_with("lull: 13 requests in 30s: 11 foreground, 2 background; dropped 0, "), "{page}");
    assert!(page.contains("events missed 3") && page.contains("neither class 15"), "{page}");
    assert!(page.contains("  vda: 10 foreground, 2 background\n  vdc: 1 foreground"), "{page}");
    assert!(!page.contains("vdb") && !page.contains("missing"), "{page}");
    assert!(page.ends_with("next: lull advise some.txt\n"), "{page}");
}

#[test]
fn what_is_missing_is_said() {
    let mut lossy = part("vda", [10, 2]);
    lossy.dropped = 7;
    let page = summary(vec![lossy]).page(Path::new("-"));
    assert!(page.contains("dropped 7") && page.contains("some requests are missing"), "{page}");
    let mut silent = summary(vec![part("vda", [0, 2])]);
    silent.missed = None;
    let page = silent.page(Path::new("x"));
    assert!(page.contains("no foreground request") && page.contains("events missed unknown"), "{page}");
    assert!(!page.contains("lull advise"), "{page}");
}
