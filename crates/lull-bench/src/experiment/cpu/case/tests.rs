use clap::Parser;
use lull_core::Nanos;

use super::*;
use crate::experiment::trial::Window;
use crate::process::shown;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    cpu: CpuArgs,
}

fn case(group: CpuCase) -> Case {
    Case::of(group, &Cli::parse_from(["x"]).cpu, 5_000)
}

fn line(case: &Case, round: u32) -> String {
    let window = Window { warmup: Nanos::from_secs(6), length: Nanos::from_secs(8) };
    shown(&case.foreground_in(7, round).argv(window, &Program::new("lull".into())))
}

#[test]
fn each_load_has_its_name_and_the_calibrated_requests() {
    for (group, name, load) in [
        (CpuCase::Serve10, "serve-10", "10"),
        (CpuCase::Serve50, "serve-50", "50"),
        (CpuCase::Serve80, "serve-80", "80"),
    ] {
        let case = case(group);
        assert_eq!((case.name.as_str(), case.max_slowdown), (name, None));
        let text = line(&case, 3);
        assert!(
            text.contains(&format!("cpu-serve --load {load} --service 800000ns --reads 5000 ")),
            "{text}"
        );
        assert!(
            text.ends_with("--seed 7003 --beat 500000000ns --warmup 6000000000ns --seconds 8 --json"),
            "{text}"
        );
    }
}

#[test]
fn arrivals_differ_between_rounds_only() {
    let case = case(CpuCase::Serve50);
    assert_eq!(line(&case, 1), line(&case, 1));
    assert_ne!(line(&case, 1), line(&case, 2));
}

#[test]
fn hogs_are_what_the_case_says() {
    let hogs = |group| {
        let line = shown(&case(group).hogs.job(&Program::new("lull".into())).unwrap().argv);
        line.rsplit_once(' ').unwrap().0.to_owned()
    };
    let memory = "lull load cpu-hog --kind memory --hogs 2 --memory 268435456 --leash --json --progress";
    assert_eq!(hogs(CpuCase::Serve50), memory);
    assert_eq!(hogs(CpuCase::Wakeup), memory.replace("--hogs 2", "--hogs 4"));
    assert_eq!(hogs(CpuCase::Integer), memory.replace("memory --hogs", "integer --hogs"));
    assert_eq!(case(CpuCase::Serve50At20).max_slowdown, Some("20%"));
    assert!(line(&case(CpuCase::Wakeup), 1).contains("cpu-wakeup --interval 1000000ns --beat"));
    assert!(line(&case(CpuCase::Spin), 1).contains("cpu-spin --threads 1 "));
}
