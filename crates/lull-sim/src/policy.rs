//! How background is let in: what is fixed, and what chooses by itself.
//!
//! The machine, the interval and the bound are always those of [`lull_core::Resource`]. What may differ is who sets them:
//!
//! | policy | module | the interval |
//! |---|---|---|
//! | `alone` | | no background at all: the baseline |
//! | `fixed` | | as given |
//! | `auto` | [`lull_core::Control`] | from what the foreground loses, with the window |
//! | `aimd` | [`aimd`] | from the counters, as TCP does it with its window (section 5.2) |
//! | `bucket` | [`bucket`] | as given, while the delay paid for stays within a leaky bucket (section 5.1) |
//! | `smart` | [`lull_core::rivals::smart`] | none: all background is held in the foreground's busy periods |
//! | `manners` | [`lull_core::rivals::manners`] | none: all background is held when its own progress falls |
//!
//! The last two know nothing of requests. They stop and continue clients, as a signal does: what is in the device's queue is served,
//! and nothing is added to it.

pub mod aimd;
pub mod bucket;

use lull_core::{
    Control, ControlSetting, HoldAction, Interval, Manners, MannersSetting, Nanos, Progress, Resource,
    Setting, Smart, SmartSetting,
};

use crate::sensor::Sensor;
use aimd::{Aimd, AimdSetting};
use bucket::{Bucket, BucketSetting};

/// Who sets the interval and the bound of a station.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// Background never starts.
    Alone,
    /// Never changed.
    Fixed(Setting),
    /// The live engine's control.
    Auto(ControlSetting),
    /// The paper's idea of a window.
    Aimd(AimdSetting),
    /// A fixed setting, and a bucket of delay; for devices that serve one request at a time.
    Bucket(Setting, BucketSetting),
    /// Held in the foreground's busy periods.
    Smart(SmartSetting),
    /// Held when its own progress falls.
    Manners(MannersSetting),
}

/// How often control looks at what was measured, as the live engine does.
pub const CONTROL_EVERY: Nanos = Nanos::from_millis(10);

/// The device shows a grant at once; what is left of one in whose place a smaller request was taken is given up then.
const SETTLE: Nanos = Nanos::from_millis(1);

#[derive(Clone, Debug)]
enum Chooser {
    None,
    Auto(Box<Control>),
    Aimd(Aimd),
    Smart(Smart),
    Manners(Manners),
}

/// What a policy that holds whole clients is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Time that the device has worked for the foreground.
    pub(crate) foreground: Nanos,
    /// What background has got done.
    pub(crate) background: Progress,
    /// Whether background has anything to do.
    pub(crate) wants: bool,
}

/// Requests enter the device's queue at once.
fn ungated() -> Setting {
    Setting { depth: u32::MAX, ..Setting::default() }
}

/// A policy at work.
#[derive(Clone, Debug)]
pub(crate) struct Governor {
    chooser: Chooser,
    bucket: Option<Bucket>,
    /// What is in force while the bucket holds enough.
    setting: Setting,
    /// Whether background is held back for want of budget.
    held: bool,
}

impl Governor {
    pub(crate) fn new(policy: &Policy) -> Self {
        let (chooser, bucket, setting) = match *policy {
            Policy::Alone => (Chooser::None, None, Setting::default()),
            Policy::Fixed(setting) => (Chooser::None, None, setting),
            Policy::Auto(aim) => (Chooser::Auto(Box::new(Control::new(aim))), None, Setting::default()),
            Policy::Aimd(aim) => {
                let aimd = Aimd::new(aim);
                let interval = Interval::Finite(aimd.interval());
                (Chooser::Aimd(aimd), None, Setting { interval, ..Setting::default() })
            }
            Policy::Bucket(setting, bucket) => (Chooser::None, Some(Bucket::new(bucket)), setting),
            Policy::Smart(aim) => (Chooser::Smart(Smart::new(aim)), None, ungated()),
            Policy::Manners(aim) => (Chooser::Manners(Manners::new(aim)), None, ungated()),
        };
        Self { chooser, bucket, setting: Setting { settle: SETTLE, ..setting }, held: false }
    }

    pub(crate) fn setting(&self) -> Setting {
        if self.held { Setting { interval: Interval::Infinite, ..self.setting } } else { self.setting }
    }

    /// Whether [`Self::update`] has anything to do.
    pub(crate) fn chooses(&self) -> bool {
        !matches!(self.chooser, Chooser::None)
    }

    /// Looks at what was measured; every [`CONTROL_EVERY`].
    pub(crate) fn update(&mut self, now: Nanos, sensor: &mut Sensor, rotates: bool, resource: &mut Resource) {
        match &mut self.chooser {
            Chooser::None | Chooser::Smart(_) | Chooser::Manners(_) => return,
            Chooser::Auto(control) => {
                control.update(now, sensor.telemetry(rotates, resource.take_full()));
                let setting = control.test(now, &sensor.latency());
                self.setting = Setting { settle: SETTLE, ..setting };
            }
            Chooser::Aimd(aimd) => {
                let interval = aimd.update(now, resource.counters(), &sensor.telemetry.service);
                self.setting.interval = Interval::Finite(interval);
            }
        }
        resource.configure(now, self.setting());
    }

    /// When [`Self::update`] is due before its time.
    pub(crate) fn next_test(&self) -> Option<Nanos> {
        match &self.chooser {
            Chooser::Auto(control) => control.next_test(),
            _ => None,
        }
    }

    /// Whether all clients of the background are to be held or let go.
    pub(crate) fn hold(&mut self, now: Nanos, usage: &Usage) -> Option<HoldAction> {
        match &mut self.chooser {
            Chooser::Smart(smart) => smart.step(now, usage.foreground),
            Chooser::Manners(manners) => manners.step(now, usage.background, usage.wants),
            Chooser::None | Chooser::Auto(_) | Chooser::Aimd(_) => None,
        }
    }

    /// A foreground request has waited for background for `delay`.
    pub(crate) fn pay(&mut self, now: Nanos, delay: Nanos) {
        if let Some(bucket) = &mut self.bucket {
            bucket.pay(now, delay);
        }
    }

    /// A background request has held the device for `service`.
    pub(crate) fn served(&mut self, service: Nanos) {
        if let Some(bucket) = &mut self.bucket {
            bucket.served(service);
        }
    }

    /// Holds background back or lets it go, as the bucket says; returns when to ask again.
    pub(crate) fn check(&mut self, now: Nanos, resource: &mut Resource) -> Option<Nanos> {
        let bucket = self.bucket.as_mut()?;
        let again = bucket.affordable_from(now);
        let held = again > now;
        if held != self.held {
            self.held = held;
            resource.configure(now, self.setting());
        }
        held.then_some(again)
    }
}
