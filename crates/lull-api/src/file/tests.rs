//! A file says what a command line would.

use super::*;
use crate::Given;

fn ports(text: &str) -> Result<String, String> {
    let file = parse(&format!("[run]\n{text}\n"))?;
    let given = Given::new(Said::by::<&str>([]).unwrap(), file).unwrap();
    Ok(format!("{:?}", given.options.network))
}

fn by(line: &[&str]) -> Result<String, String> {
    let given = Given::new(Said::by(line.iter().copied()).unwrap(), parse("").unwrap()).unwrap();
    Ok(format!("{:?}", given.options.network))
}

#[test]
fn words_numbers_lists_and_flags_are_what_they_are_on_the_command_line() {
    let two = by(&["--net-ports", "1,2"]);
    for text in ["\"1,2\"", "[1, 2]", "[\"1\", 2]", "[\"1, 2\"]"] {
        assert_eq!(ports(&format!("net-ports = {text}")), two, "{text}");
    }
    assert_eq!(ports("net-ports = 7"), by(&["--net-ports", "7"]));
    assert_eq!(ports("qdisc = true"), by(&["--qdisc"]));
    assert_eq!(ports("qdisc = \"a,b:9mbit\""), by(&["--qdisc=a", "--qdisc=b:9mbit"]));
    assert_eq!((ports("qdisc = false"), ports("net-ports = []")), (by(&[]), by(&[])));
    assert_eq!(ports("net-answer = true"), by(&["--net-answer"]));
}

#[test]
fn what_makes_no_sense_is_told_with_its_key_and_line() {
    for (text, told) in [
        (
            "net-ports = 1.5",
            "line 2: run.net-ports: '1.5' is no value; write a word or a number, or a list of them",
        ),
        ("net-ports = [\"x\"]", "line 2: run.net-ports: 'x' is no range of ports"),
        ("net-answer = [\"a\", \"b\"]", "line 2: run.net-answer: one can be named, not a list"),
        ("\nhold = \"thaw\"", "line 3: run.hold: 'thaw' is none of quota, freeze"),
        ("release-leftovers = \"yes\"", "line 2: run.release-leftovers: write true or false"),
        ("interval = true", "line 2: run.interval: "),
        ("json = true", "line 2: 'json' belongs to a single run; "),
        ("intervall = \"5ms\"", "line 2: unknown option 'intervall'; a similar one is 'interval'"),
        ("config = \"x\"", "line 2: 'config' belongs to a single run"),
    ] {
        let error = ports(text).unwrap_err();
        assert!(error.starts_with(told) && error.lines().count() == 1, "{text}: {error}");
    }
    assert_eq!(parse("[rum]\n").unwrap_err(), "line 1: unknown section 'rum'; there is [run] alone");
}

#[test]
fn a_file_that_is_named_is_there_and_makes_sense() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lull.toml");
    let name = path.to_str().unwrap();
    assert!(read(Some(&path)).unwrap_err().to_string().starts_with(&format!("cannot read {name}: ")));
    assert!(read(Some(Path::new(""))).is_err(), "a name that is empty is none of a usual place");
    std::fs::write(&path, "[run]\ndepth = 0\n").unwrap();
    assert!(
        read(Some(&path)).unwrap_err().to_string().starts_with(&format!("in {name}: line 2: run.depth: '0'"))
    );
}
