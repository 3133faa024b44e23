//! The whole tree at one moment, for programs: the content of the file `status`.
//!
//! JSON. Amounts are in the resource's smallest unit ([`lull_core::reserve::unit`]), service in what `service_unit` says.

use lull_core::Nanos;
use lull_core::reserve::{Bound, Id, Kind, ROOT, Terms, Tree, Unit, Whole};
use lull_linux::reserve::{Enforcer, ServiceUnit, Usage};
use serde::{Deserialize, Serialize};

/// All resources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Status {
    /// When, by the monotonic clock.
    pub(super) at_ns: u64,
    pub(super) resources: Vec<ResourceStatus>,
}

/// One resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ResourceStatus {
    pub(super) name: String,
    /// By what it is enforced.
    pub(super) means: String,
    pub(super) unit: String,
    pub(super) service_unit: String,
    pub(super) whole: u64,
    pub(super) reservations: Vec<ReservationStatus>,
}

/// One reservation; each after its parent, the root left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReservationStatus {
    /// Below the resource, like `r0/q0`.
    pub(super) path: String,
    pub(super) queue: bool,
    pub(super) minimum: u64,
    pub(super) weight: u32,
    pub(super) owner: u32,
    pub(super) collect: bool,
    pub(super) references: u32,
    pub(super) processes: u64,
    pub(super) requests: u64,
    pub(super) service: u64,
    pub(super) refused: u64,
    pub(super) asked: u64,
    /// The most requests that may wait; none for no bound.
    pub(super) most_requests: Option<u64>,
    pub(super) most_service: Option<u64>,
    /// What came, for a queue of an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<InputStatus>,
}

/// What came for a queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InputStatus {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) refused: u64,
    /// The most that may wait at each socket; none for what the socket itself takes.
    pub(super) most_packets: Option<u64>,
    pub(super) most_bytes: Option<u64>,
}

const UNITS: [(Unit, &str); 4] =
    [(Unit::Cpu, "cpu/1000000"), (Unit::Bytes, "B"), (Unit::Rate, "B/s"), (Unit::Part, "ppm")];
/// How [`ResourceStatus::service_unit`] writes them.
pub(super) const NANOS: &str = "cpu-nanos";
const HELD: &str = "bytes-held";
pub(super) const MOVED: &str = "bytes-moved";
pub(super) const SENT: &str = "bytes-sent";

impl Status {
    pub(super) const fn new(now: Nanos) -> Self {
        Self { at_ns: now.0, resources: Vec::new() }
    }
}

impl ResourceStatus {
    pub(super) fn of(tree: &Tree, enforcer: &dyn Enforcer) -> Self {
        let whole = tree.whole();
        let unit = UNITS.iter().find(|(unit, _)| *unit == whole.unit).map_or("", |(_, name)| name);
        let service_unit = match enforcer.service_unit() {
            ServiceUnit::CpuNanos => NANOS,
            ServiceUnit::BytesHeld => HELD,
            ServiceUnit::BytesMoved => MOVED,
            ServiceUnit::BytesSent => SENT,
        };
        let below = tree.iter().filter(|(id, _)| *id != ROOT);
        Self {
            name: tree.name().to_owned(),
            means: enforcer.means(),
            unit: unit.to_owned(),
            service_unit: service_unit.to_owned(),
            whole: whole.amount,
            reservations: below.map(|(id, _)| ReservationStatus::of(tree, id, enforcer)).collect(),
        }
    }

    /// The unit of amounts.
    pub(super) fn whole(&self) -> Option<Whole> {
        let (unit, _) = UNITS.iter().find(|(_, name)| *name == self.unit)?;
        Some(Whole { amount: self.whole, unit: *unit })
    }

    /// The tree again, with each reservation's number.
    pub(super) fn tree(&self) -> Option<(Tree, Vec<Id>)> {
        let mut tree = Tree::new(&self.name, self.whole()?, 0);
        let mut ids = Vec::new();
        for found in &self.reservations {
            let (parent, name) = found.path.rsplit_once('/').unwrap_or(("", &found.path));
            let id = tree.create_named(tree.find(parent)?, name, found.owner).ok()?;
            tree.set(id, Terms { minimum: found.minimum, weight: found.weight }).ok()?;
            ids.push(id);
        }
        Some((tree, ids))
    }
}

impl ReservationStatus {
    fn of(tree: &Tree, id: Id, enforcer: &dyn Enforcer) -> Self {
        let path = tree.path(id);
        let Some(found) = tree.get(id) else { unreachable!("it comes from the tree") };
        let queue = found.kind == Kind::Queue;
        let usage = if queue { enforcer.usage(&path) } else { Usage::default() };
        let most = |bound| match bound {
            Bound::None => None,
            Bound::Most(most) => Some(most),
        };
        let input = queue.then(|| enforcer.input(&path)).flatten().map(|input| InputStatus {
            packets: input.packets,
            bytes: input.bytes,
            refused: input.refused,
            most_packets: most(found.input.requests),
            most_bytes: most(found.input.service),
        });
        Self {
            path,
            queue,
            minimum: found.terms.minimum,
            weight: found.terms.weight,
            owner: found.owner,
            collect: found.collect,
            references: found.references,
            processes: usage.processes,
            requests: usage.requests,
            service: usage.service,
            refused: usage.refused,
            asked: usage.asked,
            most_requests: most(found.backlog.requests),
            most_service: most(found.backlog.service),
            input,
        }
    }
}
