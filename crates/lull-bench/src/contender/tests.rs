use super::*;

#[test]
fn names_and_contenders_are_one_to_one() {
    for contender in &DISK {
        assert_eq!(Contender::of_disk(&contender.name()).as_ref(), Ok(contender));
    }
    for contender in &CPU {
        assert_eq!(Contender::of_cpu(&contender.name()).as_ref(), Ok(contender));
    }
    for contender in &APPS {
        assert_eq!(Contender::of_apps(&contender.name()).as_ref(), Ok(contender));
    }
    let error = Contender::of_cpu("bfq").unwrap_err().to_string();
    assert!(error.starts_with("'bfq' is not a contender here") && error.contains("cpu.idle"), "{error}");
    assert!(Contender::of_disk("cpu.idle").is_err());
    assert_eq!(Contender::Lull(words_of("--depth 4")).name(), "lull --depth 4");
}

fn words_of(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn tables_have_references_first_and_further_flags_last() {
    let mut names = ["lull --depth 1", "lull", "bfq", "sched-idle", "alone", "solo", "again"];
    names.sort_by_key(|name| rank(name));
    assert_eq!(names, ["alone", "again", "solo", "bfq", "sched-idle", "lull", "lull --depth 1"]);
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
    assert_eq!(wrapped(Contender::Nice), "nice -n 19 tar x");
    assert_eq!(wrapped(Contender::SchedIdle), "chrt -i 0 tar x");
    let half = 50 * std::thread::available_parallelism().unwrap().get();
    assert_eq!(wrapped(Contender::CpuLimit), format!("cpulimit -q -f -m -l {half} -- tar x"));
    assert_eq!(wrapped(Contender::CpuIdle), "tar x");
    assert_eq!(wrapped(IDLE_GROUP), "chrt -i 0 ionice -c 3 tar x");
    assert_eq!(wrapped(NICE_GROUP), "nice -n 19 ionice -c 3 tar x");
    let most = all_but_the_first();
    assert_eq!(wrapped(CONFINED), format!("taskset -c {most} chrt -i 0 ionice -c 3 tar x"));
    assert_eq!(wrapped(CONFINED_NICE), format!("taskset -c {most} nice -n 19 ionice -c 3 tar x"));
    assert_eq!(Contender::Bfq.about(&program), "bfq: nice -n 19 ionice -c 3 CMD, scheduler bfq");
}

#[test]
fn a_program_without_run_is_an_obstacle_for_lull_only() {
    let program = Program::new("/no/such/lull".into());
    assert!(Contender::Lull(Vec::new()).obstacle(None, &program).unwrap().contains("/no/such/lull"));
    assert_eq!(Contender::Unmanaged.obstacle(None, &program), None);
    assert!(Contender::Bfq.obstacle(None, &program).unwrap().contains("no single disk"));
}
