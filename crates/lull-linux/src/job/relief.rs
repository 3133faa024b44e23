//! Letting every call pass, for whoever is left when the supervisor is dead.

use std::time::Duration;

use crate::job::shared::Shared;
use crate::seccomp::listener::{Listener, Received};

/// How long to wait before looking again when receiving fails for a reason that may pass.
const PAUSE: Duration = Duration::from_millis(5);

/// Passes what the dead supervisor left unanswered.
pub fn pass_unanswered(listener: &Listener, shared: &Shared) {
    for id in shared.unanswered() {
        listener.pass(id);
        shared.unlist(id);
    }
}

/// Waits for a call and passes it; says whether the job is gone instead.
pub fn pass_next(listener: &Listener, shared: &Shared) -> bool {
    if !listener.wait() {
        return true;
    }
    // SAFETY: the supervisor, the only other user of the space, is dead; this process has one thread.
    match unsafe { listener.receive(shared.space()) } {
        Ok(Received::Call(trap)) => {
            listener.pass(trap.id);
            false
        }
        Ok(Received::Nothing) => false,
        Ok(Received::JobGone) => true,
        Err(_) => {
            std::thread::sleep(PAUSE);
            listener.is_hung_up()
        }
    }
}
