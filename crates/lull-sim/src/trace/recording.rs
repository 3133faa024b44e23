//! lull's own recording of the requests of one or more devices: a text file, one request per line.
//!
//! Problem: what other tools write lacks something that advice needs: fio's logs blur times to milliseconds,
//! blkparse does not tell background from foreground. `lull record` knows both.
//!
//! Format, version 1:
//!
//! ```text
//! # lull-recording 1
//! # arrival_ns end_ns class bytes device
//! 81250 20093127 f 4096 vda
//! 20101000 20871000 b 65536 vda
//! ```
//!
//! - The first line is exactly `# lull-recording 1`. Other lines that begin with `#`, and empty ones, say nothing.
//! - `arrival_ns`, `end_ns`: when the request arrived at the device's queue and when the device had finished it, in
//!   nanoseconds on one clock with any origin; `end_ns` is not before `arrival_ns`.
//! - `class`: `f` foreground, `b` background.
//! - `bytes`: how much it moved; 0 for a flush.
//! - `device`: the name as in `/sys/block`, without white space.
//! - Fields are separated by one or more blanks. Lines may stand in any order; requests that had not ended when the
//!   recording stopped are left out.
//!
//! Edge cases: a version other than 1 is refused rather than guessed at; a last line without its end of line, as a
//! full disk leaves it, is an error like any other.

use std::io::{self, Write};

use lull_core::Nanos;

use super::error::{Fault, TraceError};
use crate::class::Class;

/// What every recording begins with.
pub const MAGIC: &str = "# lull-recording";
/// The version that this module writes and reads.
pub const VERSION: u32 = 1;

/// One request as it stands in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it arrived at the device's queue.
    pub arrival: Nanos,
    /// When the device had finished it.
    pub end: Nanos,
    /// Whose it was.
    pub class: Class,
    /// How much it moved.
    pub bytes: u64,
    /// The device's name.
    pub device: &'a str,
}

/// Writes a recording line by line.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{MAGIC} {VERSION}")?;
        writeln!(out, "# arrival_ns end_ns class bytes device")?;
        Ok(Self { out })
    }

    /// Writes one request. A device name that could not be read back is refused.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if record.device.is_empty() || record.device.contains(char::is_whitespace) {
            let text = format!("the device name '{}' is empty or has white space in it", record.device);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let Record { arrival, end, class, bytes, device } = record;
        writeln!(self.out, "{} {} {} {bytes} {device}", arrival.0, end.0, class.letter())
    }

    /// Writes a comment: a line that readers skip.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "# {}", text.replace('\n', " "))
    }

    /// Flushes, and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Checks the first line of a recording.
pub(super) fn check_header(line: &str) -> Result<(), TraceError> {
    let version = line.strip_prefix(MAGIC).map(str::trim);
    if version.and_then(|version| version.parse().ok()) == Some(VERSION) {
        return Ok(());
    }
    Err(TraceError::at(1, line, Fault::Version { expected: VERSION }))
}

/// Reads one line; `None` for a comment or an empty line. `number` is the line's, for errors.
pub fn parse_line(number: usize, line: &str) -> Result<Option<Record<'_>>, TraceError> {
    let text = line.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let fail = |fault| TraceError::at(number, line, fault);
    let mut fields = text.split_ascii_whitespace();
    let mut next = |name| fields.next().ok_or_else(|| fail(Fault::Missing(name)));
    let whole = |text: &str, name| text.parse::<u64>().map_err(|_| fail(Fault::number(name, text)));
    let arrival = Nanos(whole(next("arrival_ns")?, "arrival_ns")?);
    let end = Nanos(whole(next("end_ns")?, "end_ns")?);
    let class = match next("class")? {
        "f" => Class::Foreground,
        "b" => Class::Background,
        other => return Err(fail(Fault::Class(other.to_owned()))),
    };
    let bytes = whole(next("bytes")?, "bytes")?;
    let device = next("device")?;
    if let Some(more) = fields.next() {
        return Err(fail(Fault::More(more.to_owned())));
    }
    if end < arrival {
        return Err(fail(Fault::Backwards));
    }
    Ok(Some(Record { arrival, end, class, bytes, device }))
}

#[cfg(test)]
mod tests;
