use super::*;

#[test]
fn the_end_of_an_answer_is_known_as_soon_as_it_can_be() {
    for (protocol, answer) in [
        (Protocol::Redis, "+OK\r\n"),
        (Protocol::Redis, "$-1\r\n"),
        (Protocol::Redis, "$5\r\nhello\r\n"),
        (Protocol::Http, "HTTP/1.1 200 OK\r\nServer: x\r\nContent-length: 3\r\n\r\nabc"),
    ] {
        let mut known = false;
        for end in 0..=answer.len() {
            match protocol.answer_length(&answer.as_bytes()[..end]).unwrap() {
                Some(length) => {
                    assert_eq!(length, answer.len(), "{answer:?} up to {end}");
                    known = true;
                }
                None => assert!(!known && end < answer.len(), "{answer:?} up to {end}"),
            }
        }
        assert!(known);
    }
}

#[test]
fn errors_of_the_server_are_told() {
    for (protocol, answer, word) in [
        (Protocol::Redis, "-ERR no\r\n", "ERR no"),
        (Protocol::Redis, "$x\r\n", "not a length"),
        (Protocol::Http, "HTTP/1.1 404 Not Found\r\n\r\n", "404"),
        (Protocol::Http, "HTTP/1.1 200 OK\r\n\r\n", "without a length"),
    ] {
        let error = protocol.answer_length(answer.as_bytes()).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn requests_name_one_of_the_items_and_state_their_lengths() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..100 {
        let mut out = Vec::new();
        Protocol::Redis.request(7, &mut random, &mut out);
        let text = String::from_utf8(out).unwrap();
        let parts: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(parts[0], if parts[2] == "GET" { "*2" } else { "*3" });
        for pair in parts[1..parts.len() - 1].chunks(2) {
            assert_eq!(pair[0], format!("${}", pair[1].len()));
        }
        assert!(parts[4].strip_prefix("key:").unwrap().parse::<u64>().unwrap() < 7);
    }
}
