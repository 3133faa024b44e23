//! fio's iologs (`write_iolog`), versions 2 and 3.
//!
//! The first line is `fio version N iolog`. Version 3 puts the time of each action before it, in microseconds from the
//! beginning of the run; version 2 has `FILE wait MICROSECONDS` lines instead, which name the time since the run began.
//!
//! ```text
//! fio version 3 iolog
//! 29 /data/file add
//! 6723 /data/file open
//! 6737 /data/file read 1011712 4096
//! ```
//!
//! Edge cases: an iolog knows when requests were made, not how long they took: ends are those of the arrivals, and
//! [`Trace::timed`](super::Trace) says so. In version 2 requests between two waits arrive together.
//!
//! Source: fio's HOWTO, "Trace file format v2" and "v3"; the unit of version 3 as fio 3.33 writes it.

use lull_core::Nanos;

use super::{Builder, Fault, Format, Trace, TraceError};
use crate::class::Class;

/// What the first line begins with.
pub(super) const MAGIC: &str = "fio version ";

const ACTIONS: &str = "add, open, close, wait, read, write, sync, datasync, trim";

pub(super) fn parse(text: &str) -> Result<Trace, TraceError> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(MAGIC));
    let (index, head) = lines.next().unwrap_or((0, ""));
    let timed = match head.trim() {
        "fio version 2 iolog" => false,
        "fio version 3 iolog" => true,
        _ => {
            let choices = "'fio version 2 iolog', 'fio version 3 iolog'";
            let text = head.to_owned();
            return Err(TraceError::at(index + 1, head, Fault::Word { name: "the header", text, choices }));
        }
    };
    let mut builder = Builder::new(Format::FioIolog, Nanos::from_micros(1));
    builder.trace.timed = false;
    let mut now = Nanos::ZERO;
    for (index, line) in lines {
        let fail = |fault| TraceError::at(index + 1, line, fault);
        let mut fields = line.split_ascii_whitespace();
        let Some(first) = fields.next() else { continue };
        let mut next = |name| fields.next().ok_or_else(|| fail(Fault::Missing(name)));
        let number = |name, text: &str| text.parse::<u64>().map_err(|_| fail(Fault::number(name, text)));
        let file = if timed {
            now = Nanos::from_micros(number("timestamp", first)?);
            next("file")?
        } else {
            first
        };
        match next("action")? {
            "add" | "open" | "close" => {}
            "wait" if !timed => now = now.max(Nanos::from_micros(number("wait", next("offset")?)?)),
            "read" | "write" | "trim" => {
                number("offset", next("offset")?)?;
                let bytes = number("length", next("length")?)?;
                builder.add(now, now, Class::Foreground, bytes, file);
            }
            "sync" | "datasync" => builder.add(now, now, Class::Foreground, 0, file),
            other => {
                let text = other.to_owned();
                return Err(fail(Fault::Word { name: "the action", text, choices: ACTIONS }));
            }
        }
    }
    builder.finish()
}
