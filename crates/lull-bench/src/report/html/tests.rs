use super::*;
use crate::record::Writer;
use crate::report::apps::tests::records;

#[test]
fn the_page_holds_everything_and_needs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    records().iter().for_each(|record| writer.append(record).unwrap());
    let mut told = Vec::new();
    crate::report::write(dir.path(), &mut told).unwrap();
    let page = std::fs::read_to_string(dir.path().join(FILE_NAME)).unwrap();
    assert!(String::from_utf8(told).unwrap().contains(FILE_NAME));
    for text in [
        "Linux 6.0",
        "no &lt;bfq&gt; here",
        "a &lt; b &amp;&amp; c",
        "1.100 <small>[1.100–1.100]</small>",
        "aim for lull, <span class=met>met</span>: background / solo 0.6 (wanted: at least 0.45)",
        "share of requests",
        "<code>echo 1 &gt; /group/cpu.idle</code><br>",
        "lull is not dominated",
        "<i>held</i>: share of the time",
        "<p>Background work is counted by the bytes that tar has packed.</p>",
        "redis-tar-8\">redis-tar-8</h2>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Two cases: frontier, distribution, and one picture over time per contender.
    assert_eq!(page.matches("<svg").count(), 2 * (2 + 9));
    assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("<?xml"));
    let json = |id: &str| {
        page.split(&format!("id=\"{id}\">")).nth(1).unwrap().split("</script>").next().unwrap().to_owned()
    };
    let back: Vec<Record> = serde_json::from_str(&json("records")).unwrap();
    assert_eq!(back, records());
    let findings: Findings = serde_json::from_str(&json("verdicts")).unwrap();
    assert_eq!(findings.pairs.len(), 2);
}

#[test]
fn colours_of_pictures_are_those_that_the_style_replaces() {
    for color in ["#FFFFFF", "#282828", "#E1E1E1"] {
        assert!(STYLE.contains(color), "{color}");
    }
    let study = Study::of(&records());
    let findings = Findings::of(&study, &records()).unwrap();
    let svg = charts::frontier(&findings.pairs[0]).unwrap();
    assert!(svg.contains("fill=\"#FFFFFF\"") && svg.contains("#282828") && svg.contains("#E1E1E1"), "{svg}");
}
