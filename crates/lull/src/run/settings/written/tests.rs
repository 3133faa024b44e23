use super::*;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    ports: Written,
}

fn ports(text: &str) -> Result<Vec<u16>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    file.ports.values("ports", Some("9")).map_err(|error| error.to_string())
}

#[test]
fn words_numbers_lists_and_flags_are_what_they_are_on_the_command_line() {
    for text in ["ports = \"1,2\"", "ports = [1, 2]", "ports = [\"1\", 2]", "ports = [\"1, 2\"]"] {
        assert_eq!(ports(text), Ok(vec![1, 2]), "{text}");
    }
    assert_eq!(ports("ports = 7"), Ok(vec![7]));
    assert_eq!(ports("ports = true"), Ok(vec![9]));
    assert_eq!((ports("ports = false"), ports("")), (Ok(vec![]), Ok(vec![])));
}

#[test]
fn what_is_none_of_them_is_said_in_a_persons_words() {
    let wrong = ports("ports = 1.5").unwrap_err();
    assert_eq!(wrong, "expected a word, a number, a list of them, or true");
    assert!(ports("ports = [\"x\"]").unwrap_err().starts_with("run.ports: "));
}

#[test]
fn of_what_is_given_once_a_second_is_refused() {
    let one =
        |written: Written| written.at_most_one("answer", Some("all")).map_err(|error| error.to_string());
    let several = Written::Several(vec![Word::Text("a".to_owned()), Word::Text("b".to_owned())]);
    assert_eq!(one(several), Err("run.answer: one can be named, not 2".to_owned()));
    assert_eq!(one(Written::Flag(true)), Ok(Some("all".to_owned())));
    assert_eq!(one(Written::default()), Ok(None));
}
