//! Hearing that the machine is about to sleep.
//!
//! Problem: before a suspend the kernel freezes all processes. A thread whose call waits for lull cannot be frozen (it waits as
//! `TASK_KILLABLE`, not `TASK_FREEZABLE`), lull's own threads are, and so nobody lets it go: the suspend fails after 20 s. Approach: logind tells
//! everybody on the system's bus before it begins, and again when the machine is awake.
//!
//! Edge cases: who suspends by writing to `/sys/power/state` tells nobody. Without a bus, or without logind, nothing is heard.
//!
//! Source: org.freedesktop.login1(5) ("PrepareForSleep"), D-Bus specification ("Match Rules"); `wait_for_completion_killable` in
//! kernel/sched/completion.c, "Freezing of tasks" in Documentation/power.

use super::bus::{Bus, BusError, Signal};
use crate::root::Root;

const SOCKET: &str = "/run/dbus/system_bus_socket";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
const MEMBER: &str = "PrepareForSleep";
/// The bus itself sees to it that nobody else is taken for logind.
const RULE: &str = "type='signal',sender='org.freedesktop.login1',interface='org.freedesktop.login1.Manager',member='PrepareForSleep'";

/// Tells when the machine is about to sleep (true), and when it is awake again (false). Returns when nothing more can be heard.
///
/// # Errors
/// Without a bus, and when its connection ends.
pub fn hear(root: &Root, mut tell: impl FnMut(bool)) -> Result<std::convert::Infallible, BusError> {
    let mut bus = Bus::connect(&root.path(SOCKET))?;
    let to_bus = (BUS, BUS_PATH, BUS);
    bus.ask(to_bus, "Hello", &())?;
    bus.ask(to_bus, "AddMatch", &(RULE,))?;
    loop {
        if let Signal { member, body } = bus.hear()?
            && member == MEMBER
        {
            tell(body.get::<bool>()?);
        }
    }
}
