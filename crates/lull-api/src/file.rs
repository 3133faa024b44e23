//! The configuration file: options of the table in a section `[run]`, each by its name.
//!
//! A file is a command line that is written down: each key becomes words, which are read as the command line is. So both accept the
//! same. One word or number is a value, a list is several; where commas separate values they do here, too. `true` is the option without
//! a value, `false` is none, unless the option takes those two as values.
//!
//! ```text
//! [run]                             --interval=5ms
//! interval = "5ms"           ──▶    --disk=vda --disk=vdb
//! disk = ["vda", "vdb"]             --qdisc
//! qdisc = true
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Args, Command};
use toml::{Spanned, Value};

use crate::given::{Said, command};
use crate::options::ThisRun;

/// Why a file says nothing.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something in it makes no sense.
    #[error("in {}: {problem}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What, and where, in one line.
        problem: String,
    },
}

/// Where a file is looked for when none is named.
fn usual_places() -> impl Iterator<Item = PathBuf> {
    let home = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    home.map(|dir| dir.join("lull/lull.toml")).into_iter().chain([PathBuf::from("/etc/lull/lull.toml")])
}

/// What the named file says, or the first usual one that exists; nothing, if there is none.
///
/// # Errors
/// A named file that is missing, a key that is unknown, a value that makes no sense; each with the file's name.
pub fn read(named: Option<&Path>) -> Result<Said, FileError> {
    let text = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })
    };
    let path = named.map(Path::to_path_buf).or_else(|| usual_places().find(|path| path.is_file()));
    let text = path.as_deref().map_or_else(|| Ok(String::new()), text)?;
    parse(&text).map_err(|problem| FileError::Wrong { path: path.unwrap_or_default(), problem })
}

type Section = BTreeMap<Spanned<String>, Value>;

/// What this text of a file says.
///
/// # Errors
/// What is wrong in it and where, in one line.
pub fn parse(text: &str) -> Result<Said, String> {
    let at = |span: Range<usize>, what: String| {
        let line = text.get(..span.start).map_or(0, |before| before.matches('\n').count()) + 1;
        format!("line {line}: {what}")
    };
    let sections = toml::from_str::<BTreeMap<Spanned<String>, Section>>(text).map_err(|error| {
        let what = error.message().trim_end().replace('\n', ", ");
        error.span().map_or_else(|| what.clone(), |span| at(span, what.clone()))
    })?;
    let mut all = Vec::new();
    for (name, section) in sections {
        if name.get_ref() != "run" {
            return Err(at(
                name.span(),
                format!("unknown section '{}'; there is [run] alone", name.get_ref()),
            ));
        }
        for (key, value) in section {
            let words = words(key.get_ref(), value).map_err(|what| at(key.span(), what))?;
            Said::by(&words).map_err(|error| at(key.span(), told(key.get_ref(), &error)))?;
            all.extend(words);
        }
    }
    Said::by(all).map_err(|error| error.to_string())
}

/// A key and its value as words of a command line.
fn words(key: &str, value: Value) -> Result<Vec<String>, String> {
    let command = command();
    let mut options = command.get_arguments();
    let option = options.find(|option| option.get_long() == Some(key)).ok_or_else(|| unknown(key))?;
    let is_flag = !option.get_action().takes_values();
    let may_be_bare = is_flag || option.get_num_args().is_some_and(|count| count.min_values() == 0);
    let takes_false = option.get_possible_values().iter().any(|value| value.matches("false", false));
    let is_list = value.is_array();
    let values = match value {
        Value::Boolean(true) if may_be_bare => return Ok(vec![format!("--{key}")]),
        Value::Boolean(false) if is_flag || (may_be_bare && !takes_false) => return Ok(Vec::new()),
        _ if is_flag => return Err(format!("run.{key}: write true or false")),
        Value::Array(values) => values,
        value => vec![value],
    };
    if is_list && !matches!(option.get_action(), ArgAction::Append) {
        return Err(format!("run.{key}: one can be named, not a list"));
    }
    let texts: Result<Vec<_>, _> = values.into_iter().map(|value| text(option, value)).collect();
    Ok(texts?.into_iter().flatten().map(|text| format!("--{key}={text}")).collect())
}

/// The texts that one value stands for.
fn text(option: &Arg, value: Value) -> Result<Vec<String>, String> {
    let text = match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        other => {
            let key = option.get_long().unwrap_or_default();
            return Err(format!(
                "run.{key}: '{other}' is no value; write a word or a number, or a list of them"
            ));
        }
    };
    Ok(match option.get_value_delimiter() {
        Some(delimiter) => text.split(delimiter).map(|word| word.trim().to_owned()).collect(),
        None => vec![text],
    })
}

fn unknown(key: &str) -> String {
    let command = ThisRun::augment_args(Command::new("run"));
    if command.get_arguments().any(|option| option.get_long() == Some(key)) {
        return format!("'{key}' belongs to a single run; give it on the command line");
    }
    let error = Said::by([format!("--{key}")]).err();
    let meant = error.as_ref().and_then(|error| error.get(ContextKind::SuggestedArg));
    let similar =
        meant.map(|meant| format!("; a similar one is '{}'", meant.to_string().trim_start_matches("--")));
    format!("unknown option '{key}'{}", similar.unwrap_or_else(|| "; lull run --help lists them".to_owned()))
}

/// What is wrong with the value of a key.
fn told(key: &str, error: &clap::Error) -> String {
    let wrong = match (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(wrong)), Some(ContextValue::Strings(valid))) if !valid.is_empty() => {
            format!("'{wrong}' is none of {}", valid.join(", "))
        }
        _ => error.source().map_or_else(|| error.kind().to_string(), ToString::to_string),
    };
    format!("run.{key}: {wrong}")
}

#[cfg(test)]
mod tests;
