//! A scope of systemd's for a job: where the job's idle weight is compared with everybody's.
//!
//! Problem: the idle class of a control group counts among its siblings. A job's group inside a session, a user's slice or a service weighs as
//! much as all that is in there. A group at the top of the tree would do; but there, where systemd runs the machine, all groups are systemd's.
//! Approach: lull asks for a *scope* in `lull.slice`, a slice at the top whose CPU weight is idle and whose I/O weight is the least.
//!
//! ```text
//!  -.slice ─┬─ user.slice, system.slice …                    weight 100 each: the foreground
//!           └─ lull.slice (CPUWeight=idle, goes when unused)
//!                └─ lull-PID-START-NS-N.scope (Delegate=yes)
//!                     ├─ lull-PID-START-NS-M   a placeholder, until the job has come
//!                     └─ lull-PID-START-NS-N   the job: all controllers are handed down to it
//! ```
//!
//! Root asks the system's manager. Another user asks their own, whose slices are at the top of what is delegated to them: the weight counts among
//! that manager's units, not against other users and not against sessions at the login (that is root's to order; `lull doctor` tells).
//! A user's processes may not be moved between the two by the user: [`Scope::attach`] has the manager do it.
//!
//! *Stopping.* A job that left a unit would survive it. So the scope is bound to the unit in which lull runs (`BindsTo=`), if that is one of the same
//! manager and ends its processes when it is stopped. Not ordered after it: a oneshot service is activating all its life.
//!
//! *Limits.* A group that leaves others leaves their limits; whether it may is asked before ([`crate::probe::cgroups`]). The number of tasks is
//! taken along (`TasksMax=`).
//!
//! *No trace.* The scope ends with its last process, its groups with it, the slice when nothing needs it any more; nothing is written below `/etc`.
//!
//! Source: systemd.scope(5), systemd.resource-control(5), org.freedesktop.systemd1(5), <https://systemd.io/CGROUP_DELEGATION>.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::geteuid;
use zvariant::{OwnedObjectPath, OwnedValue, Value};

use crate::cgroup::GroupName;
use crate::root::Root;

mod bus;
mod placeholder;
pub mod sleep;

pub use bus::BusError;

use bus::Bus;
use placeholder::Placeholder;

/// The slice of all jobs.
pub const SLICE: &str = "lull.slice";
/// How systemd writes the weight `idle`.
const IDLE_WEIGHT: u64 = 0;
/// The least weight that is not idle.
const LEAST_WEIGHT: u64 = 1;
/// Every controller that a job's group can use.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuset", "io", "memory", "pids"];
/// How often a scope is asked for.
const TRIES: u32 = 3;
/// How long a scope may take to be there, and the pause between two looks.
const LOOKS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// Why there is no scope.
#[derive(Debug, thiserror::Error)]
#[error("systemd gives the job no scope of its own: {0}")]
pub struct ScopeError(String);

impl From<BusError> for ScopeError {
    fn from(error: BusError) -> Self {
        Self(error.to_string())
    }
}

/// Whether systemd runs this machine.
pub fn is_running(root: &Root) -> bool {
    root.path("/run/systemd/system").is_dir()
}

/// A manager that may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// The system's.
    System,
    /// That of a user, by its number.
    User(u32),
}

impl Manager {
    /// The one that this process may ask; `None` if there is none.
    pub fn find(root: &Root) -> Option<Self> {
        let manager = match geteuid().as_raw() {
            0 => Self::System,
            user => Self::User(user),
        };
        (is_running(root) && manager.socket(root).exists()).then_some(manager)
    }

    fn socket(&self, root: &Root) -> PathBuf {
        root.path(match self {
            Self::System => "/run/systemd/private".to_owned(),
            Self::User(user) => format!("/run/user/{user}/systemd/private"),
        })
    }

    /// The group at whose top this manager's slices are, as part of the tree.
    pub fn top(&self) -> PathBuf {
        match self {
            Self::System => PathBuf::new(),
            Self::User(user) => format!("user.slice/user-{user}.slice/user@{user}.service").into(),
        }
    }

    /// The unit of this manager in which a process in the group `own_path` runs.
    fn unit_of<'a>(&self, own_path: &'a str) -> Option<&'a str> {
        let below = Path::new(own_path.trim_start_matches('/')).strip_prefix(self.top()).ok()?;
        let names = below.components().filter_map(|part| part.as_os_str().to_str());
        names.into_iter().find(|name| name.ends_with(".service") || name.ends_with(".scope"))
    }
}

/// A scope with nothing in it but a placeholder.
#[derive(Debug)]
pub struct Scope {
    manager: Manager,
    unit: String,
    directory: PathBuf,
    // Ends when dropped, and with it the scope if the job has not come.
    _placeholder: Placeholder,
}

type Property<'a> = (&'a str, Value<'a>);
type Further<'a> = Vec<(&'a str, Vec<Property<'a>>)>;

impl Scope {
    /// Has a scope made. `own_path` is the group of this process, `most_tasks` the limit that it leaves, `mount` where v2 is mounted.
    ///
    /// # Errors
    /// When the manager refuses, or does not answer in time.
    pub fn start(
        root: &Root,
        manager: Manager,
        own_path: &str,
        most_tasks: Option<u64>,
        mount: &Path,
    ) -> Result<Self, ScopeError> {
        let mut bus = Bus::connect(&manager.socket(root))?;
        let name = GroupName::next(root);
        let unit = format!("{name}.scope");
        let mut placeholder = Placeholder::start().map_err(|error| ScopeError(error.to_string()))?;
        let pids = vec![placeholder.pid().as_raw().unsigned_abs()];
        let mut properties: Vec<Property<'_>> = vec![
            ("Description", Value::from("background work of lull")),
            ("Slice", Value::from(SLICE)),
            ("Delegate", Value::from(true)),
            ("CollectMode", Value::from("inactive-or-failed")),
            ("PIDs", Value::from(pids)),
        ];
        if let Some(most) = most_tasks {
            properties.push(("TasksMax", Value::from(most)));
        }
        if let Some(outer) = manager.unit_of(own_path).filter(|outer| ends_its_processes(&mut bus, outer)) {
            properties.push(("BindsTo", Value::from(vec![outer])));
        }
        start_in_slice(&mut bus, &unit, &properties)?;
        let directory = arrival(root, placeholder.pid().as_raw(), &unit, mount)?;
        let leaf = directory.join(GroupName::next(root).to_string());
        let failed = |error: std::io::Error| ScopeError(format!("{}: {error}", directory.display()));
        placeholder.retire_to(leaf).map_err(failed)?;
        hand_down(&directory);
        Ok(Self { manager, unit, directory, _placeholder: placeholder })
    }

    /// The scope's group.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves a process to a group of the scope, where that takes more rights than this process has.
    ///
    /// # Errors
    /// When the manager refuses.
    pub fn attach(&self, root: &Root, pid: i32, group: &Path) -> Result<(), ScopeError> {
        let Ok(below) = group.strip_prefix(&self.directory) else { return Ok(()) };
        if self.manager == Manager::System {
            return Ok(());
        }
        let below = Path::new("/").join(below);
        let pids = vec![pid.unsigned_abs()];
        let arguments = (self.unit.as_str(), below.to_string_lossy(), pids);
        Bus::connect(&self.manager.socket(root))?.call("AttachProcessesToUnit", &arguments)?;
        Ok(())
    }
}

/// Starts the scope, and with it the slice of the least weight. A slice that another job needs is there already.
fn start_in_slice(bus: &mut Bus, unit: &str, properties: &[Property<'_>]) -> Result<(), ScopeError> {
    let slice = |weight: u64| -> Further<'_> {
        let properties = vec![
            ("Description", Value::from("background work of lull")),
            ("CPUWeight", Value::from(weight)),
            ("IOWeight", Value::from(LEAST_WEIGHT)),
            ("StopWhenUnneeded", Value::from(true)),
        ];
        vec![(SLICE, properties)]
    };
    let mut weight = IDLE_WEIGHT;
    let mut has_slice = false;
    let mut tries = 0;
    loop {
        let further = if has_slice { Further::new() } else { slice(weight) };
        match bus.call("StartTransientUnit", &(unit, "fail", properties, further)) {
            Ok(_) => return Ok(()),
            Err(BusError::Refused { name, .. }) if tries < TRIES && name.ends_with(".UnitExists") => {
                has_slice = true
            }
            // Before version 252 there is no weight idle.
            Err(BusError::Refused { name, .. })
                if weight == IDLE_WEIGHT && !has_slice && name.ends_with(".InvalidArgs") =>
            {
                weight = LEAST_WEIGHT;
            }
            Err(error) => return Err(error.into()),
        }
        tries += 1;
    }
}

/// Whether a unit that is stopped ends all of its processes, so that a job that left it has to end, too.
fn ends_its_processes(bus: &mut Bus, unit: &str) -> bool {
    let kind = if unit.ends_with(".scope") { "Scope" } else { "Service" };
    let interface = format!("org.freedesktop.systemd1.{kind}");
    let asked =
        bus.call("GetUnit", &(unit,)).and_then(|answer| answer.get::<OwnedObjectPath>()).and_then(|path| {
            let get = (interface.as_str(), "KillMode");
            bus.call_on(path.as_str(), "org.freedesktop.DBus.Properties", "Get", &get)?.get::<OwnedValue>()
        });
    let mode = asked.ok().and_then(|mode| String::try_from(mode).ok());
    mode.is_some_and(|mode| mode == "control-group" || mode == "mixed")
}

/// Waits until the placeholder is in the scope, and says where that is.
fn arrival(root: &Root, pid: i32, unit: &str, mount: &Path) -> Result<PathBuf, ScopeError> {
    for _ in 0..LOOKS {
        let memberships = root.read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let path = memberships.lines().find_map(|line| line.strip_prefix("0::"));
        if let Some(path) = path.filter(|path| path.ends_with(unit)) {
            return Ok(mount.join(path.trim_start_matches('/')));
        }
        std::thread::sleep(PAUSE);
    }
    Err(ScopeError("it did not come into being in time".to_owned()))
}

/// Hands down every controller that the scope has; one that is refused is missing in the job's group, where that is told.
fn hand_down(directory: &Path) {
    let has = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    for name in CONTROLLERS.into_iter().filter(|name| has.split_whitespace().any(|found| found == *name)) {
        let _told_as_missing = fs::write(directory.join("cgroup.subtree_control"), format!("+{name}"));
    }
}

#[cfg(test)]
mod tests;
