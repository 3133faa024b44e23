//! Trapped calls that begin again after a signal.
//!
//! Problem: until the request gate has received a trapped call, a signal whose handler was set without `SA_RESTART` ends it: a
//! read or write of a file then fails with EINTR, as it never does without lull. The receiver's thread narrows that moment; nothing that
//! it does closes it.
//!
//! Approach: two programs in the kernel see that such a wait was ended and write into the handler's frame what the kernel itself writes
//! under `SA_RESTART`: that the call is made again once the handler has returned. See `bpf/restart.bpf.c`.
//!
//! Edge cases: x86-64 only. Other calls of the job that wait in `wait_for_completion_interruptible`, as those of some drivers do, are made again, too. A kernel in lockdown refuses the write; then the moment stays. The kernel's log has a line for each load, which
//! says that a program with `bpf_probe_write_user` was installed.

use libbpf_rs::{Link, Object, ObjectBuilder};

use crate::load::{Aligned, Observers, SensorError, set_constant};
use crate::sensor::Job;

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/restart.bpf.o")));

/// Place of the job among the constants, after those of `lull_task.h`.
const JOB_AT: usize = 8;

/// The loaded programs. Detached when it goes, also by kill -9: nothing is pinned.
pub struct Restart {
    _links: Vec<Link>,
    _object: Object,
}

impl std::fmt::Debug for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restart").finish_non_exhaustive()
    }
}

impl Restart {
    /// Loads and attaches the programs for the calls of this job. Needs CAP_SYS_ADMIN (or root), kernel BTF and kernel 5.15.
    ///
    /// # Errors
    /// When the kernel is too old or locked down, the rights are missing, or the machine is another.
    pub fn load(job: Job) -> Result<Self, SensorError> {
        let step = |step: &'static str| {
            move |source| SensorError::Bpf { observers: Observers::Restart, step, source }
        };
        libbpf_rs::set_print(None);
        let mut open =
            ObjectBuilder::default().open_memory(&PROGRAMS.0).map_err(step("read the programs"))?;
        for (place, word) in job.words().into_iter().enumerate() {
            set_constant(&mut open, JOB_AT + place * size_of::<u32>(), word);
        }
        let object = open.load().map_err(step("load the programs"))?;
        let links = object.progs_mut().map(|program| program.attach()).collect::<Result<_, _>>();
        Ok(Self { _links: links.map_err(step("attach the programs"))?, _object: object })
    }
}
