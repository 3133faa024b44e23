//! The text that `blkparse` makes of a `blktrace`.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  D   W 223490 + 8 [kjournald]
//!   device cpu sequence   seconds       pid  action rwbs sector + sectors [command]
//! ```
//! Actions used: Q queued, D issued, M and F merged into another request, C completed. The others say nothing here.
//!
//! Edge cases: lines that do not begin with a device are blkparse's summary. Flushes without a sector are left out.
//! blkparse does not tell priorities: requests are background if their command was named as such.
//!
//! Source: blkparse(1), "DEFAULT OUTPUT" and "TRACE ACTIONS".

use lull_core::Nanos;

use super::pairs::{Happening, Pairs, Step};
use super::{Builder, Fault, Format, ParseOptions, Trace, TraceError, seconds};
use crate::class::Class;

const SECTOR_BYTES: u64 = 512;

/// `major,minor` first, a CPU and a number next.
pub(super) fn looks_like(line: &str) -> bool {
    let mut fields = line.split_ascii_whitespace();
    let device = fields.next().is_some_and(is_device);
    device && fields.next().is_some_and(is_number) && fields.next().is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

/// `8,0`.
pub(super) fn is_device(text: &str) -> bool {
    text.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

pub(super) fn parse(text: &str, options: &ParseOptions) -> Result<Trace, TraceError> {
    let mut pairs = Pairs::new(Builder::new(Format::Blkparse, Nanos(1)));
    for (index, line) in text.lines().enumerate() {
        let fail = |fault| TraceError::at(index + 1, line, fault);
        let mut fields = line.split_ascii_whitespace();
        let Some(device) = fields.next().filter(|first| is_device(first)) else { continue };
        let mut next = |name| fields.next().ok_or_else(|| fail(Fault::Missing(name)));
        next("CPU")?;
        next("sequence number")?;
        let time = next("time")?;
        let at = seconds(time).ok_or_else(|| fail(Fault::number("time", time)))?;
        next("process id")?;
        let step = match next("action")? {
            "Q" => Step::Queued,
            "D" => Step::Issued,
            "M" | "F" => Step::Merged,
            "C" => Step::Completed,
            _ => continue,
        };
        next("RWBS")?;
        let Some(sector) = fields.next().and_then(|text| text.parse().ok()) else { continue };
        let mut next = |name| fields.next().ok_or_else(|| fail(Fault::Missing(name)));
        next("plus sign")?;
        let count = next("number of sectors")?;
        let sectors: u64 = count.parse().map_err(|_| fail(Fault::number("number of sectors", count)))?;
        let command = line.rsplit_once('[').map_or("", |(_, rest)| rest.trim_end().trim_end_matches(']'));
        let named = options.background_commands.iter().any(|name| name == command);
        let class = if named { Class::Background } else { Class::Foreground };
        let bytes = sectors.saturating_mul(SECTOR_BYTES);
        pairs.take(&Happening { at, step, device, sector, bytes, class });
    }
    pairs.finish().finish()
}
