#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn the_unit_is_that_of_the_manager_who_is_asked() {
    let user = Manager::User(1000);
    let session = "/user.slice/user-1000.slice/session-3.scope";
    let window = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope/inner";
    assert_eq!(Manager::System.unit_of(session), Some("session-3.scope"));
    assert_eq!(Manager::System.unit_of(window), Some("user@1000.service"));
    assert_eq!(Manager::System.unit_of("/system.slice/backup.service"), Some("backup.service"));
    assert_eq!(Manager::System.unit_of("/"), None);
    assert_eq!(user.unit_of(session), None, "a session is the system's");
    assert_eq!(user.unit_of(window), Some("app-x.scope"));
}

#[test]
fn without_systemd_nobody_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path());
    assert_eq!(Manager::find(&root), None);
    fs::create_dir_all(dir.path().join("run/systemd/system")).unwrap();
    assert_eq!(Manager::find(&root), None, "there is no socket");
}

#[test]
fn root_a_scope_holds_the_job_s_groups_and_goes_with_its_last_process() {
    let root = Root::real();
    let facts = crate::probe::CgroupFacts::read(&root, false);
    let (Some(manager), Some(v2)) = (Manager::find(&root), &facts.v2) else {
        println!("SKIPPED: systemd does not run this machine");
        return;
    };
    let scope = Scope::start(&root, manager, &v2.own_path, None, &v2.mount).unwrap();
    let directory = scope.directory().to_owned();
    let slice = directory.parent().unwrap();
    assert!(slice.ends_with(SLICE), "{directory:?}");
    assert_eq!(fs::read_to_string(slice.join("cpu.idle")).unwrap().trim(), "1");
    let job = directory.join("job");
    fs::create_dir(&job).unwrap();
    assert!(job.join("cpu.idle").exists() && job.join("memory.high").exists(), "{job:?}");
    drop(scope);
    for _ in 0..5_000 {
        if !directory.exists() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("{directory:?} stays");
}
