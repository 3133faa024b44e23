//! Which policy holds the job: `--policy`.
//!
//! | text | policy | marks | gates |
//! |---|---|---|---|
//! | `idletime` | requests and CPUs in the gaps ([`lull_engine::engine`]) | all | request gate, hold gate |
//! | `smart`, `smart:WINDOW` | [`lull_core::rivals::smart`] | none | hold gate |
//! | `manners`, `manners:SAMPLE` | [`lull_core::rivals::manners`] | all | hold gate |
//!
//! `smart` runs the job beside the foreground at the same priority, as its source does: that is what its second half of the
//! characterisation measures. `manners` keeps the idle marks: who yields first, feels first that somebody is there.

use std::str::FromStr;

use lull_core::{MannersSetting, Nanos, SmartSetting};

use super::settings::Given;

/// The kernel counts processor time in ticks of 10 ms: less could not be told from noise.
const LEAST_WINDOW: Nanos = Nanos::from_millis(200);
const LEAST_SAMPLE: Nanos = Nanos::from_millis(50);

/// Who decides when the job is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PolicyChoice {
    /// Preemption intervals, per resource.
    #[default]
    Idletime,
    /// Held in the foreground's busy periods.
    Smart(SmartSetting),
    /// Held when its own progress falls.
    Manners(MannersSetting),
}

impl PolicyChoice {
    /// Whether the job carries the idle class and low weights.
    pub(crate) const fn marks_job(self) -> bool {
        !matches!(self, Self::Smart(_))
    }

    /// What a user would take for a job that hangs.
    pub(crate) fn forewarning(self) -> Option<String> {
        let Self::Smart(setting) = self else { return None };
        let first = setting.window.times(u64::from(setting.windows));
        Some(format!(
            "smart holds the job for {first} first, {} windows of {}, to see the foreground without it; --policy smart:WINDOW sets the window",
            setting.windows, setting.window
        ))
    }

    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Idletime => "idletime",
            Self::Smart(_) => "smart",
            Self::Manners(_) => "manners",
        }
    }
}

impl FromStr for PolicyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, time) = text.split_once(':').map_or((text, None), |(name, time)| (name, Some(time)));
        let length = |least: Nanos| {
            let parse = |time: &str| time.parse::<Nanos>().map_err(|error| error.to_string());
            match time.map(parse).transpose()? {
                Some(length) if length < least => Err(format!("'{text}' is too short; use {least} or more")),
                length => Ok(length),
            }
        };
        match name {
            "idletime" if time.is_none() => Ok(Self::Idletime),
            "smart" => Ok(Self::Smart(
                length(LEAST_WINDOW)?.map_or_else(Default::default, SmartSetting::with_window),
            )),
            "manners" => Ok(Self::Manners(
                length(LEAST_SAMPLE)?.map_or_else(Default::default, MannersSetting::with_sample),
            )),
            _ => Err(format!(
                "'{text}' is no policy; use idletime, smart, smart:WINDOW, manners or manners:SAMPLE"
            )),
        }
    }
}

impl Given {
    /// An option on the command line that means nothing to the other policies.
    pub(crate) fn of_idletime(&self) -> Option<&'static str> {
        let given = [
            ("--interval", self.interval.is_some()),
            ("--depth", self.depth.is_some()),
            ("--window", self.window.is_some()),
            ("--start", self.start.is_some()),
            ("--variant", self.variant.is_some()),
            ("--max-slowdown", self.max_slowdown.is_some()),
            ("--resources", !self.resources.is_empty()),
            ("--slo", self.slo.is_some()),
            ("--cpu-floor", self.cpu_floor.is_some()),
            ("--cache-keep", self.cache_keep.is_some()),
            ("--dirty", self.dirty.is_some()),
            ("--gate", self.gate.is_some()),
            ("--longest-hold", self.longest_hold.is_some()),
            ("--sensor", self.sensor.is_some()),
            ("--disk", !self.disks.is_empty()),
            ("--net-ports", !self.net.net_ports.is_empty()),
            ("--net-address", !self.net.net_address.is_empty()),
            ("--net-mark", !self.net.net_mark.is_empty()),
            ("--net-answer", self.net.net_answer.is_some()),
            ("--qdisc", !self.net.qdisc.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests;
