//! Running a guest.
//!
//! A guest has nobody who watches it start. So what lull lacks, it does without, and where lull itself fails before the guest has begun, the
//! guest runs at low priority alone; one line on its standard error says why. What fails later is handled by `lull run`.

use nix::sys::signal::SigSet;

use crate::run::RunArgs;
use crate::run::{bare, begin};

/// Becomes the guest, or its front.
///
/// # Errors
/// When neither can be.
pub(crate) fn start(args: &RunArgs) -> anyhow::Result<()> {
    let mask = SigSet::thread_get_mask()?;
    match begin(args) {
        Ok(begun) => match begun.end()? {},
        Err(error) => {
            eprintln!("lull: {error:#}; the guest runs at low priority, without lull");
            match bare::become_command(args, &mask)? {}
        }
    }
}
