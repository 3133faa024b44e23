//! The supervisor: sensors, policy and gates in one process of its own session.
//!
//! ```text
//!  prepare ──▶ (the filter stands) ──▶ watch ──▶ running: loop until the job is gone ──▶ shut down
//!
//!  gate's threads                               loop thread
//!  ──────────────                               ───────────
//!  receive a trapped call ──▶ Engine::on_trap   wait: sensor wake-up, time, front, nudge
//!     pass at once, or list and nudge ────────▶ Engine::turn: pass what may go, hold or let go
//! ```
//!
//! It is killed at any moment without harm: the guardian lets the job go and passes its calls from then on.

mod aims;
mod front_channel;
pub(crate) mod inputs;
mod prepare;
mod running;
mod shut_down;
mod sleep;
mod summary;
mod watch;

use super::messages::FromSupervisor;
use inputs::Inputs;

/// Lives until the job is gone.
pub(crate) fn run(inputs: Inputs) {
    let Some(mut prepared) = prepare::prepare(inputs) else { return };
    let Some(listener) = prepared.front.wait_for_listener() else { return };
    // Calls trapped from now on wait in the kernel until somebody receives them; the job need not wait for that to begin.
    prepared.front.tell(&FromSupervisor::Serving);
    let Some(mut running) = watch::watch(prepared, listener) else { return };
    let ending = running.run();
    shut_down::shut_down(running, ending);
}
