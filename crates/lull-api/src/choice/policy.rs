//! Which policy holds the job: `--policy`.
//!
//! | text | policy | marks | gates |
//! |---|---|---|---|
//! | `idletime` | requests and CPUs in the gaps | all | request gate, hold gate |
//! | `smart`, `smart:WINDOW` | [`lull_core::rivals::smart`] | none | hold gate |
//! | `manners`, `manners:SAMPLE` | [`lull_core::rivals::manners`] | all | hold gate |
//!
//! `smart` runs the job beside the foreground at the same priority, as its source does: that is what its second half of the
//! characterisation measures. `manners` keeps the idle marks: who yields first, feels first that somebody is there.

use std::str::FromStr;

use lull_core::{MannersSetting, Nanos, SmartSetting};

/// The kernel counts processor time in ticks of 10 ms: less could not be told from noise.
const LEAST_WINDOW: Nanos = Nanos::from_millis(200);
const LEAST_SAMPLE: Nanos = Nanos::from_millis(50);

/// Who decides when the job is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
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
    pub const fn marks_job(self) -> bool {
        !matches!(self, Self::Smart(_))
    }

    /// What a user would take for a job that hangs.
    pub fn forewarning(self) -> Option<String> {
        let Self::Smart(setting) = self else { return None };
        let first = setting.window.times(u64::from(setting.windows));
        Some(format!(
            "smart holds the job for {first} first, {} windows of {}, to see the foreground without it; --policy smart:WINDOW sets the window",
            setting.windows, setting.window
        ))
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
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

#[cfg(test)]
mod tests;
