//! Network interfaces.
//!
//! | module | idea |
//! |---|---|
//! | [`round_trip`] | the interval of an interface, from the foreground's round trips |
//! | [`queue_bound`] | how much background an interface's queue may have |
//! | [`waiting_room`] | when datagrams that wait outside of that queue may enter it |

pub mod queue_bound;
pub mod round_trip;
pub mod waiting_room;
