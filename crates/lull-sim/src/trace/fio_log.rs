//! fio's latency logs (`write_lat_log`, the `_lat` or `_clat` file).
//!
//! One line per request: `time, latency, direction, block size, offset, priority`; older versions of fio end after the
//! block size. `time` is when it ended, in whole milliseconds; the latency is in nanoseconds. The priority is there with
//! `log_prio=1`; its class stands in the upper three bits (13 and up), 3 is idle.
//!
//! Edge cases: gaps are only as exact as the time: below a few milliseconds they are guesses, and the trace says so by
//! its resolution. A log that was averaged (`log_avg_msec`) looks the same but holds no requests: direct users
//! to log every one.
//!
//! Source: fio's HOWTO, "Log File Formats".

use lull_core::Nanos;

use super::{Builder, Fault, Format, Trace, TraceError};
use crate::class::Class;

const IDLE_CLASS: u64 = 3;
const CLASS_SHIFT: u32 = 13;

/// At least four numbers between commas.
pub(super) fn looks_like(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    fields.len() >= 4 && fields[..4].iter().all(|field| field.parse::<u64>().is_ok())
}

pub(super) fn parse(text: &str) -> Result<Trace, TraceError> {
    let mut builder = Builder::new(Format::FioLatencyLog, Nanos::from_millis(1));
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fail = |fault| TraceError::at(index + 1, line, fault);
        let mut fields = line.split(',').map(str::trim);
        let mut number = |name| {
            let text = fields.next().ok_or_else(|| fail(Fault::Missing(name)))?;
            text.parse::<u64>().map_err(|_| fail(Fault::number(name, text)))
        };
        let end = Nanos::from_millis(number("time")?);
        let latency = Nanos(number("latency")?);
        let direction = number("direction")?;
        if direction > 2 {
            let (name, text) = ("direction", direction.to_string());
            return Err(fail(Fault::Word { name, text, choices: "0 (read), 1 (write), 2 (trim)" }));
        }
        let bytes = number("block size")?;
        let priority = fields.nth(1).map(|text| (text, hexadecimal(text)));
        let class = match priority {
            None => Class::Foreground,
            Some((text, None)) => return Err(fail(Fault::number("priority", text))),
            Some((_, Some(priority))) if priority >> CLASS_SHIFT == IDLE_CLASS => Class::Background,
            Some(_) => Class::Foreground,
        };
        // Without the time before the log began, the first requests would end after they arrived in the past.
        let arrival = Nanos(end.0.saturating_add(1 << 40)).since(latency);
        builder.add(arrival, arrival.plus(latency), class, bytes, "fio");
    }
    builder.finish()
}

fn hexadecimal(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
