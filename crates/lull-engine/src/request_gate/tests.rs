//! The gate's threads and a real filter: calls of a thread of this process, which needs no rights.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::mpsc::sync_channel;

use lull_core::{Loss, Nanos};
use lull_linux::seccomp::filter::{Wants, program};
use lull_linux::seccomp::{Scope, listener};

use super::*;
use crate::disk::calls::{Disks, Terms};
use crate::job_processes::JobProcesses;
use crate::resource::{News, Resource};

/// After this long a test takes something for lost: a CPU may be gone for seconds on a busy machine.
const HANG: Duration = Duration::from_secs(60);
const BYTES: usize = 128 << 10;

/// A resource that lets questions for CPUs wait until it is told to pass them.
struct Asked {
    listener: Arc<Listener>,
    shared: Arc<Shared>,
    waits: Vec<u64>,
    waiting: Arc<AtomicBool>,
    passes: Arc<AtomicBool>,
}

impl Resource for Asked {
    fn turn(&mut self, _now: Nanos, _was_held: bool) -> Option<Nanos> {
        if self.passes.load(Ordering::SeqCst) {
            for id in self.waits.drain(..) {
                self.listener.pass(id);
                self.shared.unlist(id);
            }
        }
        None
    }

    fn on_call(&mut self, trap: &Trap) -> Option<Verdict> {
        trap.concerns_cpus().then(|| {
            self.waits.push(trap.id);
            self.waiting.store(true, Ordering::SeqCst);
            Verdict::Wait
        })
    }
}

/// The gate beside one thread whose calls are trapped.
struct Bench {
    engine: Arc<Mutex<Engine>>,
    waiting: Arc<AtomicBool>,
    passes: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
}

impl Bench {
    /// The thread does `job` once somebody receives its calls. `None`: no filter with a listener is to be had here.
    fn beside<T: Send + 'static>(
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<(Self, std::thread::JoinHandle<T>)> {
        let (tell, told) = sync_channel(0);
        let (go, went) = sync_channel(0);
        let thread = std::thread::spawn(move || {
            let wants = Wants { scope: Scope::Large, affinity: true, ..Wants::default() };
            tell.send(listener::install(&program(wants))).unwrap();
            went.recv().unwrap();
            job()
        });
        let listener = match told.recv().unwrap() {
            Ok(fd) => Arc::new(Listener::new(fd)),
            Err(error) => {
                eprintln!("SKIPPED: no seccomp listener: {error}");
                return None;
            }
        };
        let shared = Arc::new(Shared::new().unwrap());
        let job_processes = JobProcesses::of_supervisor(None);
        let terms = Terms {
            job_processes: job_processes.clone(),
            shared: Arc::clone(&shared),
            pages: Default::default(),
            read_ahead: Default::default(),
            sleeps: Arc::default(),
            spares_the_oldest: true,
        };
        let mut engine =
            Engine::new(Disks::new(terms), Loss::percent(5), false, job_processes, Arc::default());
        let (waiting, passes) = (Arc::default(), Arc::default());
        engine.register(Asked {
            listener: Arc::clone(&listener),
            shared: Arc::clone(&shared),
            waits: Vec::new(),
            waiting: Arc::clone(&waiting),
            passes: Arc::clone(&passes),
        });
        let engine = Arc::new(Mutex::new(engine));
        let (nudge, gone) = (Arc::new(Nudge::new().unwrap()), Arc::default());
        assert!(serve(&engine, &listener, &shared, &nudge, &gone));
        go.send(()).unwrap();
        Some((Self { engine, waiting, passes, gone }, thread))
    }

    fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < HANG, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn calls_that_nothing_keeps_have_their_own_results() {
    let job = || {
        let mut file = tempfile::tempfile().unwrap();
        let bytes = vec![7_u8; BYTES];
        let written = file.write(&bytes).unwrap();
        file.sync_all().unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let mut back = vec![0_u8; BYTES];
        let read = file.read(&mut back).unwrap();
        // SAFETY: the buffer lives; the descriptor is none.
        let failed = unsafe { libc::read(-1, back.as_mut_ptr().cast(), BYTES) };
        (written, read, back == bytes, failed, std::io::Error::last_os_error().raw_os_error())
    };
    let Some((bench, thread)) = Bench::beside(job) else { return };
    assert_eq!(thread.join().unwrap(), (BYTES, BYTES, true, -1, Some(libc::EBADF)));
    Bench::wait_until("the end of the last thread under the filter", || bench.gone.load(Ordering::SeqCst));
}

#[test]
fn what_is_hidden_fails_once_it_was_told() {
    let job = || {
        let mut parameters = [0_u8; 120];
        // SAFETY: room for the answer, which does not come.
        let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
        (made, std::io::Error::last_os_error().raw_os_error())
    };
    let Some((bench, thread)) = Bench::beside(job) else { return };
    let mut news = Vec::new();
    Bench::wait_until("the word", || {
        news.extend(lock(&bench.engine).news());
        !news.is_empty()
    });
    assert!(matches!(&news[..], [News::Told(word)] if word.contains("--io-uring")), "{news:?}");
    assert_eq!(thread.join().unwrap(), (-1, Some(libc::ENOSYS)));
}

#[test]
fn a_call_waits_until_its_resource_passes_it() {
    let job = || nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).is_ok();
    let Some((bench, thread)) = Bench::beside(job) else { return };
    Bench::wait_until("a call that waits", || bench.waiting.load(Ordering::SeqCst));
    lock(&bench.engine).turn(clock::now());
    assert!(!thread.is_finished());
    bench.passes.store(true, Ordering::SeqCst);
    // Starting and ending a thread may ask, too.
    Bench::wait_until("its answer", || {
        lock(&bench.engine).turn(clock::now());
        thread.is_finished()
    });
    assert!(thread.join().unwrap());
}

#[test]
fn a_call_of_a_file_is_answered_through_the_descriptor_that_it_names() {
    // Two files with the same content: what is read is what the descriptor has.
    let job = || {
        let mut read = Vec::new();
        for byte in [1_u8, 2] {
            let file = tempfile::tempfile().unwrap();
            (&file).write_all(&vec![byte; BYTES]).unwrap();
            let mut back = vec![0_u8; BYTES];
            // SAFETY: an open file and room for what is read.
            let length = unsafe { libc::pread(file.as_raw_fd(), back.as_mut_ptr().cast(), BYTES, 0) };
            read.push((length, back[0], back[BYTES - 1]));
        }
        read
    };
    let Some((_bench, thread)) = Bench::beside(job) else { return };
    let length = isize::try_from(BYTES).unwrap();
    assert_eq!(thread.join().unwrap(), [(length, 1, 1), (length, 2, 2)]);
}
