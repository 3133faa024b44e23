//! When background work may run, as pure values.
//!
//! Background requests run only in the gaps that foreground requests leave (Eggert & Touch, *Idletime Scheduling
//! with Preemption Intervals*, SOSP 2005). This crate holds the whole policy and nothing else: no clock, no thread,
//! no file, no socket, no `unsafe`. Its owner (the live engine, a simulator, a test) passes the time in as `now`
//! and carries the returned actions out. Codes of requirements, such as I-7, are defined in `docs/papers.md`.
//!
//! # One request's life
//!
//! A job wants to read 1 MiB while a database uses the same disk.
//!
//! 1. The call is stopped before it reaches the disk and becomes a [`Ticket`] in the disk's [`Resource`].
//! 2. A sensor has counted what the disk did, per class: an [`Observation`], two [`ClassView`]s. No event is sent.
//! 3. From that view and the time, [`derive_state`] tells the [`State`]: the database's request is in service, so the disk is in
//!    foreground (F); after its end it is in the preemption interval (P).
//! 4. Nobody comes while the interval lasts: the disk is idle (I), and [`Resource`] lets the ticket start, if the window has as many
//!    bytes left. It says when to ask again ([`Wake`]); until then nothing runs.
//! 5. The read is in service (B). The database's next request meets it, and takes longer than others do.
//! 6. [`Control`] sees that in the [`Telemetry`]: by how much such requests were longer is *lost*. Beyond the promise it narrows the
//!    window, and then lengthens the interval; well within it, it does the opposite. Credits ([`Budget`]) bound a minute's loss.
//!    Both numbers are the [`Setting`] of the next request.
//! 7. [`Ledger`] adds up what was lost on disks, CPUs and network, and tells each how much is left to it of the one promise.
//!
//! A CPU has no requests to hold: [`CpuBuffer`] says how many CPUs the job is lent. Memory has none either: [`memory::limit`] says how
//! much the job may have.
//!
//! # Where to find what
//!
//! | module | idea |
//! |---|---|
//! | [`base`] | time, sizes, shares, histograms, what a sensor knows: words that all policy uses |
//! | [`idletime`] | one resource: four states, waiting requests, the window for those in service |
//! | [`promise`] | what the foreground may lose, and how it is known what it lost |
//! | [`disk`] | window and interval found automatically; reading ahead in pieces that fit the gaps |
//! | [`cpu`] | how many CPUs are lent: what the foreground leaves, but a buffer |
//! | [`memory`] | how much of it the job may have; which pages are kept, cleaned, written back |
//! | [`network`] | an interface's interval, its queue, datagrams that wait |
//! | [`reserve`] | shares of a resource, reserved in a tree: admission, apportionment, domains, collection |
//! | [`proportional`] | who is served next, so that each gets its share: CPU, disk, network |
//! | [`linger`] | a guest whose node's owner is back: linger or move, and the policies beside that |
//! | [`rivals`] | other policies, for comparison |
//!
//! Each imports only what stands above it in this table, or nothing.
#![forbid(unsafe_code)]

pub mod base;
pub mod cpu;
pub mod disk;
pub mod idletime;
pub mod linger;
pub mod memory;
pub mod network;
pub mod promise;
pub mod proportional;
pub mod reserve;
pub mod rivals;

pub use base::backoff::Backoff;
pub use base::histogram::Histogram;
pub use base::share::{Loss, Share};
pub use base::time::{Interval, Nanos};
pub use base::view::{ClassView, Observation};
pub use cpu::{Audited, Bulk, CpuBuffer, CpuReading, CpuSetting, Lent, Mode, Presence};
pub use disk::read_ahead::{Piece, ReadAheadPlan};
pub use disk::{
    Control, ControlSetting, DepthChoice, Estimate, Heads, IntervalChoice, Latency, ParseDepthError,
    ParseIntervalError, ParseWindowError, RECENTLY, Telemetry, Total, WindowChoice,
};
pub use idletime::derive::{derive_state, earliest_lull};
pub use idletime::hold::{Hold, HoldAction, HoldSetting, HoldState};
pub use idletime::machine::{
    AfterBackground, AfterEmpty, Counters, Edge, Event, StartRule, State, Variant, transition,
};
pub use idletime::resource::{Input, Resource, Ticket, Wake};
pub use idletime::setting::{Foreground, LEAST_BYTES, Opening, Setting};
pub use memory::limit::{MemoryAction, MemoryLimit, MemoryThresholds, MemoryView};
pub use memory::page_cache::KeptPages;
pub use memory::pages::PageSet;
pub use memory::writeback::Cleaner;
pub use network::queue_bound::QueueBound;
pub use network::round_trip::{RoundTripSetting, RoundTrips};
pub use network::waiting_room::{WaitingRoom, WaitingRoomSetting, WaitingRoomStep};
pub use promise::budget::{Budget, BudgetSetting, Kept};
pub use promise::ledger::{Ledger, Use};
pub use promise::trial::{Arm, Measure, Reading, Slowdown, Trial, TrialSetting, Verdict};
pub use rivals::manners::{Manners, MannersSetting, MannersState, Progress};
pub use rivals::smart::change::{Change, ChangeWatch, Seen};
pub use rivals::smart::{Character, Smart, SmartSetting, SmartState};
