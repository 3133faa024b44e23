//! What wins, and what is refused.

use super::value_without_equals;
use crate::run::settings::tests::set;

fn refusal(text: &str) -> String {
    let error = set(&[], text).unwrap_err();
    let error = format!("{error:#}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn the_command_line_replaces_what_the_file_says_of_the_same_kind() {
    let file = "[run]\nnet-ports = [\"873\"]\nnet-mark = [\"0x10\"]\n";
    let both = set(&["--net-ports", "80"], file).unwrap().tags;
    assert_eq!((both.ports, both.marks), (vec!["80".parse().unwrap()], vec!["0x10".parse().unwrap()]));
}

#[test]
fn the_file_has_the_same_names() {
    let text = "[run]\nresources = [\"net\"]\nnet-ports = [\"6881-6889\"]\nnet-address = [\"10.0.0.7\"]\nnet-mark = [\"0x10/0xff\"]\n";
    let tags = set(&[], text).unwrap().tags;
    assert_eq!(tags.ports, ["6881-6889".parse().unwrap()]);
    assert_eq!(tags.addresses, ["10.0.0.7".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(tags.marks, ["0x10/0xff".parse().unwrap()]);
    assert!(tags.root_group.is_some_and(|root| root.join("cgroup.controllers").exists()));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (text, word) in [
        ("net-ports = [\"9-3\"]", "run.net-ports: '9-3'"),
        ("net-address = [\"10.0.0\"]", "run.net-address"),
        ("net-mark = [\"0\"]", "run.net-mark: '0'"),
        ("resources = [\"disk\"]\nnet-ports = [\"873\"]", "need net among --resources"),
        ("resources = [\"disk\"]\nqdisc = [\"eth0\"]", "need net among --resources"),
        ("resources = [\"net\"]\nqdisc = [\"eth0:fast\"]", "run.qdisc: 'fast'"),
        ("resources = [\"net\"]\nqdisc = [\"e:9mbit\", \"e:8mbit\"]", "--qdisc: 'e' is named with two rates"),
        ("resources = [\"cpu\"]\nnet-answer = \"all\"", "need net among --resources"),
        ("resources = [\"net\"]\nnet-answer = \"no-such.service\"", "--net-answer no-such.service"),
    ] {
        let error = refusal(&format!("[run]\n{text}\n"));
        assert!(error.contains(word), "{text}: {error}");
    }
    let many: Vec<String> = (1..=17).map(|port| format!("\"{port}\"")).collect();
    let error = refusal(&format!("[run]\nresources = [\"net\"]\nnet-ports = [{}]\n", many.join(", ")));
    assert!(error.contains("17 are too many"), "{error}");
}

#[test]
fn a_value_after_a_blank_is_taken_for_what_it_is() {
    let hint = |line: &str, command| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        value_without_equals(&words, command)
    };
    let told = hint("lull run --qdisc eth0:90mbit -- true", "eth0:90mbit").unwrap();
    assert!(told.ends_with(" --qdisc=eth0:90mbit"), "{told}");
    assert!(
        hint("lull run --net-answer a.service true", "a.service").unwrap().contains("--net-answer=a.service")
    );
    assert_eq!(hint("lull run --qdisc -- eth0", "eth0"), None);
    assert_eq!(hint("lull run -q eth0 --qdisc eth0", "eth0"), None);
}
