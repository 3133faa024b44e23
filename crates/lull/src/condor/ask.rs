//! HTCondor's own tools, and the values that they print.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// What a tool says on standard output.
///
/// # Errors
/// When there is no such tool, or it fails: with the last line of what it says.
pub(super) fn tool(name: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(name).args(args).stdin(Stdio::null()).output();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("no {name} here: is HTCondor installed, and its bin directory in PATH?")
        }
        other => other.with_context(|| format!("cannot run {name}"))?,
    };
    if !output.status.success() {
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        let line = said
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .unwrap_or("it says nothing")
            .to_owned();
        bail!("{name} failed: {line}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A configuration value of this node; `None` where it has none.
///
/// # Errors
/// When HTCondor is not there.
pub(super) fn setting(name: &str) -> anyhow::Result<Option<String>> {
    match tool("condor_config_val", &[name]) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.to_string().contains("Not defined") => Ok(None),
        Err(error) => Err(error),
    }
}

/// A value of an ad that was evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(f64),
    Bool(bool),
    /// `undefined`, or `error`.
    Nothing,
}

impl Value {
    fn parse(text: &str) -> Self {
        match text {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ if text.starts_with('"') => Self::Text(text.trim_matches('"').replace("\\\"", "\"")),
            _ => text.parse().map_or(Self::Nothing, Self::Number),
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_true(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

/// The values of these attributes, of every slot ad that fits.
///
/// # Errors
/// When the collector does not answer.
pub(super) fn slots<const N: usize>(
    constraint: Option<&str>,
    pool: Option<&str>,
    attributes: [&str; N],
) -> anyhow::Result<Vec<[Value; N]>> {
    let mut args: Vec<&str> = Vec::new();
    args.extend(pool.iter().flat_map(|pool| ["-pool", pool]));
    args.extend(constraint.iter().flat_map(|constraint| ["-constraint", constraint]));
    // Tabs between, and each value as ClassAds write it.
    args.push("-af:Vt");
    args.extend(attributes);
    Ok(tool("condor_status", &args)?.lines().filter_map(row).collect())
}

/// The same of this machine's slots, as its own startd has them now.
///
/// # Errors
/// When the startd does not answer.
pub(super) fn slots_of<const N: usize>(
    machine: &str,
    attributes: [&str; N],
) -> anyhow::Result<Vec<[Value; N]>> {
    let args: Vec<&str> = ["-direct", machine, "-af:Vt"].into_iter().chain(attributes).collect();
    Ok(tool("condor_status", &args)?.lines().filter_map(row).collect())
}

/// A row; `None` for one with fewer or more values.
fn row<const N: usize>(line: &str) -> Option<[Value; N]> {
    let values: Vec<Value> = line.split('\t').map(|text| Value::parse(text.trim())).collect();
    values.try_into().ok()
}

#[cfg(test)]
mod tests;
