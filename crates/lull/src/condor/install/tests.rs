use std::collections::BTreeMap;

use super::*;

/// A config directory with somebody else's file in it.
fn etc() -> (tempfile::TempDir, PathBuf) {
    let etc = tempfile::tempdir().unwrap();
    let dir = etc.path().join("config.d");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("10-site.conf"), "START = Owner == \"me\"\n").unwrap();
    (etc, dir)
}

fn contents(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn args(dir: &Path, more: &[&str]) -> InstallArgs {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: InstallArgs,
    }
    let words = ["install", "--config-dir", dir.to_str().unwrap()].into_iter().chain(more.iter().copied());
    <Line as clap::Parser>::parse_from(words).args
}

#[test]
fn uninstall_leaves_the_directory_as_it_was() {
    let (etc, dir) = etc();
    let before = contents(etc.path());
    install(&args(&dir, &[])).unwrap();
    let after = contents(etc.path());
    assert_eq!(after.len(), before.len() + 2);
    assert_eq!(policy_of(&after[&dir.join(FILE)]), Some(GuestPolicy::LingerLonger));
    // Again, with another policy: the same two files.
    install(&args(&dir, &["--policy", "evict"])).unwrap();
    let again = contents(etc.path());
    assert_eq!(again.len(), after.len());
    assert_eq!(policy_of(&again[&dir.join(FILE)]), Some(GuestPolicy::ImmediateEviction));
    uninstall(&UninstallArgs { config_dir: Some(dir.clone()) }).unwrap();
    assert_eq!(contents(etc.path()), before);
    uninstall(&UninstallArgs { config_dir: Some(dir) }).unwrap();
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let (etc, dir) = etc();
    std::fs::write(dir.join(FILE), "START = False\n").unwrap();
    let before = contents(etc.path());
    let error = install(&args(&dir, &[])).unwrap_err().to_string();
    assert!(error.contains("is not lull's"), "{error}");
    assert!(uninstall(&UninstallArgs { config_dir: Some(dir) }).is_err());
    assert_eq!(contents(etc.path()), before);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_etc, dir) = etc();
    for (more, word) in [(["--period", "1ms"], "--period"), (["--bandwidth", "0"], "--bandwidth")] {
        let error = install(&args(&dir, &more)).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let error = install(&args(Path::new("/no/such/dir"), &[])).unwrap_err().to_string();
    assert!(error.contains("/no/such/dir"), "{error}");
}

#[test]
fn a_wrapper_that_was_there_is_found_in_ours() {
    assert_eq!(wrapped_in("#!/bin/sh\nexec '/opt/it'\\''s' \"$@\"\n").as_deref(), Some("/opt/it's"));
    assert_eq!(wrapped_in("#!/bin/sh\nexec \"$@\"\n"), None);
}
