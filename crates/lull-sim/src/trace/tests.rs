//! Each format on what its tool wrote, and every parser on what no tool writes.

use super::*;
use proptest::prelude::*;

const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  Q   W 223498 + 8 [kjournald]
  8,0    3        4     0.000005533   697  M   W 223498 + 8 [kjournald]
  8,0    3        5     0.000008607   697  D   W 223490 + 16 [kjournald]
  8,0    3       10     0.000024062   702  D   R 500 + 8 [dd]
  8,0    1       11     0.000507758     0  C   W 223490 + 16 [0]
  8,0    1       12     0.000907758     0  C   R 500 + 8 [0]
  8,0    1       13     0.001000000     0  C   R 900 + 8 [0]
  8,0    1       14     0.001000001   702  D   R 904 + 8 [dd]
  8,0    1       15     0.001000002   702  D  FN [dd]
CPU0 (sda):
 Reads Queued:           2,        8KiB
";

fn spans(trace: &Trace) -> Vec<(u64, u64, char, u64)> {
    let one = |r: &Traced| (r.arrival.0, r.end.0, r.class.letter(), r.bytes);
    trace.requests.iter().map(one).collect()
}

#[test]
fn blkparse_pairs_queue_issue_and_completion() {
    let trace = parse(BLKPARSE).unwrap();
    assert_eq!(
        (trace.format, trace.unmatched),
        (Format::Blkparse, 2),
        "one without beginning, one without end"
    );
    assert_eq!(spans(&trace), [(0, 507_758, 'f', 8_192), (24_062, 907_758, 'f', 4_096)]);
    let options = ParseOptions { background_commands: vec!["dd".to_owned()] };
    let classes: Vec<char> = spans(&parse_with(BLKPARSE, &options).unwrap()).iter().map(|s| s.2).collect();
    assert_eq!(classes, ['f', 'b']);
}

#[test]
fn perf_script_knows_the_idle_class_and_commands_with_blanks() {
    let text = "\
          my tool 24364 [001] 11899.056842:    block:block_rq_issue: 254,0 RA 4096 () 952 + 8 0x3,0,0 [my tool]
              fio 24365 [000] 11899.056900:    block:block_rq_issue: 254,0 R 4096 () 100 + 8 none,0,0 [fio]
              fio 24365 [000] 11899.056901:    block:block_rq_issue: 254,0 FF 0 () 18446744073709551615 + 0 none,0,0 [fio]
          swapper     0 [001] 11899.057000: block:block_rq_complete: 254,0 R () 100 + 8 none,0,0 [0]
          swapper     0 [001] 11899.057742: block:block_rq_complete: 254,0 RA () 952 + 8 0x3,0,0 [0]
              old     1 [001] 11899.058000:    block:block_rq_issue: 8,0 W 512 (2a 00) 7 + 1 [old]
              old     1 [001] 11899.058100: block:block_rq_complete: 8,0 W (2a 00) 7 + 1 [0]
";
    let trace = parse(text).unwrap();
    assert_eq!(trace.devices, ["254,0", "8,0"]);
    assert_eq!(
        spans(&trace),
        [(0, 900_000, 'b', 4_096), (58_000, 158_000, 'f', 4_096), (1_158_000, 1_258_000, 'f', 512)]
    );
}

#[test]
fn fio_latency_logs_old_and_new() {
    let trace = parse("10, 4153617, 0, 4096, 1011712, 0\n13, 322155, 0, 4096, 12419072, 0x6004\n").unwrap();
    assert_eq!((trace.format, trace.resolution), (Format::FioLatencyLog, Nanos::from_millis(1)));
    assert_eq!(spans(&trace), [(0, 4_153_617, 'f', 4_096), (6_831_462, 7_153_617, 'b', 4_096)]);
    assert_eq!(parse("10, 5, 1, 4096\n").unwrap().requests.len(), 1);
}

#[test]
fn fio_iologs_know_arrivals_only() {
    let three =
        "fio version 3 iolog\n29 /d/f add\n30 /d/f open\n50 /d/f read 0 4096\n80 /d/f write 4096 512\n";
    let two =
        "fio version 2 iolog\n/d/f add\n/d/f open\n/d/f read 0 4096\n/d/f wait 30 0\n/d/f write 4096 512\n";
    for text in [three, two] {
        let trace = parse(text).unwrap();
        assert!(!trace.timed);
        assert_eq!(spans(&trace), [(0, 0, 'f', 4_096), (30_000, 30_000, 'f', 512)]);
    }
}

#[test]
fn what_tools_wrote_on_a_machine_is_read() {
    for (text, format, least) in [
        (include_str!("../../tests/traces/fio_lat.log"), Format::FioLatencyLog, 200),
        (include_str!("../../tests/traces/fio.iolog"), Format::FioIolog, 200),
        (include_str!("../../tests/traces/perf.txt"), Format::PerfScript, 200),
    ] {
        let trace = parse(text).unwrap();
        assert_eq!(trace.format, format);
        assert!(trace.requests.len() >= least, "{format}: {}", trace.requests.len());
        assert!(trace.requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival), "{format}");
        assert!(trace.requests.iter().all(|request| request.arrival <= request.end), "{format}");
    }
    let perf = parse(include_str!("../../tests/traces/perf.txt")).unwrap();
    for class in [Class::Foreground, Class::Background] {
        assert!(perf.requests.iter().filter(|request| request.class == class).count() > 30, "{class}");
    }
}

#[test]
fn errors_name_line_and_text() {
    for (text, words) in [
        ("", vec!["empty"]),
        ("hello\nworld\n", vec!["line 1", "hello", "none of the formats"]),
        ("1, 2, 0, 4096\n1, x, 0, 4096\n", vec!["line 2", "1, x, 0", "latency is 'x'"]),
        ("1, 2, 7, 4096\n", vec!["line 1", "direction is '7'"]),
        ("fio version 9 iolog\n", vec!["line 1", "header"]),
        ("fio version 3 iolog\n5 /f chew 1 2\n", vec!["line 2", "action is 'chew'"]),
        ("  8,0 1 1 1.x 5 D R 8 + 8 [a]\n", vec!["line 1", "time is '1.x'"]),
        ("  8,0 1 1 1.5 5 D R 8 + 8 [a]\n", vec!["no complete request"]),
        ("a 1 [0] z: block:block_rq_issue: 8,0 R 5 () 1 + 2 [a]\n", vec!["line 1", "time is 'z'"]),
        ("a 1 [0] 1.5: block:block_rq_issue: vda R 5 () 1 + 2 [a]\n", vec!["line 1", "device is 'vda'"]),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{text:?}: {error}");
    }
}

/// Lines that nearly are of one format, so that the property test gets past the detection.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("8,0".to_owned()),
        Just("+".to_owned()),
        Just("block:block_rq_issue:".to_owned()),
        Just("block:block_rq_complete:".to_owned()),
        Just("()".to_owned()),
        Just("[x]".to_owned()),
        Just("D".to_owned()),
        Just("C".to_owned()),
        Just("read".to_owned()),
        Just("wait".to_owned()),
        Just("f".to_owned()),
        any::<u64>().prop_map(|n| n.to_string()),
        (any::<u32>(), any::<u32>()).prop_map(|(a, b)| format!("{a}.{b}")),
        "[ -~]{0,6}",
    ];
    let line = proptest::collection::vec(word, 0..12);
    (proptest::collection::vec(line, 0..6), prop_oneof![Just(" "), Just(", ")])
        .prop_map(|(lines, glue)| lines.iter().map(|words| words.join(glue) + "\n").collect())
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_nearly_right_text_makes_a_parser_panic(body in nearly(), head in 0..6_usize) {
        let heads = ["", "# lull-recording 1\n", "fio version 2 iolog\n", "fio version 3 iolog\n", "1, 2, 0, 4\n",
            "  8,0 3 1 0.0 6 D W 2 + 8 [k]\n"];
        let text = format!("{}{body}", heads[head]);
        let options = ParseOptions::default();
        for format in [Format::Recording, Format::FioLatencyLog, Format::FioIolog, Format::Blkparse, Format::PerfScript] {
            let _ = match format {
                Format::Recording => parse_recording(&text),
                Format::FioLatencyLog => fio_log::parse(&text),
                Format::FioIolog => iolog::parse(&text),
                Format::Blkparse => blkparse::parse(&text, &options),
                Format::PerfScript => perf::parse(&text, &options),
            };
        }
    }
}
