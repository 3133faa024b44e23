use super::known::{APPS, CPU, DISK, MEMORY, NET};
use super::*;

#[test]
fn names_and_contenders_are_one_to_one() {
    for experiment in [DISK, CPU, NET, MEMORY, APPS] {
        for known in known::of(experiment) {
            assert_eq!(Contender::among(experiment)(known.name).as_ref(), Ok(&known.contender));
            assert_eq!(known.contender.name(), known.name);
            assert!(!known.what.is_empty(), "{}", known.name);
        }
    }
    assert_eq!(Contender::among(MEMORY)("lull-now"), Ok(Contender::lull_now([])));
    assert_eq!(Contender::lull_now([]).name(), "lull-now");
    let error = Contender::among(CPU)("bfq").unwrap_err().to_string();
    assert!(error.starts_with("'bfq' is not a contender here") && error.contains("cpu.idle"), "{error}");
    assert!(Contender::among(DISK)("cpu.idle").is_err());
    assert_eq!(Contender::Lull(words_of("--depth 4")).name(), "lull --depth 4");
}

fn in_force(class: Class, confined: bool) -> Contender {
    Contender::InForce { class, confined }
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
    let wrapped = |contender: Contender| shown(&contender.wrap(words("tar x"), &program));
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
    assert_eq!(wrapped(in_force(Class::Idle, false)), "chrt -i 0 ionice -c 3 tar x");
    assert_eq!(wrapped(in_force(Class::Nice, false)), "nice -n 19 ionice -c 3 tar x");
    let most = all_but_the_first();
    assert_eq!(wrapped(CONFINED), format!("taskset -c {most} chrt -i 0 ionice -c 3 tar x"));
    assert_eq!(
        wrapped(in_force(Class::Nice, true)),
        format!("taskset -c {most} nice -n 19 ionice -c 3 tar x")
    );
    assert_eq!(Contender::Bfq.about(&program), "bfq: nice -n 19 ionice -c 3 CMD, scheduler bfq");
}

#[test]
fn a_program_without_run_is_an_obstacle_for_lull_only() {
    let program = Program::new("/no/such/lull".into());
    assert!(Contender::Lull(Vec::new()).obstacle(None, &program).unwrap().contains("/no/such/lull"));
    assert_eq!(Contender::Unmanaged.obstacle(None, &program), None);
    assert!(Contender::Bfq.obstacle(None, &program).unwrap().contains("no single disk"));
}
