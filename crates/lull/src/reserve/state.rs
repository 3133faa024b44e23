//! What an open, a read, a write of a file does.
//!
//! All under one lock: requests are rare and short. A change is made in the tree first, then in the kernel; where the kernel refuses, the tree
//! is put back, so that both say the same. Whoever is refused finds the reason in the file `log`.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::path::PathBuf;

use lull_core::Nanos;
use lull_core::reserve::{Id, Kind, ROOT, Rights, Terms, Tree};
use lull_linux::clock;
use lull_linux::reserve::Enforcer;

use super::domains::{Domains, user_of};
use super::fault::Fault;
use super::files::Node;
use super::status::{ResourceStatus, Status};

mod change;
mod enter;
mod switch;

pub(super) use switch::DEFAULT;

/// Lines that the log keeps.
const LOG_LINES: usize = 1_000;
/// Who was put into a domain and not weighed by anybody shares the rest equally.
const USUAL_WEIGHT: u32 = 1;
const SUPERUSER: u32 = 0;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) user: u32,
    pub(super) pid: u32,
}

/// What a descriptor is of.
#[derive(Clone, Debug)]
pub(super) enum Handle {
    /// A `share`, which it refers to.
    Share(u8, Id),
    /// Something that was written down when it was opened.
    Text(Vec<u8>),
    /// Anything else.
    Node(Node),
    /// A directory's entries.
    Entries(Vec<(Node, String)>),
}

/// Entries of a directory of the kernel's that are numbers.
fn numbers_in(directory: &str, node: impl Fn(u32) -> Node) -> Vec<(Node, String)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((node(name.parse().ok()?), name))).collect()
}

/// One resource: what is reserved, and who keeps it.
struct Resource {
    tree: Tree,
    enforcer: Box<dyn Enforcer>,
}

/// Everything.
pub(super) struct State {
    mount: PathBuf,
    resources: Vec<Resource>,
    handles: HashMap<u64, Handle>,
    /// Descriptors for both reading and writing, and how far they have been read since the last write.
    streams: HashMap<u64, usize>,
    next_handle: u64,
    domains: Domains,
    log: VecDeque<String>,
    begun: Nanos,
    /// Lines also go to standard error.
    echo: bool,
    /// Whether forks are told ([`super::domains`]): asked for once a child domain is set.
    listen: Box<dyn FnMut() -> std::io::Result<()> + Send>,
}

impl State {
    pub(super) fn new(
        mount: PathBuf,
        enforcers: Vec<Box<dyn Enforcer>>,
        echo: bool,
        listen: Box<dyn FnMut() -> std::io::Result<()> + Send>,
    ) -> Self {
        let resources = enforcers.into_iter().map(|enforcer| Resource {
            tree: Tree::new(enforcer.name(), enforcer.whole(), SUPERUSER),
            enforcer,
        });
        Self {
            mount,
            resources: resources.collect(),
            handles: HashMap::new(),
            streams: HashMap::new(),
            next_handle: 1,
            domains: Domains::default(),
            log: VecDeque::new(),
            begun: clock::now(),
            echo,
            listen,
        }
    }

    /// One line of the log.
    pub(super) fn note(&mut self, line: &str) {
        let since = clock::now().0.saturating_sub(self.begun.0);
        let text = format!("{:>10.3}s {line}", Nanos(since).0 as f64 / 1e9);
        if self.echo {
            eprintln!("lull reserve: {text}");
        }
        if self.log.len() == LOG_LINES {
            self.log.pop_front();
        }
        self.log.push_back(text);
    }

    /// Says in the log why somebody was refused.
    pub(super) fn refused(&mut self, caller: Caller, what: &str, fault: &Fault) {
        if !fault.why.is_empty() {
            self.note(&format!("user {} process {}: {what}: {}", caller.user, caller.pid, fault.why));
        }
    }

    fn resource(&self, index: u8) -> Result<&Resource, Fault> {
        self.resources.get(usize::from(index)).ok_or(Fault::plain(libc::ENOENT))
    }

    fn resource_mut(&mut self, index: u8) -> Result<&mut Resource, Fault> {
        self.resources.get_mut(usize::from(index)).ok_or(Fault::plain(libc::ENOENT))
    }

    fn indices(&self) -> impl Iterator<Item = u8> + use<> {
        (0..self.resources.len()).filter_map(|index| u8::try_from(index).ok())
    }

    /// A reservation's path as the mount shows it.
    fn shown(&self, resource: u8, id: Id) -> String {
        let path = self.resource(resource).map_or_else(|_| String::new(), |found| found.tree.full_path(id));
        self.mount.join(path).display().to_string()
    }

    /// Whether a file is there.
    pub(super) fn exists(&self, node: Node) -> bool {
        match node {
            _ if node.process().is_some() => {
                node.in_proc().is_some_and(|path| std::fs::symlink_metadata(path).is_ok())
            }
            _ => match node.reservation() {
                Some((resource, id)) => {
                    self.resource(resource).is_ok_and(|found| found.tree.get(id).is_some())
                }
                None => true,
            },
        }
    }

    /// Whose a file is.
    pub(super) fn owner(&self, node: Node) -> u32 {
        let of_reservation = |(resource, id)| Some(self.resource(resource).ok()?.tree.get(id)?.owner);
        let owner = match node.process() {
            Some(pid) => user_of(pid),
            None => node.reservation().and_then(of_reservation),
        };
        owner.unwrap_or(SUPERUSER)
    }

    /// What is in a directory, with `.` and `..` left out.
    pub(super) fn entries(&self, node: Node) -> Vec<(Node, String)> {
        let named = |list: &[(Node, &str)]| -> Vec<(Node, String)> {
            list.iter().map(|(node, name)| (*node, (*name).to_owned())).collect()
        };
        match node {
            Node::Top => {
                let mut all = named(&[(Node::Log, "log"), (Node::Status, "status"), (Node::Procs, "proc")]);
                let resources = self.indices().zip(&self.resources);
                all.extend(
                    resources.map(|(index, found)| (Node::Dir(index, ROOT), found.tree.name().to_owned())),
                );
                all
            }
            Node::Procs => {
                let mut all = named(&[(Node::Myself, "self"), (Node::MyThread, "thread-self")]);
                all.extend(numbers_in("/proc", Node::Process));
                all
            }
            Node::Process(pid) => named(&[
                (Node::Rdom(pid), "rdom"),
                (Node::Crdom(pid), "crdom"),
                (Node::Enter(pid), "enter"),
                (Node::Descriptors(pid), "fd"),
                (Node::Threads(pid), "task"),
            ]),
            Node::Descriptors(pid) => numbers_in(&format!("/proc/{pid}/fd"), |fd| Node::Descriptor(pid, fd)),
            Node::Threads(pid) => numbers_in(&format!("/proc/{pid}/task"), |tid| Node::Thread(pid, tid)),
            Node::Dir(index, id) => self.entries_of(index, id),
            _ => Vec::new(),
        }
    }

    fn entries_of(&self, index: u8, id: Id) -> Vec<(Node, String)> {
        let Ok(Resource { tree, enforcer }) = self.resource(index) else { return Vec::new() };
        let Some(found) = tree.get(id) else { return Vec::new() };
        let mut all = vec![(Node::Share(index, id), "share".to_owned())];
        match found.kind {
            Kind::Internal => {
                all.push((Node::NewReserv(index, id), "newreserv".to_owned()));
                all.push((Node::NewQueue(index, id), "newqueue".to_owned()));
            }
            Kind::Queue => {
                all.push((Node::Backlog(index, id), "backlog".to_owned()));
                if enforcer.input(&tree.path(id)).is_some() {
                    all.push((Node::Input(index, id), "input".to_owned()));
                }
            }
        }
        if id != ROOT {
            all.push((Node::Collect(index, id), "collect".to_owned()));
        }
        let children =
            found.children.iter().filter_map(|child| Some((*child, tree.get(*child)?.name.clone())));
        all.extend(children.map(|(child, name)| (Node::Dir(index, child), name)));
        all
    }

    /// A name in a directory.
    pub(super) fn lookup(&self, parent: Node, name: &str) -> Option<Node> {
        match parent {
            // There may be many of these.
            Node::Procs | Node::Descriptors(_) | Node::Threads(_) => {
                let number = name.parse::<u32>().ok().filter(|number| number.to_string() == name);
                let named = number.map(|number| match parent {
                    Node::Descriptors(pid) => Node::Descriptor(pid, number),
                    Node::Threads(pid) => Node::Thread(pid, number),
                    _ => Node::Process(number),
                });
                named.filter(|node| self.exists(*node))
            }
            Node::Dir(index, id) if Kind::of_name(name).is_some() => {
                self.resource(index).ok()?.tree.child(id, name).map(|child| Node::Dir(index, child))
            }
            _ => None,
        }
        .or_else(|| {
            let is_one_of_many = match parent {
                Node::Procs => !["self", "thread-self"].contains(&name),
                Node::Descriptors(_) | Node::Threads(_) => true,
                _ => false,
            };
            let entries = (!is_one_of_many).then(|| self.entries(parent))?;
            entries.into_iter().find(|(_, found)| found == name).map(|(node, _)| node)
        })
    }

    /// The process's root reservation.
    fn root_of(&self, index: u8, pid: u32) -> Id {
        let found = self.resource(index).ok().and_then(|Resource { tree, enforcer }| {
            let queue = tree.find(&enforcer.queue_of(pid.cast_signed())?)?;
            tree.get(queue)?.parent
        });
        found.unwrap_or(ROOT)
    }

    fn rights(&self, caller: Caller, index: u8) -> Result<Rights, Fault> {
        if caller.pid == 0 {
            return Err(Fault::new(
                libc::EPERM,
                "the process is in a PID namespace that cannot be seen from here",
            ));
        }
        Ok(Rights { user: caller.user, root: self.root_of(index, caller.pid) })
    }

    /// Whether somebody may change a reservation.
    fn may_use(&self, caller: Caller, index: u8, id: Id) -> Result<(), Fault> {
        let rights = self.rights(caller, index)?;
        Ok(self.resource(index)?.tree.may_use(rights, id)?)
    }

    /// Opens a file; creates where that is what opening does.
    pub(super) fn open(&mut self, caller: Caller, node: Node, writes: bool) -> Result<u64, Fault> {
        let handle = match node {
            Node::Log => {
                let mut text = String::new();
                for line in &self.log {
                    let _ = writeln!(text, "{line}");
                }
                Handle::Text(text.into_bytes())
            }
            Node::Status => Handle::Text(self.status()?),
            Node::NewReserv(index, id) => {
                Handle::Share(index, self.create(caller, index, id, Kind::Internal)?)
            }
            Node::NewQueue(index, id) => Handle::Share(index, self.create(caller, index, id, Kind::Queue)?),
            Node::Share(index, id)
            | Node::Backlog(index, id)
            | Node::Input(index, id)
            | Node::Collect(index, id)
                if writes =>
            {
                self.may_use(caller, index, id)?;
                Handle::Node(node)
            }
            Node::Rdom(_) if writes => {
                return Err(Fault::new(libc::EACCES, "rdom cannot be changed: write to enter"));
            }
            Node::Crdom(pid) | Node::Enter(pid) | Node::Descriptor(pid, _) | Node::Thread(pid, _)
                if writes =>
            {
                self.may_move(caller, pid)?;
                Handle::Node(node)
            }
            _ if node.is_dir() => return Err(Fault::plain(libc::EISDIR)),
            _ => Handle::Node(node),
        };
        let handle = match handle {
            Handle::Node(Node::Share(index, id)) => Handle::Share(index, id),
            other => other,
        };
        if let Handle::Share(index, id) = handle {
            self.resource_mut(index)?.tree.refer(id);
        }
        Ok(self.keep(handle))
    }

    /// A share that is written and read by turns has no place in it: each order is whole, and what is read begins anew after it.
    pub(super) fn make_stream(&mut self, number: u64) -> bool {
        let is_share = matches!(self.handles.get(&number), Some(Handle::Share(..)));
        if is_share {
            self.streams.insert(number, 0);
        }
        is_share
    }

    /// Opens a directory: what is in it now.
    pub(super) fn open_dir(&mut self, node: Node) -> u64 {
        let entries = self.entries(node);
        self.keep(Handle::Entries(entries))
    }

    fn keep(&mut self, handle: Handle) -> u64 {
        let number = self.next_handle;
        self.next_handle += 1;
        self.handles.insert(number, handle);
        number
    }

    /// What a descriptor is of.
    pub(super) fn handle(&self, number: u64) -> Option<&Handle> {
        self.handles.get(&number)
    }

    /// The last copy of a descriptor was closed.
    pub(super) fn close(&mut self, number: u64) {
        self.streams.remove(&number);
        if let Some(Handle::Share(index, id)) = self.handles.remove(&number)
            && let Ok(found) = self.resource_mut(index)
        {
            found.tree.forget(id);
            self.collect();
        }
    }

    /// Up to `size` bytes of an open file.
    pub(super) fn read(&mut self, number: u64, offset: u64, size: u32) -> Result<Vec<u8>, Fault> {
        let mut content = self.content(number)?;
        let read = self.streams.get(&number).copied();
        let from = read.unwrap_or_else(|| usize::try_from(offset).unwrap_or(usize::MAX)).min(content.len());
        content.drain(..from);
        content.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        if let Some(read) = self.streams.get_mut(&number) {
            *read = if content.is_empty() { 0 } else { from + content.len() };
        }
        Ok(content)
    }

    /// The content of an open file.
    fn content(&self, number: u64) -> Result<Vec<u8>, Fault> {
        let text = match self.handles.get(&number).ok_or(Fault::plain(libc::EBADF))? {
            Handle::Text(text) => return Ok(text.clone()),
            Handle::Entries(_) => return Err(Fault::plain(libc::EISDIR)),
            Handle::Share(index, id) => self.show_share(*index, *id)?,
            Handle::Node(Node::Backlog(index, id)) => {
                let Resource { tree, enforcer } = self.resource(*index)?;
                tree.get(*id).ok_or(Fault::plain(libc::ENOENT))?;
                let usage = enforcer.usage(&tree.path(*id));
                format!("{} {}", usage.requests, usage.service)
            }
            Handle::Node(Node::Input(index, id)) => {
                let Resource { tree, enforcer } = self.resource(*index)?;
                let input = enforcer.input(&tree.path(*id)).ok_or(Fault::plain(libc::ENOENT))?;
                format!("{} {}", input.packets, input.bytes)
            }
            Handle::Node(Node::Collect(index, id)) => {
                let found = self.resource(*index)?.tree.get(*id).ok_or(Fault::plain(libc::ENOENT))?;
                u8::from(found.collect).to_string()
            }
            Handle::Node(Node::Rdom(pid)) => self.show_domain(*pid, false),
            Handle::Node(Node::Crdom(pid)) => self.show_domain(*pid, true),
            Handle::Node(Node::Descriptor(pid, fd)) => self.show_descriptor(*pid, *fd),
            Handle::Node(Node::Thread(_, tid)) => self.show_thread(*tid),
            Handle::Node(_) => String::new(),
        };
        Ok(format!("{text}\n").into_bytes())
    }

    /// Both forms of the share, and whose it is: who has created it learns its name here.
    fn show_share(&self, index: u8, id: Id) -> Result<String, Fault> {
        let Resource { tree, .. } = self.resource(index)?;
        let found = tree.get(id).ok_or(Fault::plain(libc::ENOENT))?;
        Ok(format!("{} {}", found.terms.show(tree.whole()), self.shown(index, id)))
    }

    /// Writes to an open file.
    pub(super) fn write(&mut self, caller: Caller, number: u64, text: &[u8]) -> Result<(), Fault> {
        let handle = self.handles.get(&number).cloned().ok_or(Fault::plain(libc::EBADF))?;
        if let Some(read) = self.streams.get_mut(&number) {
            *read = 0;
        }
        let text = std::str::from_utf8(text).map_err(|_| Fault::new(libc::EINVAL, "that is not text"))?;
        match handle {
            Handle::Share(index, id) => {
                let whole = self.resource(index)?.tree.whole();
                let terms =
                    Terms::parse(text, whole).map_err(|error| Fault::new(libc::EINVAL, error.to_string()))?;
                self.set(index, id, terms)
            }
            Handle::Node(Node::Backlog(index, id)) => self.bound(index, id, text),
            Handle::Node(Node::Input(index, id)) => self.bound_input(index, id, text),
            Handle::Node(Node::Collect(index, id)) => {
                if caller.user != SUPERUSER {
                    return Err(Fault::new(libc::EPERM, "only root may say what stays without a reference"));
                }
                let collect = match text.trim() {
                    "0" => false,
                    "1" => true,
                    other => {
                        return Err(Fault::new(
                            libc::EINVAL,
                            format!("'{other}' is neither 0 (stay) nor 1 (go)"),
                        ));
                    }
                };
                self.resource_mut(index)?.tree.set_collect(id, collect)?;
                self.collect();
                Ok(())
            }
            Handle::Node(Node::Crdom(pid)) => self.set_children(caller, pid, text),
            Handle::Node(Node::Enter(pid)) => self.enter(caller, pid, text),
            Handle::Node(Node::Descriptor(pid, fd)) => self.tag(caller, pid, fd, text),
            Handle::Node(Node::Thread(pid, tid)) => self.enter_thread(caller, pid, tid, text),
            _ => Err(Fault::plain(libc::EBADF)),
        }
    }

    fn status(&self) -> Result<Vec<u8>, Fault> {
        let mut status = Status::new(clock::now());
        let resources = self.resources.iter();
        status.resources = resources.map(|found| ResourceStatus::of(&found.tree, &*found.enforcer)).collect();
        let mut text =
            serde_json::to_vec(&status).map_err(|error| Fault::new(libc::EIO, error.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Gives everything back to the kernel as it was.
    pub(super) fn restore(&mut self) -> std::io::Result<()> {
        let outcomes: Vec<_> = self.resources.iter_mut().map(|found| found.enforcer.restore()).collect();
        self.resources.clear();
        outcomes.into_iter().collect()
    }
}
