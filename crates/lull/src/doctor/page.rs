//! A page of text: sections of labelled lines, wrapped to fit 100 columns.
//!
//! Labels stand in a column of their own; what follows is wrapped at blanks and hangs beside them. A word longer than the
//! column (a path, a command) is not broken, so that it can be copied.

use std::fmt::Write;

/// Columns of a page.
pub(super) const WIDTH: usize = 100;
const LABEL: usize = 26;
const INDENT: usize = 2;

/// How good a line's news are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Neither.
    Plain,
    /// As good as it gets.
    Good,
    /// Works, but not at its best; or without effect.
    Fair,
    /// Not to be had.
    Bad,
}

impl Tone {
    const fn escape(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("\x1b[32m"),
            Self::Fair => Some("\x1b[33m"),
            Self::Bad => Some("\x1b[31m"),
        }
    }
}

/// A page being written.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    colour: bool,
}

impl Page {
    /// An empty page.
    pub(super) const fn new(colour: bool) -> Self {
        Self { text: String::new(), colour }
    }

    /// Begins a section.
    pub(super) fn section(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let title = self.painted(title, Some("\x1b[1m"));
        self.text.push_str(&title);
        self.text.push('\n');
    }

    /// A labelled line; the part of the text up to the first colon carries the tone.
    pub(super) fn line(&mut self, label: &str, tone: Tone, text: &str) {
        let lines = wrap(text, WIDTH - INDENT - LABEL);
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = if index == 0 { self.toned(line, tone) } else { line.clone() };
            let gap = if label.chars().count() < LABEL { LABEL - label.chars().count() } else { 1 };
            // Writing to a String can't fail.
            let _never = writeln!(self.text, "{:INDENT$}{label}{:gap$}{line}", "", "");
        }
    }

    /// A paragraph without a label.
    pub(super) fn paragraph(&mut self, text: &str) {
        for line in wrap(text, WIDTH - INDENT) {
            let _never = writeln!(self.text, "{:INDENT$}{line}", "");
        }
    }

    /// One item of a list.
    pub(super) fn item(&mut self, text: &str) {
        for (index, line) in wrap(text, WIDTH - 2 * INDENT).iter().enumerate() {
            let mark = if index == 0 { "-" } else { "" };
            let _never = writeln!(self.text, "{:INDENT$}{mark:INDENT$}{line}", "");
        }
    }

    /// A command to copy: never wrapped.
    pub(super) fn command(&mut self, command: &str) {
        let command = self.painted(command, Some("\x1b[1m"));
        let _never = writeln!(self.text, "{:INDENT$}  $ {command}", "");
    }

    /// The whole page.
    pub(super) fn finish(self) -> String {
        self.text
    }

    fn toned(&self, line: &str, tone: Tone) -> String {
        let split = line.find(':').unwrap_or(line.len());
        let (head, tail) = line.split_at(split);
        self.painted(head, tone.escape()) + tail
    }

    fn painted(&self, text: &str, escape: Option<&str>) -> String {
        match escape {
            Some(escape) if self.colour => format!("{escape}{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// Breaks a text at blanks into lines of at most `width` columns; longer words get a line of their own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests;
