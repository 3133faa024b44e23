//! Making a call about affinities in the place of its caller, which waits with it.
//!
//! Problem: a thread that asks for its CPUs, or chooses them, is to be answered at a moment at which its process is not confined, and
//! that moment has to be short. Left to go on by itself it may wait for a CPU, and a choice is refused (EINVAL) when the process is confined again
//! while the kernel moves the thread. Approach: whoever receives the call makes it, for the same thread, and writes the
//! answer into the caller's memory.
//!
//! Edge cases: whoever may not look into the caller's memory (an ordinary user where ptrace is restricted, Yama) lets it make the call itself.
//! So does a question of a process in a PID namespace of its own for a thread by number, and a choice for a thread of somebody else's, which
//! the kernel is to refuse or to allow.
//!
//! Source: sched_setaffinity(2), seccomp_unotify(2) ("Caveats regarding the use of SECCOMP_IOCTL_NOTIF_ID_VALID").

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::{Listener, Trap};

/// No kernel has masks as long as this.
const MOST_BYTES: u64 = 64 * 1024;
/// A mask has whole words.
const WORD_BYTES: u64 = 8;
/// Its bit in a set of capabilities (capabilities(7)).
const CAP_SYS_NICE: u32 = 23;

/// Makes the call and answers it; false if its caller has to make it.
pub fn make_for(listener: &Listener, trap: &Trap) -> bool {
    make(listener, trap).is_some()
}

fn make(listener: &Listener, trap: &Trap) -> Option<()> {
    let caller = i32::try_from(trap.tid).ok()?;
    let [target, length, address, ..] = trap.args;
    let target = thread(caller, int(target).cast_signed())?;
    let length = u64::from(int(length));
    let length = length.min(MOST_BYTES | (length % WORD_BYTES));
    let asks = trap.nr == libc::SYS_sched_getaffinity;
    let memory = File::options().read(true).write(asks).open(format!("/proc/{caller}/mem")).ok()?;
    // From here on the memory is that of whoever made the call, or nobody's.
    listener.is_waiting(trap.id).then_some(())?;
    let mut mask = vec![0_u8; usize::try_from(length).ok()?];
    if asks {
        let written = affinity_call(trap.nr, target, &mut mask).and_then(|count| {
            let bytes = usize::try_from(count).map_or(&[][..], |count| &mask[..count.min(mask.len())]);
            memory.write_all_at(bytes, address).map(|()| count).map_err(|_| libc::EFAULT)
        });
        answer(listener, trap.id, written);
    } else {
        may_choose_for(caller, target).then_some(())?;
        let read = memory.read_at(&mut mask, address).map_err(|_| libc::EFAULT);
        let done = read.and_then(|count| affinity_call(trap.nr, target, &mut mask[..count]));
        answer(listener, trap.id, done);
    }
    Some(())
}

/// What the kernel takes of an argument that is an int.
fn int(argument: u64) -> u32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or(0)
}

/// The thread that a caller means; `None` if its numbers are not ours.
fn thread(caller: i32, target: i32) -> Option<i32> {
    if target == 0 {
        return Some(caller);
    }
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/pid")).ok();
    let own = namespace("self")?;
    (namespace(&caller.to_string())? == own).then_some(target)
}

/// Makes a call, whose result, or number of an error, is told as the kernel tells it.
fn affinity_call(nr: i64, target: i32, mask: &mut [u8]) -> Result<i64, i32> {
    // SAFETY: the kernel reads or fills at most the given number of bytes.
    let result = unsafe { libc::syscall(nr, target, mask.len(), mask.as_mut_ptr()) };
    let failed = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    if result < 0 { Err(failed()) } else { Ok(result) }
}

fn answer(listener: &Listener, id: u64, result: Result<i64, i32>) {
    match result {
        Ok(value) => listener.answer(id, value),
        Err(errno) => listener.refuse(id, errno),
    };
}

/// Whether the kernel lets the caller choose for this thread. Where that is not sure it is asked.
fn may_choose_for(caller: i32, target: i32) -> bool {
    let (Some(caller), Some(target)) = (Owner::of(caller), Owner::of(target)) else { return false };
    caller.process == target.process
        || caller.capabilities >> CAP_SYS_NICE & 1 == 1
        || [target.real, target.effective].contains(&caller.effective)
}

/// Whose a thread is.
struct Owner {
    process: u64,
    real: u64,
    effective: u64,
    capabilities: u64,
}

impl Owner {
    fn of(tid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let words = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let number = |name: &str, at: usize| words(name)?.get(at)?.parse::<u64>().ok();
        Some(Self {
            process: number("Tgid:", 0)?,
            real: number("Uid:", 0)?,
            effective: number("Uid:", 1)?,
            capabilities: u64::from_str_radix(words("CapEff:")?.first()?, 16).ok()?,
        })
    }
}
