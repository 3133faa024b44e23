//! Work in the foreground that keeps a disk busy, and a look at the job's calls that wait for it.

use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BLOCK: usize = 4096;
const BLOCKS: u64 = 1024;
/// Between two requests: short enough that a job is hardly ever let in between.
const THINK: Duration = Duration::from_micros(300);
/// Requests of a burst, and the time from one to the next burst.
const BURST: u32 = 16;
const BETWEEN_BURSTS: Duration = Duration::from_millis(15);

/// When the reads come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rhythm {
    Steady,
    Bursts,
}

/// Direct reads of single blocks all over a file or device, until dropped.
pub(crate) struct Foreground {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Foreground {
    /// On a file of its own. `None`, and aloud, where the directory's file system cannot do direct I/O.
    pub(crate) fn start(dir: &Path, rhythm: Rhythm) -> Option<Self> {
        let path = dir.join("foreground");
        std::fs::write(&path, vec![7; BLOCK * usize::try_from(BLOCKS).unwrap()]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        Self::on(&path, rhythm)
    }

    /// On a file or device of at least 4 MiB.
    pub(crate) fn on(path: &Path, rhythm: Rhythm) -> Option<Self> {
        let file = match std::fs::File::options().read(true).custom_flags(libc::O_DIRECT).open(path) {
            Ok(file) => file,
            Err(error) => {
                eprintln!("SKIPPED: no direct I/O on {}: {error}", path.display());
                return None;
            }
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut space = vec![0_u8; 2 * BLOCK];
            let skip = space.as_ptr().align_offset(BLOCK);
            let mut state = 1;
            let mut requests = 0;
            while !stopped.load(Ordering::Relaxed) {
                let block = super::next_random(&mut state) % BLOCKS;
                file.read_exact_at(&mut space[skip..skip + BLOCK], block * BLOCK as u64).unwrap();
                requests += 1;
                let pauses = rhythm == Rhythm::Bursts && requests % BURST == 0;
                std::thread::sleep(if pauses { BETWEEN_BURSTS } else { THINK });
            }
        });
        Some(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until a call of `pid` is being held: seen waiting at the gate again and again.
pub(crate) fn wait_until_held(pid: u32) {
    let mut in_a_row = 0;
    super::wait_until("a call to be held", || {
        let place = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        in_a_row = if place.contains("seccomp") { in_a_row + 1 } else { 0 };
        in_a_row > 20
    });
}
