//! The policies as HTCondor's own evaluator sees them, against the same policies in Rust, on a grid of situations.
//!
//! Needs a pool that is up (`make test-condor` sees to that, and names the program that enters it in LULL_CONDOR_POOL); skipped, and said, without.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use lull_core::Nanos;
use lull_core::linger::classad::{Slot, Terms};
use lull_core::linger::{Act, GuestPolicy, Leave};

const NOW_S: f64 = 1_795_000_000.0;

fn terms(policy: GuestPolicy) -> Terms {
    Terms {
        policy,
        patience: Nanos::from_secs(60),
        restart: Nanos::from_secs(20),
        bytes_per_s: 10 << 20,
        saves_every: Nanos::from_secs(300),
        stale_after: Nanos::from_secs(60),
    }
}

/// Every combination of what matters.
fn grid() -> Vec<Slot> {
    let mut grid = vec![Slot { now_s: NOW_S, ..Slot::default() }];
    let mut vary = |change: &dyn Fn(&Slot) -> Vec<Slot>| grid = grid.iter().flat_map(change).collect();
    vary(&|slot| {
        [None, Some(NOW_S - 2.0), Some(NOW_S - 600.0)].map(|measured_s| Slot { measured_s, ..*slot }).into()
    });
    vary(&|slot| [false, true].map(|owner_active| Slot { owner_active, ..*slot }).into());
    vary(&|slot| {
        [0.0, 7.0, 61.0, 1_010.0, 50_000.0].map(|age_s| Slot { owner_since_s: NOW_S - age_s, ..*slot }).into()
    });
    vary(&|slot| [0.0, 0.33, 0.9].map(|share| Slot { share, ..*slot }).into());
    vary(&|slot| [0.3, 1.0].map(|elsewhere| Slot { elsewhere, ..*slot }).into());
    vary(&|slot| {
        [None, Some(3.0), Some(4_000.0)]
            .map(|ran_s: Option<f64>| Slot { job_start_s: ran_s.map(|ran_s| NOW_S - ran_s), ..*slot })
            .into()
    });
    vary(&|slot| {
        let saves = [None, Some(45.0)].map(|saves_every_s| Slot { saves: true, saves_every_s, ..*slot });
        [saves[0], saves[1], Slot { saves: false, ..*slot }].into()
    });
    vary(&|slot| [None, Some(3_990.0), Some(90_000.0)].map(|work_s| Slot { work_s, ..*slot }).into());
    vary(&|slot| {
        let carries = Slot { disk_kib: Some(2_097_152.0), input_mib: Some(512.0), ..*slot };
        [*slot, carries].into()
    });
    grid
}

/// The ad of a slot in this situation.
fn ad(slot: &Slot, terms: &Terms, index: usize) -> String {
    let mut text = format!("MyType = \"Machine\"\nName = \"slot1@{index:06}\"\n");
    let mut number = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            writeln!(text, "{name} = {value:?}").unwrap();
        }
    };
    number("LastHeardFrom", Some(slot.now_s));
    number("LullTime", slot.measured_s);
    number("LullOwnerSince", Some(slot.owner_since_s));
    number("LullGuestShare", Some(slot.share));
    number("LullElsewhereShare", Some(slot.elsewhere));
    number("JobStart", slot.job_start_s);
    number("SuccessCheckpointExitCode", slot.saves.then_some(85.0));
    number("LullSavesEvery", slot.saves_every_s);
    number("LullWork", slot.work_s);
    number("DiskUsage", slot.disk_kib);
    number("TransferInputSizeMB", slot.input_mib);
    number("LullPlaces", Some(f64::from(u32::try_from(index % 2).unwrap())));
    let mover = if is_mover(index) { format!("slot1@{index:06}") } else { "slot2".to_owned() };
    writeln!(text, "LullMover = \"{mover}\"").unwrap();
    writeln!(text, "LullOwnerActive = {}", slot.owner_active).unwrap();
    for (name, value) in terms.attributes() {
        writeln!(text, "{name} = {value}").unwrap();
    }
    text + "\n"
}

/// Whether this slot's guest is the one of its node that goes first.
const fn is_mover(index: usize) -> bool {
    index / 2 % 3 < 2
}

fn leaves(act: Option<Act>, places: bool) -> bool {
    act.is_some_and(|act| match act.leave {
        Leave::Now => true,
        Leave::WhenThereIsAPlace => places,
        Leave::Stay(_) => false,
    })
}

#[test]
fn htcondor_decides_as_the_policy_does() {
    let Some(pool) = std::env::var_os("LULL_CONDOR_POOL") else {
        eprintln!("SKIPPED: no pool of HTCondor is up; `make test-condor` brings one up");
        return;
    };
    let grid = grid();
    for policy in GuestPolicy::ALL {
        let terms = terms(policy);
        let ads: String = grid.iter().enumerate().map(|(index, slot)| ad(slot, &terms, index)).collect();
        let mut status = Command::new(&pool)
            .args(["exec", "cm", "sh", "-c"])
            .arg("f=$(mktemp); cat >$f; condor_status -ads $f -af Name LullWants LullLeaves LullDecision; rm $f")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        status.stdin.take().unwrap().write_all(ads.as_bytes()).unwrap();
        let output = status.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let mut rows: Vec<&str> = said.lines().collect();
        rows.sort_unstable();
        assert_eq!(rows.len(), grid.len(), "{policy}: an ad for each situation");
        let mut seen = (0, 0);
        for (index, (row, slot)) in rows.iter().zip(&grid).enumerate() {
            let act = terms.act(slot);
            let wants = Terms::wants(act);
            let leaves = leaves(act, index % 2 == 1 && is_mover(index));
            let expected = format!("slot1@{index:06} {wants} {leaves} ");
            assert!(row.starts_with(&expected), "{policy}: HTCondor says {row}, {expected} for {slot:?}");
            if let Some(act) = act {
                let lingers = row.ends_with("linger");
                assert_eq!(lingers, act.runs && !wants, "{policy}: {row} for {slot:?}");
            }
            if wants { seen.0 += 1 } else { seen.1 += 1 }
        }
        eprintln!("{policy}: {} situations, wants to leave in {}", grid.len(), seen.0);
    }
}
