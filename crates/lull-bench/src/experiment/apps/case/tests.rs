use std::io::Read;

use super::*;
use crate::experiment::apps::packages;

#[test]
fn a_script_runs_its_instances_over_and_over_until_its_input_ends() {
    let mut shell = Command::new("setsid")
        .args(["sh", "-c", &script("echo $i; sleep 0.01", 2)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = shell.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.iter().filter(|b| **b == b'1').count() < 2 || seen.iter().filter(|b| **b == b'2').count() < 2 {
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{seen:?}");
        seen.push(byte[0]);
    }
    drop(shell.stdin.take());
    // The pipe closes once the last instance is gone.
    output.read_to_end(&mut seen).unwrap();
    assert!(!shell.wait().unwrap().success(), "it ends by its own signal");
}

#[test]
fn the_jobs_do_their_work_and_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path(), 1, Bytes(Bytes::MIB), 1).unwrap();
    std::fs::create_dir_all(&places.scratch).unwrap();
    let program = Program { load: vec!["true".into()], run: vec!["false".into()] };
    for work in [AppJob::Tar, AppJob::Rsync, AppJob::Checksum, AppJob::Bzip2, AppJob::Flood] {
        let lacks = packages::missing(packages::of_work(work));
        if let Some(detail) = lacks_option(work).or_else(|| lacks.first().map(|name| format!("no {name}"))) {
            eprintln!("SKIPPED: {work:?}: {detail}");
            continue;
        }
        let body = body(work, &places, &program).replace("$i", "1");
        let output = Command::new("sh").args(["-c", &body]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{work:?}: {body}: {errors}");
    }
}

#[test]
fn a_flood_goes_through_its_file_and_waits_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path(), 0, Bytes(1), 1).unwrap();
    let program = Program { load: vec!["true".into()], run: vec!["false".into()] };
    // What dd is told, in place of dd.
    let body = format!("dd() {{ echo $*; }}; {}", body(AppJob::Flood, &places, &program));
    let output = Command::new("sh").args(["-c", &[body.as_str(); 129].join("; ")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let seeks: Vec<&str> = text.split_whitespace().filter_map(|word| word.strip_prefix("seek=")).collect();
    assert_eq!(
        (seeks.len(), &seeks[..3], &seeks[126..]),
        (129, &["4", "8", "12"][..], &["508", "0", "4"][..])
    );
    assert_eq!(text.matches("conv=notrunc,fsync").count(), 129);
    assert_eq!(text.lines().map(mebibytes).sum::<u64>(), 129 * 4 * Bytes::MIB);
}

#[test]
fn an_archive_is_counted_by_its_size_and_not_sent_to_the_harness() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path(), 1, Bytes(8 * Bytes::MIB), 1).unwrap();
    let program = Program { load: vec!["true".into()], run: vec!["false".into()] };
    if let Some(lacks) = packages::missing(packages::of_work(AppJob::Tar)).first() {
        eprintln!("SKIPPED: no {lacks}");
        return;
    }
    let body = body(AppJob::Tar, &places, &program).replace("$i", "1");
    let output = Command::new("sh").args(["-c", &body]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let counted = text.lines().map(mebibytes).sum::<u64>();
    assert!((8 * Bytes::MIB..=9 * Bytes::MIB).contains(&counted), "{text}");
    assert!(text.len() < 1_000, "{} bytes for the harness to read", text.len());
}

#[test]
fn a_line_that_is_no_size_counts_nothing() {
    for (line, count) in [("4 MiB", 4), ("tar: 1 MiB", 1), ("tar: file changed", 0), ("MiB", 0), ("", 0)] {
        assert_eq!(mebibytes(line), count * Bytes::MIB, "{line}");
    }
}

#[test]
fn copies_and_digests_count_as_much_as_the_files_hold() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path(), 1, Bytes(3 * Bytes::MIB), 1).unwrap();
    std::fs::create_dir_all(&places.scratch).unwrap();
    let program = Program { load: vec!["true".into()], run: vec!["false".into()] };
    for work in [AppJob::Rsync, AppJob::Checksum] {
        let lacks = packages::missing(packages::of_work(work));
        if let Some(detail) = lacks_option(work).or_else(|| lacks.first().map(|name| format!("no {name}"))) {
            eprintln!("SKIPPED: {work:?}: {detail}");
            continue;
        }
        let Meter::Lines(mut value_of) = prepare(work, 1, &places, &program).unwrap().meter else {
            panic!("{work:?} is counted by something else than lines");
        };
        let body = body(work, &places, &program).replace("$i", "1");
        let output = Command::new("sh").args(["-c", &body]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let counted: u64 = text.lines().map(&mut value_of).sum();
        let files = places.trees[0].bytes().0;
        // rsync copies the tree's stamp, too.
        assert!((files..files + 100).contains(&counted), "{work:?}: {counted} of {files}: {text}");
    }
}

#[test]
fn what_rsync_says_of_others_than_files_counts_nothing() {
    for (line, count) in [
        (">f+++++++++ 262144 262215", 262_144),
        ("cd+++++++++ 4096 0", 0),
        ("cL+++++++++ 3 0", 0),
        ("created directory b", 0),
        (">f", 0),
        ("", 0),
    ] {
        assert_eq!(copied(line), count, "{line}");
    }
}

#[test]
fn an_instance_reads_and_forgets_a_tree_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(dir.path(), 2, Bytes(Bytes::MIB), 1).unwrap();
    let [one, two] = ["1", "2"].map(|number| dir.path().join("trees").join(number).display().to_string());
    let content = |tree: &str| std::fs::read(format!("{tree}/d0000/f000000")).unwrap();
    assert_ne!(content(&one), content(&two));
    let program = Program { load: vec!["echo".into()], run: vec!["false".into()] };
    let body = body(AppJob::Checksum, &places, &program).replace("$i", "2");
    let output = Command::new("sh").args(["-c", &body]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().last(), Some(format!("forget {two}").as_str()));
    assert!(text.lines().all(|line| line.contains(&two) && !line.contains(&one)), "{text}");
    assert!(text.lines().count() > 4, "{text}");
}

#[test]
fn trees_without_room_are_refused_before_they_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let error = Places::make(dir.path(), 3, Bytes(u64::MAX / 100), 1).unwrap_err().to_string();
    assert!(error.contains("room for 3 trees") && error.contains("--tree-size"), "{error}");
    assert!(!dir.path().join("trees").exists());
}

#[test]
fn a_copy_that_does_not_fit_is_said_before_it_is_tried() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().join("scratch");
    assert_eq!(lacks_room(AppJob::Rsync, 1, Bytes(1), &scratch), None);
    assert_eq!(lacks_room(AppJob::Tar, 8, Bytes(u64::MAX), &scratch), None, "it writes nothing");
    let detail = lacks_room(AppJob::Rsync, 8, Bytes(u64::MAX / 100), &scratch).unwrap();
    assert!(detail.contains("are needed"), "{detail}");
}
