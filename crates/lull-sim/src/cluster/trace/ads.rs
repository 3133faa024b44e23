//! What `condor_status -long` and `condor_history -long` print: `Attribute = value`, an empty line after each ad.
//!
//! Machines: the owner's load is the machine's without HTCondor's jobs, per CPU (`TotalLoadAvg`, `TotalCondorLoadAvg`, `TotalCpus`; `LoadAvg`, … where
//! there are no slots). The owner is at work if somebody has touched keyboard or console in the last quarter of an hour, as in HTCondor's own policy for
//! desktops, or if HTCondor says so (`State`). Several slots of a machine say the same; of samples with the same time the first counts. Memory is
//! not told.
//!
//! Source: HTCondor Manual, *Machine ClassAd Attributes* and *Job ClassAd Attributes*.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use lull_core::Nanos;

use super::{Bad, Guests, Nodes, TraceError};
use crate::cluster::owner::Sample;
use crate::span::nanos;

/// Idle for so long, in seconds, an owner is away.
const AWAY_S: f64 = 900.0;
/// HTCondor's status of a job that is done.
const COMPLETED: f64 = 4.0;

/// One ad, with the line on which it begins.
#[derive(Debug, Default)]
struct Ad {
    line: u64,
    first: String,
    values: HashMap<String, String>,
}

impl Ad {
    fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.trim_matches('"'))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn first_number(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.number(name))
    }
}

/// Calls `each` with every ad; a line that is not of an ad is bad.
fn read(
    mut text: impl BufRead,
    how: &str,
    mut each: impl FnMut(&Ad) -> Result<(), String>,
) -> Result<(), TraceError> {
    let mut bad = Bad::default();
    let mut ad = Ad::default();
    let mut raw = Vec::new();
    let mut line = 0;
    loop {
        raw.clear();
        let end = text.read_until(b'\n', &mut raw)? == 0;
        line += 1;
        let words = String::from_utf8_lossy(&raw);
        let words = words.trim();
        if words.is_empty() {
            if !ad.values.is_empty()
                && let Err(problem) = each(&ad)
            {
                bad.add(ad.line, &ad.first, problem);
            }
            ad = Ad::default();
            if end {
                break;
            }
            continue;
        }
        let Some((name, value)) = words.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
        else {
            bad.add(line, words, format!("this is not 'Attribute = value'; print the ads with {how}"));
            continue;
        };
        if ad.values.is_empty() {
            (ad.line, ad.first) = (line, words.to_owned());
        }
        ad.values.insert(name.to_owned(), value.to_owned());
    }
    bad.none()
}

fn missing(names: &[&str], how: &str) -> String {
    format!("the ad that begins here has no number {}; print whole ads with {how}", names.join(" or "))
}

pub(super) fn machines(text: impl BufRead) -> Result<Nodes, TraceError> {
    const HOW: &str = "condor_status -long";
    const TIMES: [&str; 2] = ["MyCurrentTime", "LastHeardFrom"];
    const LOADS: [&str; 2] = ["TotalLoadAvg", "LoadAvg"];
    let mut nodes = Nodes::default();
    read(text, HOW, |ad| {
        let name = ad.text("Machine").or_else(|| ad.text("Name")).filter(|name| !name.is_empty());
        let name = name
            .ok_or_else(|| format!("the ad that begins here names no Machine; print whole ads with {HOW}"))?;
        let time = ad.first_number(&TIMES).ok_or_else(|| missing(&TIMES, HOW))?;
        if time < 0.0 {
            return Err(format!(
                "the ad that begins here is of the time {time}, before 1970; was the node's clock set?"
            ));
        }
        let load = ad.first_number(&LOADS).ok_or_else(|| missing(&LOADS, HOW))?;
        let guests = ad.first_number(&["TotalCondorLoadAvg", "CondorLoadAvg"]).unwrap_or(0.0);
        let cpus = ad.first_number(&["TotalCpus", "Cpus"]).unwrap_or(1.0).max(1.0);
        #[expect(clippy::cast_possible_truncation, reason = "a load needs three digits")]
        let load = ((load - guests) / cpus).clamp(0.0, 1.0) as f32;
        let idle = ad.first_number(&["KeyboardIdle", "ConsoleIdle"]);
        let in_use = ad.text("State") == Some("Owner") || idle.is_some_and(|idle| idle < AWAY_S);
        let at = nanos(time * 1e9);
        let samples = nodes.of(name);
        match samples.last() {
            Some(last) if at == last.at => Ok(()),
            Some(last) if at < last.at => Err(format!(
                "the ad that begins here is older than one of {name} before it; put snapshots in the order of time"
            )),
            _ => {
                samples.push(Sample { at, load, memory: 0.0, in_use });
                Ok(())
            }
        }
    })?;
    Ok(nodes)
}

pub(super) fn jobs(text: impl BufRead) -> Result<Guests, TraceError> {
    const HOW: &str = "condor_history -long";
    let mut jobs: Vec<(f64, f64)> = Vec::new();
    let mut left_out = 0;
    let mut hosts = BTreeSet::new();
    read(text, HOW, |ad| {
        let came = ad.number("QDate").ok_or_else(|| missing(&["QDate"], HOW))?;
        let cpu = ad.number("RemoteUserCpu").ok_or_else(|| missing(&["RemoteUserCpu"], HOW))?;
        let cpu = cpu + ad.number("RemoteSysCpu").unwrap_or(0.0);
        if came < 0.0 || cpu < 0.0 {
            return Err("QDate or RemoteUserCpu is negative; leave this job out".to_owned());
        }
        if cpu == 0.0 || ad.number("JobStatus").is_some_and(|status| status != COMPLETED) {
            left_out += 1;
            return Ok(());
        }
        if let Some(host) = ad.text("LastRemoteHost") {
            hosts.insert(host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned());
        }
        jobs.push((came, cpu));
        Ok(())
    })?;
    jobs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((first, _)) = jobs.first().copied() else {
        return Err(TraceError::Nothing("there is no job in it that was done and used a CPU"));
    };
    Ok(Guests {
        work: jobs.iter().map(|(_, cpu)| nanos(cpu * 1e9)).collect(),
        arrivals: jobs.iter().map(|(came, _)| nanos((came - first) * 1e9)).collect::<Vec<Nanos>>(),
        left_out,
        hosts: hosts.into_iter().collect(),
    })
}
