//! Network output: classes of HTB; network input: dropped early.
//!
//! Problem: what leaves an interface is shared by packets, not by who sends. Approach: HTB of the interface's rate is put on, with a class
//! per reservation. A class is sure of its rate and borrows what is left up to all of it.
//!
//! ```text
//!   1 interface ─┬─ 2 the rest of the machine: what is not reserved
//!                └─ 3 the tree ─┬─ r0: rate its minimum, quantum its weight
//!                               └─ r1 ─── q0
//! ```
//! The rates below a reservation are what each child would have of its minimum if all were busy. A hundredth of the interface stays for the
//! rest, whatever is reserved: address resolution must go on.
//!
//! Who sends what is told by a [`Classifier`]: a packet's priority is the handle of its class.
//!
//! *Input* (R-13). What comes waits at sockets, and the classifier knows the class of each. It drops what comes to a full one before
//! protocols are handled, so that the work that is done for a receiver is what that reads, in its share of the CPU ([`lull_core::proportional::srp`]).
//! What comes is handled in threads (`knobs`), not before everybody else.
//!
//! *No trace.* A queueing discipline that somebody chose is left alone: that is an error. The kernel's own comes back when HTB is
//! deleted. If the mount is killed, packets go to the class of the rest, which may use the whole rate, until `sweep` deletes HTB: a
//! lock on a file says whether its owner lives (`lock`).
//!
//! Units: bytes per second. Source: tc-htb(8).

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lull_core::Nanos;
use lull_core::proportional::srp::Amount;
use lull_core::reserve::{Backlog, Bound, Id, Kind, ROOT, Tree, Unit, Whole};
use nix::net::if_::if_nametoindex;

use super::{Choice, Enforcer, Input, ServiceUnit, Usage};
use crate::clock;
use crate::gate::cached::borrow_descriptor;
use crate::gate::qdisc::{LOCKS, root_of, run_tool, tool};

mod knobs;
mod lock;
mod pieces;

use knobs::Knobs;
use lock::Lock;
pub(super) use lock::sweep;
use pieces::{LEAST_TURN_BYTES, MOST_TURN_BYTES};

/// Of this arrangement, as tc shows it; `lull run --qdisc` has another.
const HANDLE: &str = "1078:";
const MAJOR: u32 = 0x1078_0000;
/// Classes that are there from the beginning.
const INTERFACE: u16 = 1;
const REST: u16 = 2;
const TREE: u16 = 3;
/// The first that a reservation gets.
const FIRST: u16 = 16;
/// What a leaf holds, in packets, unless it is bounded.
const LIMIT: &str = "pfifo limit 1000";
/// The slowest that HTB keeps well.
const LEAST_RATE: u64 = 1_000;
/// What may leave at once: time at the rate, and some packets.
const BURSTS_PER_SECOND: u64 = 1_000;
const LEAST_BURST_BYTES: u64 = 16 << 10;
/// How long it is remembered what tc told: all queues are asked for in a row.
const REMEMBERED: Nanos = Nanos::from_millis(50);

/// Whose packets are in which class.
pub trait Classifier: Send {
    /// Puts a process, and what it starts from now on, into a class.
    ///
    /// # Errors
    /// The kernel's.
    fn put(&mut self, pid: u32, class: u32) -> io::Result<()>;
    /// Bounds what may wait at each socket of a class, and counts anew what comes for it.
    ///
    /// # Errors
    /// The kernel's.
    fn bound_input(&mut self, class: u32, most: Amount) -> io::Result<()>;
    /// What came for a class.
    fn input(&self, class: u32) -> Input;
    /// A class is gone.
    fn forget(&mut self, class: u32);
    /// Puts one socket into a class; all descriptors of it.
    ///
    /// # Errors
    /// The kernel's.
    fn put_socket(&mut self, socket: BorrowedFd<'_>, class: u32) -> io::Result<()>;
    /// The class of a socket.
    fn of_socket(&self, socket: BorrowedFd<'_>) -> Option<u32>;
    /// All processes that are in one.
    fn processes(&self) -> Vec<(u32, u32)>;
}

/// Makes the classifier of an interface from its index, or says why there is none.
pub type Classify = Box<dyn FnOnce(u32) -> Result<Box<dyn Classifier>, String>>;

/// An interface to be shared.
pub struct Plan {
    /// As `ip link` shows it.
    pub interface: String,
    /// What may leave it, bytes per second.
    pub rate: u64,
    /// Makes the classifier for the interface with this index.
    pub classify: Classify,
}

struct Net {
    interface: String,
    whole: Whole,
    classifier: Box<dyn Classifier>,
    /// While it is arranged.
    lock: Option<Lock>,
    classes: HashMap<Id, u16>,
    next: u16,
    /// What was written last of each class: rate and quantum.
    written: HashMap<u16, (u64, u64)>,
    paths: HashMap<String, u16>,
    cleared: HashMap<u16, Counts>,
    /// What tc told last.
    seen: RefCell<Option<(Nanos, String)>>,
}

/// Of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    bytes: u64,
    packets: u64,
    drops: u64,
    backlog: u64,
}

/// Runs `tc` or `ip`; what it printed.
fn run(words: &str) -> io::Result<String> {
    run_tool(tool(words)).map_err(|problem| io::Error::other(format!("{words}: {problem}")))
}

/// Deletes the arrangement, if it is this one.
fn delete(interface: &str) {
    if root_of(interface).is_ok_and(|(_, handle)| handle == HANDLE) {
        // The interface may be gone by now.
        let _ = run(&format!("tc qdisc del dev {interface} root"));
    }
}

/// Arranges the interfaces that were named.
pub(super) fn find(plans: Vec<Plan>) -> Vec<Choice> {
    let choice =
        |plan: Plan| Choice { name: plan.interface.clone(), enforcer: Net::start(plan).map(super::boxed) };
    plans.into_iter().map(choice).collect()
}

impl Net {
    fn start(plan: Plan) -> Result<Self, String> {
        let interface = plan.interface;
        let index = if_nametoindex(interface.as_str())
            .map_err(|_| format!("no interface '{interface}' here; `ip link` lists them"))?;
        let lock = Lock::of(index).map_err(|error| format!("cannot lock {LOCKS}: {error}"))?;
        let lock = lock.ok_or("another mount has reserved it")?;
        // Of one that was killed.
        lock::put_back(&interface, &lock);
        let start = || {
            let (kind, handle) = root_of(&interface).map_err(|error| error.to_string())?;
            if handle != "0:" {
                return Err(format!(
                    "its queue is arranged already ({kind} {handle}), which lull leaves alone; delete that with \
                     `tc qdisc del dev {interface} root`"
                ));
            }
            let classifier = (plan.classify)(index)?;
            Ok(Self {
                interface: interface.clone(),
                whole: Whole { amount: plan.rate, unit: Unit::Rate },
                classifier,
                lock: None,
                classes: HashMap::new(),
                next: FIRST,
                written: HashMap::new(),
                paths: HashMap::new(),
                cleared: HashMap::new(),
                seen: RefCell::new(None),
            })
        };
        let mut net = start().inspect_err(|_| lock.unname())?;
        net.lock = Some(lock);
        net.arrange().map_err(|error| {
            let _ = net.restore();
            error.to_string()
        })?;
        Ok(net)
    }

    fn arrange(&mut self) -> io::Result<()> {
        let whole = self.whole.amount;
        if let Some(lock) = &self.lock {
            let had = Knobs::of(&self.interface, whole)?;
            lock.remember(had)?;
            had.turn(&self.interface, whole)?;
        }
        run(&format!("tc qdisc add dev {} root handle {HANDLE} htb default {REST:x}", self.interface))?;
        self.write(None, INTERFACE, whole, MOST_TURN_BYTES)?;
        self.write(Some(INTERFACE), REST, whole, MOST_TURN_BYTES)?;
        self.write(Some(INTERFACE), TREE, LEAST_RATE, MOST_TURN_BYTES)?;
        self.leaf(REST, LIMIT)
    }

    fn write(&mut self, parent: Option<u16>, class: u16, rate: u64, quantum: u64) -> io::Result<()> {
        let rate = rate.max(LEAST_RATE);
        if self.written.get(&class) == Some(&(rate, quantum)) {
            return Ok(());
        }
        let parent = parent.map_or_else(String::new, |minor| format!("{minor:x}"));
        let whole = self.whole.amount;
        let burst = |rate: u64| (rate / BURSTS_PER_SECOND).max(LEAST_BURST_BYTES);
        run(&format!(
            "tc class replace dev {} parent {HANDLE}{parent} classid {HANDLE}{class:x} htb rate {rate}bps ceil {whole}bps \
             quantum {quantum} burst {} cburst {}",
            self.interface,
            burst(rate),
            burst(whole)
        ))?;
        self.written.insert(class, (rate, quantum));
        Ok(())
    }

    fn leaf(&self, class: u16, words: &str) -> io::Result<()> {
        run(&format!("tc qdisc replace dev {} parent {HANDLE}{class:x} {words}", self.interface)).map(drop)
    }

    fn class(&self, id: Id) -> Option<u16> {
        if id == ROOT { Some(TREE) } else { self.classes.get(&id).copied() }
    }

    fn unused(&mut self) -> Option<u16> {
        let mut after = (FIRST..u16::MAX).cycle().skip(usize::from(self.next - FIRST));
        let tried = usize::from(u16::MAX - FIRST);
        let free =
            after.by_ref().take(tried).find(|class| !self.classes.values().any(|used| used == class))?;
        self.next = if free + 1 == u16::MAX { FIRST } else { free + 1 };
        Some(free)
    }

    /// Writes the terms of everything below `parent`, which is sure of `rate`.
    fn weigh(&mut self, tree: &Tree, parent: Id, rate: u64) -> io::Result<()> {
        let Some(above) = self.class(parent) else { return Ok(()) };
        let standing = tree.standing(parent);
        let sum = standing.iter().map(|(_, amount)| u128::from(*amount)).sum::<u128>().max(1);
        let weight = |id: Id| tree.get(id).map_or(0, |found| u64::from(found.terms.weight));
        let weights = || standing.iter().map(|(id, _)| weight(*id)).filter(|weight| *weight > 0);
        let (lightest, heaviest) = (weights().min().unwrap_or(1), weights().max().unwrap_or(1));
        for (id, amount) in &standing {
            let (id, amount) = (*id, *amount);
            let Some(class) = self.class(id) else { continue };
            let part = if parent == ROOT {
                sure(tree.get(id).map_or(0, |found| found.terms.minimum))
            } else {
                u64::try_from(u128::from(rate) * u128::from(amount) / sum).unwrap_or(rate)
            };
            let quantum = pieces::turn(weight(id), lightest, heaviest, self.whole.amount);
            self.write(Some(above), class, part, quantum)?;
            self.weigh(tree, id, part)?;
        }
        Ok(())
    }

    /// What HTB counted of a class; shortly after another look, what that showed.
    fn counted(&self, class: u16) -> Counts {
        let now = clock::now();
        let mut seen = self.seen.borrow_mut();
        if seen.as_ref().is_none_or(|(at, _)| now.0.saturating_sub(at.0) > REMEMBERED.0) {
            let shown = run(&format!("tc -s class show dev {}", self.interface));
            *seen = Some((now, shown.unwrap_or_default()));
        }
        let text = seen.as_ref().map_or("", |(_, text)| text);
        counts_in(text, &format!("{HANDLE}{class:x}")).unwrap_or_default()
    }

    fn processes(&self, class: u16) -> usize {
        self.classifier.processes().iter().filter(|(_, of)| *of == handle(class)).count()
    }
}

/// Of a class, as packets carry it.
fn handle(class: u16) -> u32 {
    MAJOR | u32::from(class)
}

/// What `tc -s class show` tells of one class.
fn counts_in(text: &str, handle: &str) -> Option<Counts> {
    let mut lines = text.lines().skip_while(|line| line.split_whitespace().nth(2) != Some(handle)).skip(1);
    // Sent 30135238 bytes 19907 pkt (dropped 0, overlimits 665 requeues 0)
    let sent: Vec<&str> = lines.next()?.split_whitespace().collect();
    let number = |at: usize| sent.get(at)?.trim_end_matches(',').parse().ok();
    // backlog 1478Kb 3p requeues 0
    let waiting = lines.next()?.split_whitespace().nth(1)?.strip_suffix('b')?;
    let scales = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let scale = scales.iter().find_map(|(name, scale)| Some((waiting.strip_suffix(*name)?, *scale)));
    let (amount, scale) = scale.unwrap_or((waiting, 1_u64));
    let backlog = amount.parse::<u64>().ok()?.checked_mul(scale)?;
    Some(Counts { bytes: number(1)?, packets: number(3)?, drops: number(6)?, backlog })
}

/// A duplicate of a process's descriptor, if it is a socket.
fn socket_of(pid: i32, fd: i32) -> Option<OwnedFd> {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    link.to_str()?.starts_with("socket:").then(|| borrow_descriptor(pid.cast_unsigned(), fd).ok())?
}

/// What a reservation is sure of: a hundredth is left to the rest of the machine.
fn sure(amount: u64) -> u64 {
    amount - amount / 100
}

impl Enforcer for Net {
    fn name(&self) -> &str {
        &self.interface
    }

    fn whole(&self) -> Whole {
        self.whole
    }

    fn means(&self) -> String {
        let rate = Unit::Rate.show(self.whole.amount);
        let how = if knobs::is_threaded(&self.interface) { "in threads" } else { "in interrupts" };
        format!(
            "HTB at {rate}; input dropped early, handled {how}; for sockets that are opened in a reservation"
        )
    }

    fn service_unit(&self) -> ServiceUnit {
        ServiceUnit::BytesSent
    }

    fn make(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let found = tree.get(id).ok_or(io::ErrorKind::NotFound)?;
        let above = found.parent.and_then(|parent| self.class(parent)).ok_or(io::ErrorKind::NotFound)?;
        let class = self.unused().ok_or_else(|| io::Error::other("HTB has no more classes"))?;
        self.write(Some(above), class, LEAST_RATE, LEAST_TURN_BYTES)?;
        if found.kind == Kind::Queue {
            self.leaf(class, LIMIT)?;
            self.classifier.bound_input(handle(class), Amount::ENDLESS)?;
            self.paths.insert(tree.path(id), class);
        }
        self.classes.insert(id, class);
        Ok(())
    }

    fn remove(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let class = self.class(id).ok_or(io::ErrorKind::NotFound)?;
        run(&format!("tc class del dev {} classid {HANDLE}{class:x}", self.interface))?;
        self.classifier.forget(handle(class));
        self.classes.remove(&id);
        self.paths.remove(&tree.path(id));
        self.written.remove(&class);
        self.cleared.remove(&class);
        Ok(())
    }

    fn apply(&mut self, tree: &Tree, _parent: Id) -> io::Result<()> {
        let promised = sure(self.whole.amount - tree.unpromised(ROOT));
        self.write(Some(INTERFACE), REST, self.whole.amount - promised, MOST_TURN_BYTES)?;
        self.write(Some(INTERFACE), TREE, promised, MOST_TURN_BYTES)?;
        self.weigh(tree, ROOT, promised)
    }

    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()> {
        let class = *self.paths.get(path).ok_or(io::ErrorKind::NotFound)?;
        let words = match (backlog.requests, backlog.service) {
            (Bound::None, Bound::None) => LIMIT.to_owned(),
            (Bound::Most(packets), Bound::None) => format!("pfifo limit {packets}"),
            (Bound::None, Bound::Most(bytes)) => format!("bfifo limit {bytes}"),
            (Bound::Most(_), Bound::Most(_)) => {
                let why = "packets or bytes that wait can be bounded, not both: write max for one";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        };
        self.leaf(class, &words)?;
        self.seen.take();
        self.cleared.insert(class, self.counted(class));
        Ok(())
    }

    fn bound_input(&mut self, path: &str, most: &Backlog) -> io::Result<()> {
        let class = *self.paths.get(path).ok_or(io::ErrorKind::NotFound)?;
        let most = Amount { packets: most.requests.most(), bytes: most.service.most() };
        self.classifier.bound_input(handle(class), most)
    }

    fn input(&self, path: &str) -> Option<Input> {
        self.paths.get(path).map(|class| self.classifier.input(handle(*class)))
    }

    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        let class = *self.paths.get(path).ok_or(io::ErrorKind::NotFound)?;
        self.classifier.put(pid.cast_unsigned(), handle(class))
    }

    fn tag(&mut self, path: Option<&str>, pid: i32, fd: i32) -> io::Result<()> {
        let class = match path {
            Some(path) => self.paths.get(path).copied(),
            // A socket does not know who has opened it, so it gets what its process has now.
            None => self.queue_of(pid).and_then(|path| self.paths.get(&path).copied()),
        };
        let class = class.ok_or(io::ErrorKind::NotFound)?;
        let socket = socket_of(pid, fd).ok_or_else(|| {
            let why = format!(
                "descriptor {fd} of process {pid} is no socket: only sockets send through {}",
                self.interface
            );
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        self.classifier.put_socket(socket.as_fd(), handle(class))
    }

    fn queue_of_descriptor(&self, pid: i32, fd: i32) -> Option<String> {
        let of = self.classifier.of_socket(socket_of(pid, fd)?.as_fd())?;
        self.paths.iter().find(|(_, class)| handle(**class) == of).map(|(path, _)| path.clone())
    }

    fn queue_of(&self, pid: i32) -> Option<String> {
        let of = self.classifier.processes().into_iter().find(|(one, _)| *one == pid.cast_unsigned())?.1;
        let found = self.paths.iter().find(|(_, class)| handle(**class) == of);
        found.map(|(path, _)| path.clone())
    }

    fn is_used(&self, path: &str) -> bool {
        self.paths.get(path).is_some_and(|class| self.processes(*class) > 0)
    }

    fn usage(&self, path: &str) -> Usage {
        let Some(class) = self.paths.get(path).copied() else { return Usage::default() };
        let (now, then) = (self.counted(class), self.cleared.get(&class).copied().unwrap_or_default());
        Usage {
            requests: now.packets.saturating_sub(then.packets),
            service: now.bytes.saturating_sub(then.bytes),
            refused: now.drops.saturating_sub(then.drops),
            asked: now.backlog,
            processes: self.processes(class) as u64,
        }
    }

    fn restore(&mut self) -> io::Result<()> {
        if let Some(lock) = self.lock.take() {
            lock::put_back(&self.interface, &lock);
            lock.unname();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
