//! The experiments: cases measured in interleaved rounds.
//!
//! ```text
//!  case ──▶ round 1: lull  alone  bfq  solo  none  …      shuffled anew in every round, from the seed
//!           round 2: none  solo  lull  idle  alone …      each run: one line in raw.jsonl, at once
//!           …
//! ```
//! A contender that cannot run here (no root, no BFQ, no such tool) is recorded as unmet with the reason,
//! said once, and left out; a run that fails is recorded the same way and the others go on. Ctrl-C stops
//! after putting everything back.
//!
//! | module | idea |
//! |---|---|
//! | [`args`] | what can be asked |
//! | [`measurement`] | what all experiments do alike |
//! | [`disk`] | `lull bench disk`: cases whose resource is a disk |
//! | [`quiet`] | jobs that run to their end, without a foreground |
//! | [`cpu`] | `lull bench cpu`: cases whose resource is the CPU |
//! | [`net`] | `lull bench net`: cases whose resource is a link |
//! | [`memory`] | `lull bench memory`: cases whose resource is memory, page cache and write-back |
//! | [`apps`] | `lull bench apps`: real applications beside real jobs |
//! | [`ledger`] | the log and the records of a measurement |
//! | [`trial`] | one run |
//! | [`summary`] | what lull tells of a run of its own |
//! | `disturbance` | what others had of the machine meanwhile |
//! | [`host`] | facts of the machine |

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::error::Context;

pub mod apps;
pub mod args;
pub mod awake;
pub mod cpu;
pub mod disk;
pub(crate) mod disturbance;
pub mod host;
pub mod ledger;
pub mod measurement;
pub mod memory;
pub mod net;
pub mod quiet;
pub mod summary;
pub mod trial;

/// Pause between two runs.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);
/// Directory of the data files within `--dir`.
const DATA: &str = "lull-bench-data";

/// The directory of the data files within `--dir`, made. Of `--dir` itself only the last part is, and that is
/// said: with a wrong path gigabytes would go to another disk than was meant, and that one would be measured.
fn data_directory(dir: &Path) -> Result<PathBuf, Error> {
    let unusable =
        |problem: String| Error::Argument { argument: format!("--dir {}", dir.display()), problem };
    if !dir.exists() {
        std::fs::create_dir(dir).map_err(|error| match error.kind() {
            ErrorKind::NotFound => unusable(
                "the directory above it does not exist either; name one on the disk to use".to_owned(),
            ),
            _ => unusable(format!("it does not exist and cannot be made: {error}")),
        })?;
        eprintln!("lull bench: --dir {}: it did not exist, and was made", dir.display());
    }
    if !dir.is_dir() {
        return Err(unusable("it is no directory; name one on the disk to use".to_owned()));
    }
    let data = dir.join(DATA);
    std::fs::create_dir_all(&data).at("create", &data)?;
    Ok(data)
}

#[cfg(test)]
mod tests;
