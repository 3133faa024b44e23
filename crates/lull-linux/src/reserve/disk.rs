//! Disks: YFQ in lull's own request gate (R-11).
//!
//! Problem: the kernel's schedulers know classes and weights of their own, where they are selected at all, and none keeps a share of a disk
//! whatever its scheduler. Approach: what runs in a disk's reservation was started with a filter (`lull reserve exec --disk`), as a job of
//! `lull run` is. Its trapped calls are requests; [`lull_core::proportional::yfq`] says which is next, and only so many are at the disk at once.
//!
//! ```text
//!   command ─trap─▶ receiver (one per command) ─▶ whose queue? which disk? ─▶ YFQ ─▶ worker (b per disk): does the work ─▶ call goes on
//!                                                └─ cached, no disk, no queue ─▶ goes on at once
//! ```
//!
//! A seccomp listener learns of a call, but not of its end. So workers do the part that takes the disk themselves, through a
//! duplicate of the caller's descriptor: they read a range into the page cache, or write dirty pages out. Then the call goes on and finds the
//! work done. So a request is complete when it is complete, and the batch is exact (`request`).
//!
//! | part | idea |
//! |---|---|
//! | `request` | what a call asks of a disk, and doing it |
//! | `gate` | one disk: its queues and workers |
//! | `bfq` | weights of BFQ for the rest, where that is selected |
//! | `tags` | the queue of one descriptor, where that is not its process's |
//! | `owners` | in whose queue a thread's requests are |
//! | [`attach`] | how a command's listener comes here, and who answers if we die |
//!
//! *What is not seen* by the gate: calls below the filter's scope do not exist here (all reads and writes are trapped), but page faults of mapped files,
//! reading of directories, and the last megabyte of dirty pages per file, which the kernel writes when it likes.
//!
//! *Fails open*: beside each command waits a small process that has the listener, too. If the mount dies, it lets every call pass.
//!
//! Units: a disk's amounts are parts of it (a millionth); service is in bytes.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lull_core::reserve::{Backlog, Bound, Id, Tree, Unit, Whole};

use super::{Choice, Enforcer, ServiceUnit, Usage};
use crate::gate::target::{Target, target_of};
use crate::job::shared::Shared;
use crate::probe::Facts;
use crate::seccomp::listener::Received;
use crate::seccomp::{Listener, Trap};
use crate::topology::mounts::MountTable;
use crate::topology::{DevT, DiskKind, Topology};

pub mod attach;
mod bfq;
mod gate;
mod owners;
mod request;
mod tags;

use bfq::Bfq;
use gate::Gate;
use request::{Ask, Job, Subject};
use tags::Tags;

/// Requests at a disk at once, as in the paper's experiment.
const BATCH: NonZero<u32> = NonZero::<u32>::MIN.saturating_add(3);
/// All of a disk, in millionths.
const WHOLE: Whole = Whole { amount: 1_000_000, unit: Unit::Part };

/// What was started under one filter.
#[derive(Debug)]
pub(super) struct Client {
    listener: Listener,
    shared: Shared,
    /// The process that it began with.
    root: i32,
    /// Whether nobody else who can write to `shared` could gain by it.
    is_trusted: bool,
    /// Where the last read of each file ended.
    ends: Mutex<BTreeMap<u64, u64>>,
    /// The last call of each thread, and word of a new one.
    last: Mutex<BTreeMap<u32, u64>>,
    moved: Condvar,
}

/// More files, or threads, than this are not followed.
const MOST: usize = 4_096;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts `value` under `key`. Returns what was there.
fn put<K: Ord, V>(map: &Mutex<BTreeMap<K, V>>, key: K, value: V) -> Option<V> {
    let mut map = lock(map);
    if map.len() >= MOST {
        map.clear();
    }
    map.insert(key, value)
}

impl Client {
    /// Whether a read begins where the last one of the file ended.
    fn goes_on(&self, inode: u64, offset: u64, end: u64) -> bool {
        put(&self.ends, inode, end) == Some(offset)
    }

    /// Waits up to `limit` for the next call of a thread; whether it has come.
    fn wait_for_next(&self, tid: u32, id: u64, limit: Duration) -> bool {
        let is_last = |last: &mut BTreeMap<u32, u64>| last.get(&tid) == Some(&id);
        let waited = self.moved.wait_timeout_while(lock(&self.last), limit, is_last);
        waited.map_or(true, |(_, outcome)| !outcome.timed_out())
    }

    fn pass(&self, id: u64) {
        self.listener.pass(id);
        self.shared.unlist(id);
    }
}

/// From a trapped call to the disk's queue.
pub(super) struct Router {
    gates: Vec<Arc<Gate>>,
    /// Which of them serves a file system or device, once looked up.
    by_dev: Mutex<BTreeMap<u64, Option<usize>>>,
    /// Queues of single descriptors.
    tags: Tags,
    /// Where BFQ is selected for any disk.
    bfq: Option<Mutex<Bfq>>,
    /// Whether commands can come, once one was asked for.
    listens: OnceLock<bool>,
}

impl Router {
    fn gate_of(&self, dev: u64) -> Option<(usize, &Arc<Gate>)> {
        let mut known = lock(&self.by_dev);
        let found = known.entry(dev).or_insert_with(|| {
            let chain = Topology::host().serving_disks(DevT::from_stat(dev)).ok()?;
            // The first that a request meets.
            chain.iter().find_map(|disk| self.gates.iter().position(|gate| gate.name() == disk.name))
        });
        let index = (*found)?;
        Some((index, self.gates.get(index)?))
    }

    /// Takes a command's calls until it is gone.
    fn attach(
        self: &Arc<Self>,
        listener: OwnedFd,
        shared: Shared,
        root: i32,
        is_trusted: bool,
    ) -> io::Result<()> {
        let listener = Listener::new(listener);
        listener.wake_synchronously();
        let client = Arc::new(Client {
            listener,
            shared,
            root,
            is_trusted,
            ends: Mutex::default(),
            last: Mutex::default(),
            moved: Condvar::new(),
        });
        let router = Arc::clone(self);
        // A thread for each command: a call that was received by nobody could be ended by a signal.
        std::thread::Builder::new()
            .name("disk-receiver".to_owned())
            .spawn(move || router.receive(&client))?;
        Ok(())
    }

    fn receive(&self, client: &Arc<Client>) {
        let mut own = MaybeUninit::<libc::seccomp_notif>::uninit();
        // What the keeper of another user could change is not read back; then a call is not known to the keeper until it is listed.
        let space = if client.is_trusted { client.shared.space() } else { own.as_mut_ptr() };
        while client.listener.wait() {
            // SAFETY: this thread alone receives for this command.
            match unsafe { client.listener.receive(space) } {
                Ok(Received::Call(trap)) => self.take(client, &trap),
                Ok(Received::Nothing) => {}
                Ok(Received::JobGone) | Err(_) => break,
            }
        }
    }

    fn take(&self, client: &Arc<Client>, trap: &Trap) {
        if trap.nr == libc::SYS_io_uring_setup {
            client.listener.refuse(trap.id, libc::ENOSYS);
            return;
        }
        put(&client.last, trap.tid, trap.id);
        client.moved.notify_all();
        let waits =
            trap.uses_a_disk() && client.shared.list(trap.id) && self.queue_up(client, trap).is_some();
        if !waits {
            client.pass(trap.id);
        }
    }

    /// `None` for a call that need not wait.
    fn queue_up(&self, client: &Arc<Client>, trap: &Trap) -> Option<()> {
        let Subject { fd, dev, inode, size_bytes } = request::subject(trap)?;
        let (index, gate) = self.gate_of(dev)?;
        let tagged = self.tags.queue_of_thread(trap.tid, fd).filter(|(of, _)| *of == index);
        let queue =
            tagged.and_then(|(_, id)| gate.queue(id)).or_else(|| gate.queue_of(trap.tid, client.root))?;
        let ask = Ask::of(trap, size_bytes, |offset, end| client.goes_on(inode, offset, end))?;
        gate.arrive(queue, Job { client: Arc::clone(client), id: trap.id, tid: trap.tid, nr: trap.nr, ask })
    }
}

/// One disk.
pub(super) struct Disk {
    gate: Arc<Gate>,
    /// Its place among the router's.
    index: usize,
    router: Arc<Router>,
}

/// One for each disk that has a size and hardware, a file or another machine behind it. `group` is the name of groups, if any are made.
pub(super) fn find(facts: &Facts, group: &str) -> Vec<Choice> {
    let can = match (facts.seccomp.usable(), nix::unistd::geteuid().is_root()) {
        (false, _) => Err("it takes seccomp user notification (Linux 5.5)".to_owned()),
        (true, false) => Err("it takes root".to_owned()),
        (true, true) => Ok(()),
    };
    let kinds = [DiskKind::Disk, DiskKind::Loop, DiskKind::DeviceMapper, DiskKind::Raid, DiskKind::Network];
    let disks = facts.disks.iter().filter(|disk| kinds.contains(&disk.kind) && disk.size_bytes > 0);
    let names: Vec<String> = disks.map(|disk| disk.name.clone()).collect();
    let gates: Vec<_> = names.iter().map(|name| Gate::new(name, BATCH)).collect();
    let bfq = can.is_ok().then(|| Bfq::start(facts, group, &names)).flatten().map(Mutex::new);
    let (by_dev, tags, listens) = (Mutex::default(), Tags::default(), OnceLock::new());
    let router = Arc::new(Router { gates, by_dev, tags, bfq, listens });
    let choice = |(index, (name, gate)): (usize, (String, &Arc<Gate>))| {
        let disk = Disk { gate: Arc::clone(gate), index, router: Arc::clone(&router) };
        Choice { name, enforcer: can.clone().map(|()| super::boxed(disk)) }
    };
    names.into_iter().zip(&router.gates).enumerate().map(choice).collect()
}

/// The file system or device of a descriptor, unless it is on FUSE: who serves the mount must not ask itself.
fn device_of(pid: i32, fd: i32) -> Option<u64> {
    let (mount, _) = tags::file_at(pid, fd)?;
    let table = MountTable::parse(&std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok()?);
    // What is on no mount of its process, like a pipe, is on no disk.
    table.iter().find(|found| found.id == mount && !found.fs.starts_with("fuse"))?;
    match target_of(pid, fd) {
        Target::Disk { dev, .. } => Some(dev),
        Target::EveryDisk | Target::Elsewhere => None,
    }
}

/// Whether a process runs under a filter.
fn is_filtered(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    crate::proc::field(&status, "Seccomp") == Some("2")
}

impl Disk {
    /// BFQ's weights, if it is selected for this disk.
    fn bfq(&self) -> Option<MutexGuard<'_, Bfq>> {
        self.router.bfq.as_ref().map(lock).filter(|bfq| bfq.serves(self.index))
    }
}

impl Enforcer for Disk {
    fn name(&self) -> &str {
        self.gate.name()
    }

    fn whole(&self) -> Whole {
        WHOLE
    }

    fn means(&self) -> String {
        let rest =
            if self.bfq().is_some() { "; blkio.bfq.weight_device for the rest of its requests" } else { "" };
        format!(
            "YFQ among queues, {BATCH} requests at once, for what `lull reserve exec --disk` starts{rest}"
        )
    }

    fn service_unit(&self) -> ServiceUnit {
        ServiceUnit::BytesMoved
    }

    fn make(&mut self, tree: &Tree, _id: Id) -> io::Result<()> {
        self.gate.set_tree(tree);
        Ok(())
    }

    fn remove(&mut self, _tree: &Tree, id: Id) -> io::Result<()> {
        self.gate.remove(id);
        Ok(())
    }

    fn apply(&mut self, tree: &Tree, _parent: Id) -> io::Result<()> {
        self.gate.set_tree(tree);
        self.bfq().map_or(Ok(()), |mut bfq| bfq.set_tree(self.index, tree))
    }

    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()> {
        if (backlog.requests, backlog.service) != (Bound::None, Bound::None) {
            let why =
                "a program's read or write cannot be refused, it waits: write 'max max' to clear the counts";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        self.gate.clear_counts(path);
        Ok(())
    }

    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        let listens = *self.router.listens.get_or_init(|| attach::listen(&self.router).is_ok());
        if !listens {
            return Err(io::Error::other("commands cannot be accepted: no socket, or no thread"));
        }
        self.gate.enter(path, pid)?;
        match (self.bfq(), self.gate.id(path)) {
            (Some(mut bfq), Some(id)) => bfq.enter(self.index, id, pid),
            _ => Ok(()),
        }
    }

    fn tag(&mut self, path: Option<&str>, pid: i32, fd: i32) -> io::Result<()> {
        let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let Some(path) = path else { return self.router.tags.set(pid, fd, None) };
        let on = device_of(pid, fd).and_then(|dev| self.router.gate_of(dev));
        let on = on.map(|(index, gate)| (index, gate.name()));
        let name = self.gate.name();
        match on {
            Some((index, _)) if index == self.index => {}
            Some((_, other)) => {
                return refuse(format!(
                    "descriptor {fd} of process {pid} is a file on {other}, not on {name}"
                ));
            }
            None => return refuse(format!("descriptor {fd} of process {pid} is no file on {name}")),
        }
        if !is_filtered(pid) {
            return refuse(format!(
                "process {pid} was not started by `lull reserve exec --disk`: its reads and writes are not seen"
            ));
        }
        let id = self.gate.prepare(path)?;
        self.router.tags.set(pid, fd, Some((self.index, id)))
    }

    fn queue_of_descriptor(&self, pid: i32, fd: i32) -> Option<String> {
        let (index, _) =
            self.router.gate_of(device_of(pid, fd)?).filter(|(index, _)| *index == self.index)?;
        let tagged = self.router.tags.queue_of(pid, fd).filter(|(of, _)| *of == index);
        tagged.and_then(|(_, id)| self.gate.path(id)).or_else(|| self.gate.path_of(pid))
    }

    fn queue_of(&self, pid: i32) -> Option<String> {
        self.gate.path_of(pid)
    }

    fn is_used(&self, path: &str) -> bool {
        let is_tagged = |id| self.router.tags.uses((self.index, id));
        self.gate.usage(path).processes > 0 || self.gate.id(path).is_some_and(is_tagged)
    }

    fn usage(&self, path: &str) -> Usage {
        self.gate.usage(path)
    }

    fn restore(&mut self) -> io::Result<()> {
        self.gate.open();
        self.router.tags.clear(self.index);
        if let Some(mut bfq) = self.bfq() {
            return bfq.restore();
        }
        Ok(())
    }
}
