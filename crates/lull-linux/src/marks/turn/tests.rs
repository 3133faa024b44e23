use super::{come_first, let_others_run, policy, set_policy};

/// On a thread of its own, which takes its policy with it.
fn apart(test: impl FnOnce() + Send + 'static) {
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn root_who_comes_first_lets_others_run_again_afterwards_and_so_do_its_children() {
    apart(|| {
        assert!(come_first().is_none(), "only from where it can go back");
        let_others_run();
        assert_eq!(policy(), libc::SCHED_BATCH);
        for _ in 0..2 {
            let Some(first) = come_first() else {
                eprintln!("SKIPPED: real-time priority is not allowed here");
                return;
            };
            assert_eq!(policy(), libc::SCHED_RR);
            drop(first);
            assert_eq!(policy(), libc::SCHED_BATCH);
            apart(|| assert_eq!(policy(), libc::SCHED_BATCH));
        }
        let _first = come_first();
        apart(|| assert_eq!(policy(), libc::SCHED_OTHER));
    });
}

#[test]
fn who_was_given_another_policy_keeps_it() {
    apart(|| {
        assert!(set_policy(libc::SCHED_IDLE, 0));
        let_others_run();
        assert!(come_first().is_none());
        assert_eq!(policy(), libc::SCHED_IDLE);
    });
}
