//! A scenario: resources, who uses them, and under which policy, as a TOML file.
//!
//! ```toml
//! seed = 1
//! length = "60s"
//!
//! [[resource]]
//! name = "disk"
//! device = { kind = "disk" }
//! policy = { kind = "fixed", interval = "40ms" }
//!
//! [[client]]
//! resource = "disk"
//! class = "foreground"
//! workload = { kind = "closed", think = "exponential 60ms" }
//! bytes = 4096
//! ```
//!
//! Unknown keys are refused, with the line. Times have units; sizes are bytes. The first tenth of a run, or `warm_up`, is not
//! counted. Each foreground is also run alone, so that the result says what it lost.

use lull_core::{
    ControlSetting, Counters, Interval, MannersSetting, Nanos, Setting, SmartSetting, StartRule, Variant,
    WindowChoice,
};
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::device::cpu::{Cpu, CpuSetting};
use crate::device::disk::{Disk, DiskSetting};
use crate::device::link::{Link, LinkSetting};
use crate::device::ssd::{Ssd, SsdSetting};
use crate::device::{Device, Server};
use crate::policy::Policy;
use crate::policy::aimd::AimdSetting;
use crate::policy::bucket::BucketSetting;
use crate::span::Span;
use crate::station::Tally;
use crate::workload::Workload;
use crate::world::{Client, World};

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where all randomness comes from.
    #[serde(default = "one")]
    pub seed: u64,
    /// How long it runs.
    pub length: Nanos,
    /// What is not counted; a tenth of the length if missing.
    pub warm_up: Option<Nanos>,
    /// The resources.
    pub resource: Vec<ResourceSpec>,
    /// Who uses them.
    pub client: Vec<ClientSpec>,
}

fn one() -> u64 {
    1
}

/// A resource.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceSpec {
    /// What clients call it.
    pub name: String,
    /// Its model.
    pub device: DeviceSpec,
    /// Who lets background in, and when.
    #[serde(default)]
    pub policy: PolicySpec,
}

/// A device by its kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DeviceSpec {
    /// An ideal server.
    Server(Server),
    /// A spinning disk.
    Disk(DiskSetting),
    /// A solid-state disk.
    Ssd(SsdSetting),
    /// A link.
    Link(LinkSetting),
    /// A core.
    Cpu(CpuSetting),
}

/// A policy by its kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PolicySpec {
    /// No background.
    Alone {},
    /// As given.
    Fixed(FixedSpec),
    /// The live engine's control.
    Auto(ControlSetting),
    /// A window on the counters.
    Aimd(AimdSetting),
    /// A bucket of delay over a fixed setting.
    Bucket(BucketSetting),
    /// All background held in the foreground's busy periods.
    Smart(SmartSetting),
    /// All background held when its own progress falls.
    Manners(MannersSetting),
}

impl Default for PolicySpec {
    fn default() -> Self {
        Self::Auto(ControlSetting::default())
    }
}

/// A fixed setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedSpec {
    /// The preemption interval: a time, `none` or `infinite`.
    #[serde(deserialize_with = "interval")]
    pub interval: Interval,
    /// Background requests in service at once.
    #[serde(default = "depth")]
    pub depth: u32,
    /// Bytes of background in service at once.
    #[serde(default)]
    pub window: WindowChoice,
    /// Which machine.
    #[serde(default)]
    pub variant: Variant,
    /// What starts the interval.
    #[serde(default)]
    pub start: StartRule,
}

fn depth() -> u32 {
    1
}

fn interval<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Interval, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// A client, or several that do the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// The resource's name.
    pub resource: String,
    /// Whose requests these are.
    pub class: Class,
    /// When they come.
    pub workload: Workload,
    /// How many do the same.
    #[serde(default = "depth")]
    pub count: u32,
    /// Bytes per request.
    #[serde(default = "page")]
    pub bytes: u64,
    /// Work per request, on a core.
    pub work: Option<Span>,
    /// Whether requests lie one behind the other.
    #[serde(default)]
    pub sequential: bool,
}

fn page() -> u64 {
    4_096
}

/// Why a text is not a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// It is not TOML, or has a key or a value that is not one of ours. Names line and column, and shows the line.
    #[error("{0}")]
    Text(String),
    /// A client names a resource that does not exist.
    #[error("client {client}: there is no resource '{name}'; there are: {known}")]
    Resource {
        /// Which client, from 1.
        client: usize,
        /// What it names.
        name: String,
        /// What could be named.
        known: String,
    },
    /// Two resources share a name.
    #[error("the resource '{0}' is there twice; give each its own name")]
    Twice(String),
    /// Something cannot be simulated.
    #[error("{what}; {hint}")]
    Impossible {
        /// What.
        what: String,
        /// What to do.
        hint: &'static str,
    },
}

/// What one class of one resource got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassResult {
    /// Requests per second.
    pub requests_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Share of the time that the device worked for it.
    pub busy: f64,
    /// Mean latency.
    pub mean_ns: Option<u64>,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the latency.
    pub p99_ns: Option<u64>,
    /// Requests that found the queue full.
    pub dropped: u64,
}

/// What happened at one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceResult {
    /// Its name.
    pub name: String,
    /// The foreground.
    pub foreground: ClassResult,
    /// The background.
    pub background: ClassResult,
    /// The foreground without background.
    pub foreground_alone: ClassResult,
    /// Throughput that the foreground lost, from 0 to 1; negative is luck.
    pub foreground_loss: f64,
    /// Foreground requests that found background in service (B\[f\]).
    pub preemptions: u64,
    /// Foreground requests that the interval kept free (P\[f\]).
    pub kept_free: u64,
    /// The interval in force at the end.
    pub interval: String,
    /// The bounds on background in service at the end, in bytes and in requests.
    pub window_bytes: u64,
    /// See `window_bytes`.
    pub depth: u32,
    /// How often each event (f, b, t, i) happened in each state (I, F, B, P).
    pub counters: Counters,
}

/// Reads a scenario.
pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let scenario: Scenario =
        toml::from_str(text).map_err(|error| ScenarioError::Text(error.to_string().trim_end().to_owned()))?;
    scenario.check()?;
    Ok(scenario)
}

impl Scenario {
    fn check(&self) -> Result<(), ScenarioError> {
        let names: Vec<&str> = self.resource.iter().map(|resource| resource.name.as_str()).collect();
        for (index, resource) in self.resource.iter().enumerate() {
            if names[..index].contains(&resource.name.as_str()) {
                return Err(ScenarioError::Twice(resource.name.clone()));
            }
            let parallel = match &resource.device {
                DeviceSpec::Server(server) => server.slots > 1,
                DeviceSpec::Ssd(_) => true,
                _ => false,
            };
            if parallel && matches!(resource.policy, PolicySpec::Bucket(_)) {
                let what = format!("the resource '{}' serves several requests at once", resource.name);
                let hint = "the bucket policy counts waits on a device that serves one: use auto or fixed";
                return Err(ScenarioError::Impossible { what, hint });
            }
        }
        for (index, client) in self.client.iter().enumerate() {
            if !names.contains(&client.resource.as_str()) {
                let (name, known) = (client.resource.clone(), names.join(", "));
                return Err(ScenarioError::Resource { client: index + 1, name, known });
            }
        }
        if self.length == Nanos::ZERO {
            let what = "the length is 0".to_owned();
            return Err(ScenarioError::Impossible {
                what,
                hint: "write how long to run, like length = \"60s\"",
            });
        }
        Ok(())
    }

    fn world(&self, alone: bool) -> World {
        let mut world = World::new(self.seed);
        for resource in &self.resource {
            let policy = if alone { Policy::Alone } else { resource.policy.build() };
            world.add_station(resource.device.build(), &policy);
        }
        for spec in &self.client {
            let place = self.resource.iter().position(|resource| resource.name == spec.resource);
            let station = place.and_then(|place| u32::try_from(place).ok()).unwrap_or(0);
            let client = Client {
                station,
                class: spec.class,
                workload: spec.workload.clone(),
                bytes: spec.bytes,
                work: spec.work,
                sequential: spec.sequential,
            };
            for _ in 0..spec.count {
                world.add_client(client.clone());
            }
        }
        world
    }

    /// Runs it, and each foreground alone.
    pub fn run(&self) -> Vec<ResourceResult> {
        let warm = self.warm_up.unwrap_or(Nanos(self.length.0 / 10)).min(self.length);
        let seconds = self.length.since(warm).as_secs_f64().max(1e-9);
        let results = |alone: bool| {
            let mut world = self.world(alone);
            let all = |world: &World| -> Vec<[Tally; 2]> {
                let stations = 0..u32::try_from(self.resource.len()).unwrap_or(0);
                stations
                    .map(|s| [Class::Foreground, Class::Background].map(|c| world.tally(s, c).clone()))
                    .collect()
            };
            world.run_until(warm);
            let before = all(&world);
            world.run_until(self.length);
            let after = all(&world);
            let tallies: Vec<[ClassResult; 2]> = after
                .iter()
                .zip(&before)
                .map(|(after, before)| {
                    [0, 1].map(|c: usize| class_result(&after[c].since(&before[c]), seconds))
                })
                .collect();
            (world, tallies)
        };
        let ((world, with), (_, alone)) = (results(false), results(true));
        let each = self.resource.iter().zip(with.into_iter().zip(alone)).zip(0_u32..);
        each.map(|((resource, ([foreground, background], [foreground_alone, _])), station)| ResourceResult {
            name: resource.name.clone(),
            foreground_loss: if foreground_alone.requests_per_s > 0.0 {
                1.0 - foreground.requests_per_s / foreground_alone.requests_per_s
            } else {
                0.0
            },
            foreground,
            background,
            foreground_alone,
            preemptions: world.counters(station).preemptions(),
            kept_free: world.counters(station).kept_free(),
            interval: world.setting(station).interval.to_string(),
            window_bytes: world.setting(station).window_bytes,
            depth: world.setting(station).depth,
            counters: *world.counters(station),
        })
        .collect()
    }
}

fn class_result(tally: &Tally, seconds: f64) -> ClassResult {
    let quantile = |fraction| tally.latency.quantile(fraction).map(Nanos::as_nanos);
    ClassResult {
        requests_per_s: tally.completed as f64 / seconds,
        bytes_per_s: tally.bytes as f64 / seconds,
        busy: tally.busy.as_secs_f64() / seconds,
        mean_ns: tally.latency.mean().map(Nanos::as_nanos),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        dropped: tally.dropped,
    }
}

impl DeviceSpec {
    fn build(&self) -> Device {
        match self {
            Self::Server(server) => Device::Server(server.clone()),
            Self::Disk(setting) => Device::Disk(Disk::new(setting.clone())),
            Self::Ssd(setting) => Device::Ssd(Ssd::new(setting.clone())),
            Self::Link(setting) => Device::Link(Link::new(setting.clone())),
            Self::Cpu(setting) => Device::Cpu(Cpu::new(setting.clone())),
        }
    }
}

impl PolicySpec {
    fn build(&self) -> Policy {
        match self {
            Self::Alone {} => Policy::Alone,
            Self::Fixed(fixed) => Policy::Fixed(Setting {
                interval: fixed.interval,
                depth: fixed.depth,
                window_bytes: match fixed.window {
                    WindowChoice::Auto => u64::MAX,
                    WindowChoice::Fixed(bytes) => bytes,
                },
                variant: fixed.variant,
                start_rule: fixed.start,
                ..Setting::default()
            }),
            Self::Auto(aim) => Policy::Auto(*aim),
            Self::Aimd(aim) => Policy::Aimd(*aim),
            Self::Bucket(bucket) => Policy::Bucket(Setting::default(), *bucket),
            Self::Smart(setting) => Policy::Smart(*setting),
            Self::Manners(setting) => Policy::Manners(*setting),
        }
    }
}

#[cfg(test)]
mod tests;
