//! The policy from outside: against models of itself, and against models of devices.

mod condense;
mod control;
mod device;
mod history;
mod hostile;
mod reference;
