//! What lull tells of a run of its own: its summary, in a file that goes with this value.
//!
//! A control that could not have what it needs (no right to load BPF, no such group) lets the job go on, as
//! it should; its run is then no measurement of the control. So what the summary says was missing stands in
//! the run's notes, and with [`SummaryFile::had`] an experiment asks for what it is about.

use std::path::Path;

use serde_json::Value;
use tempfile::TempPath;

use crate::Error;
use crate::contender::Contender;
use crate::error::Context;

const PREFIX: &str = "summary-";
const SUFFIX: &str = ".json";

/// A summary to come.
#[derive(Debug)]
pub struct SummaryFile {
    file: TempPath,
}

impl SummaryFile {
    /// In the output directory.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory);
        Ok(Self { file: file.at("create a summary file in", directory)?.into_temp_path() })
    }

    /// The flags by which lull writes it, and nothing to the terminal.
    pub fn flags(&self) -> [String; 4] {
        flags(&self.file)
    }

    /// The summary; what keeps it from being one of a run under control is noted.
    pub fn read(&self, notes: &mut Vec<String>) -> Option<Value> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        match serde_json::from_str::<Value>(&text) {
            Ok(summary) => {
                if summary.get("is_complete") == Some(&Value::Bool(false)) {
                    notes.push("lull's supervisor was gone when the job ended".to_owned());
                }
                let lists = ["unmet", "notes"].into_iter().filter_map(|key| summary.get(key)?.as_array());
                notes.extend(lists.flatten().filter_map(Value::as_str).map(|note| format!("lull: {note}")));
                Some(summary)
            }
            Err(error) => {
                notes.push(format!("lull left no summary that can be read: {error}"));
                None
            }
        }
    }

    /// The summary, and whether the run measures its contender: of a run of lull, whatever its policy, that
    /// there is one, and that it was in control to the end.
    pub fn of(&self, contender: &Contender, notes: &mut Vec<String>) -> (Option<Value>, bool) {
        if !contender.is_run() {
            return (None, true);
        }
        let summary = self.read(notes);
        let is_complete = |summary: &Value| summary.get("is_complete") != Some(&Value::Bool(false));
        let counts = summary.as_ref().is_some_and(is_complete);
        (summary, counts)
    }

    /// Whether a run measures its contender: of lull, that it had the resource, which is then a part of its
    /// summary.
    pub fn had(&self, contender: &Contender, part: &str, notes: &mut Vec<String>) -> bool {
        if !matches!(contender, Contender::Lull(_)) {
            return true;
        }
        self.read(notes).is_some_and(|summary| summary.get(part).is_some_and(|part| !part.is_null()))
    }
}

fn flags(file: &Path) -> [String; 4] {
    let file = file.to_string_lossy().into_owned();
    ["-q".to_owned(), "--json".to_owned(), "--summary".to_owned(), file]
}

/// Removes the summaries that a killed measurement was waiting for.
pub fn sweep(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            // In the way of nobody if it cannot be removed.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
