use super::*;

#[test]
fn names_and_contenders_are_one_to_one() {
    for name in ["alone", "solo", "none", "nice+ionice", "bfq", "idle", "lull"] {
        assert_eq!(name.parse::<Contender>().unwrap().name(), name);
    }
    let error = "nise".parse::<Contender>().unwrap_err().to_string();
    assert!(error.starts_with("'nise' is not a contender"), "{error}");
    assert_eq!(Contender::Lull(words_of("--depth 4")).name(), "lull --depth 4");
}

fn words_of(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn each_wraps_the_job_in_its_command() {
    let program = Program::new("/bin/lull".into());
    let wrapped = |contender: Contender| shown(&contender.wrap(words(&["tar", "x"]), &program));
    assert_eq!(wrapped(Contender::Unmanaged), "tar x");
    assert_eq!(wrapped(Contender::NiceIonice), "nice -n 19 ionice -c 3 tar x");
    assert_eq!(wrapped(Contender::Bfq), "nice -n 19 ionice -c 3 tar x");
    assert_eq!(wrapped(Contender::Idle), "chrt -i 0 ionice -c 3 tar x");
    assert_eq!(wrapped(Contender::Lull(words_of("--depth 4"))), "/bin/lull run --depth 4 -- tar x");
    assert_eq!(Contender::Bfq.about(&program), "bfq: nice -n 19 ionice -c 3 CMD, scheduler bfq");
}

#[test]
fn a_program_without_run_is_an_obstacle_for_lull_only() {
    let program = Program::new("/no/such/lull".into());
    assert!(Contender::Lull(Vec::new()).obstacle(None, &program).unwrap().contains("/no/such/lull"));
    assert_eq!(Contender::Unmanaged.obstacle(None, &program), None);
    assert!(Contender::Bfq.obstacle(None, &program).unwrap().contains("no single disk"));
}
