use super::*;

#[test]
fn its_work_is_done_when_it_was_dropped_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("it's a file");
    std::fs::write(&file, "changed").unwrap();
    let restorer = Restorer::of_file(&file, "former").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "changed");
    drop(restorer);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "former\n");
}

#[test]
fn groups_are_thawed_and_removed() {
    // Directories stand for groups: a file in one, as processes would, keeps it until it is gone.
    let dir = tempfile::tempdir().unwrap();
    let [empty, frozen, gone] = ["empty", "frozen", "gone"].map(|name| dir.path().join(name));
    for group in [&empty, &frozen] {
        std::fs::create_dir(group).unwrap();
    }
    std::fs::write(frozen.join("freezer.state"), "FROZEN").unwrap();
    let restorer = Restorer::of_groups(&[empty.clone(), frozen.clone(), gone]).unwrap();
    let state = frozen.join("freezer.state");
    // Its last process ends once it is thawed, or is not thawed at all.
    let reader = std::thread::spawn(move || {
        for _ in 0..12_000 {
            if std::fs::read_to_string(&state).unwrap().trim() == "THAWED" {
                std::fs::remove_file(&state).unwrap();
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        false
    });
    drop(restorer);
    assert!(reader.join().unwrap(), "it was thawed");
    assert!(!empty.exists() && !frozen.exists());
}
