//! The idletime policy as pure values.
//!
//! Background requests run only in the gaps that foreground requests leave (Eggert & Touch, *Idletime Scheduling
//! with Preemption Intervals*, SOSP 2005). This crate holds the whole policy and nothing else: no clock, no thread,
//! no file, no socket, no `unsafe`. Its owner (the live engine, a simulator, a test) passes the time in as `now`
//! and carries the returned actions out. Codes of requirements, such as I-7, are defined in `docs/papers.md`.
//!
//! | module | idea |
//! |---|---|
//! | [`time`] | [`Nanos`] and [`Interval`], parsed and printed with units |
//! | [`view`] | what a sensor knows of one resource: [`ClassView`] per class, [`Observation`] of both |
//! | [`histogram`] | log-linear buckets shared with the kernel programs |
//! | [`bytes`] | sizes, parsed and printed with units |
//! | [`share`] | a part of a whole, in percent |
//! | [`machine`] | the states I, F, B, P and the events between them |
//! | [`mod@derive`] | the state as a function of a view and the time |
//! | [`setting`] | the parameters of one resource at one moment |
//! | [`resource`] | one resource: machine, waiting background requests, window for those in service |
//! | [`control`] | window and interval found automatically, from what the foreground loses |
//! | [`ahead`] | reading ahead for the job in pieces that fit the gaps |
//! | [`backoff`] | trying again, ever more rarely |
//! | [`hold`] | when to hold the whole job, for what the request gate cannot see |
//! | [`pages`] | sets of pages within a chunk of a file |
//! | [`keep`] | which pages that the job brought in stay in the page cache for now |
//! | [`clean`] | which of the job's dirty pages are written next |
//! | [`room`] | how much memory the job may have, and when its pages have to go |
//! | [`budget`] | the loss that was promised, as credits in a leaky bucket per resource |
//! | [`manners`] | the job held when its own progress falls (Douceur & Bolosky, SOSP 1999) |
//! | [`smart`] | the job held in the foreground's busy periods (Yan et al., 2012) |
//! | [`cpu`] | how many CPUs are lent: what the foreground leaves, but a buffer |
//! | [`linger`] | a guest whose node's owner is back: linger or move, and the policies beside that |
//! | [`ledger`] | what is lost on all resources, against the one promise |
//! | [`parlour`] | when datagrams that wait may leave |
//! | [`proportional`] | who is served next, so that each gets its share: CPU, disk, network |
//! | [`queue_bound`] | how much background an interface's queue may have |
//! | [`reserve`] | shares of a resource, reserved in a tree: admission, apportionment, domains, collection |
//! | [`round_trip`] | the interval of a network interface, from the foreground's round trips |
//! | [`trial`] | measured harm: randomised short holds, a confidence interval, a verdict |
#![forbid(unsafe_code)]

pub mod ahead;
pub mod backoff;
pub mod budget;
pub mod bytes;
pub mod clean;
pub mod control;
pub mod cpu;
mod decimal;
pub mod derive;
pub mod histogram;
pub mod hold;
pub mod keep;
pub mod launder;
pub mod ledger;
pub mod linger;
pub mod machine;
pub mod manners;
pub mod pages;
pub mod parlour;
pub mod proportional;
pub mod queue_bound;
mod random;
pub mod reserve;
pub mod resource;
pub mod room;
pub mod round_trip;
pub mod setting;
pub mod share;
pub mod smart;
pub mod time;
pub mod trial;
pub mod view;

pub use ahead::{Ahead, Piece};
pub use backoff::Backoff;
pub use budget::{Budget, BudgetSetting, Kept};
pub use clean::Cleaner;
pub use control::{
    Control, ControlSetting, DepthChoice, Estimate, Heads, IntervalChoice, Latency, ParseDepthError,
    ParseIntervalError, ParseWindowError, RECENTLY, Telemetry, Total, WindowChoice,
};
pub use cpu::{Audited, Bulk, CpuBuffer, CpuReading, CpuSetting, Lent, Mode, Presence};
pub use derive::{derive_state, earliest_lull};
pub use histogram::Histogram;
pub use hold::{Hold, HoldAction, HoldSetting, HoldState};
pub use keep::Keep;
pub use ledger::{Ledger, Use};
pub use machine::{
    AfterBackground, AfterEmpty, Counters, Edge, Event, StartRule, State, Variant, transition,
};
pub use manners::{Manners, MannersSetting, MannersState, Progress};
pub use pages::PageSet;
pub use parlour::{Parlour, ParlourSetting, ParlourStep};
pub use queue_bound::QueueBound;
pub use resource::{Input, Resource, Ticket, Wake};
pub use room::{Room, RoomAction, RoomSetting, RoomView};
pub use round_trip::{RoundTripSetting, RoundTrips};
pub use setting::{Foreground, LEAST_BYTES, Opening, Setting};
pub use share::{Loss, Share};
pub use smart::change::{Change, ChangeWatch, Seen};
pub use smart::{Character, Smart, SmartSetting, SmartState};
pub use time::{Interval, Nanos};
pub use trial::{Arm, Measure, Reading, Slowdown, Trial, TrialSetting, Verdict};
pub use view::{ClassView, Observation};
