//! What `perf script` prints of block events.
//!
//! ```text
//!   tar 24364 [001] 11899.056842: block:block_rq_issue: 254,0 RA 4096 () 324068952 + 8 0x3,0,0 [tar]
//!   swapper 0 [001] 11899.057742: block:block_rq_complete: 254,0 RA () 324068952 + 8 0x3,0,0 [0]
//!   command pid cpu seconds       event             device rwbs bytes (...) sector + sectors ioprio [command]
//! ```
//! Events used: `block_rq_insert`, `block_rq_issue`, `block_rq_complete`; other lines say nothing. The I/O priority is
//! there since Linux 6.9: class `idle` (or 0x3) is background, as is every request of a command that was named so.
//!
//! Edge cases: commands may hold blanks, so a line is read from its event outwards. A flush has no sectors and the
//! sector 0 or -1; it is left out.
//!
//! Source: the kernel's include/trace/events/block.h (`TP_printk`).

use lull_core::Nanos;

use super::blkparse::is_device;
use super::pairs::{Happening, Pairs, Step};
use super::{Builder, Fault, Format, ParseOptions, Trace, TraceError, seconds};
use crate::class::Class;

/// What marks a line as one of ours.
pub(super) const MARK: &str = "block:block_rq_";

pub(super) fn parse(text: &str, options: &ParseOptions) -> Result<Trace, TraceError> {
    let mut pairs = Pairs::new(Builder::new(Format::PerfScript, Nanos::from_micros(1)));
    for (index, line) in text.lines().enumerate() {
        let Some((before, event)) = line.split_once(MARK) else { continue };
        let fail = |fault| TraceError::at(index + 1, line, fault);
        let Some((name, rest)) = event.split_once(':') else { return Err(fail(Fault::Missing("event"))) };
        let step = match name {
            "insert" => Step::Queued,
            "issue" => Step::Issued,
            "merge" => Step::Merged,
            "complete" => Step::Completed,
            _ => continue,
        };
        let time = before.split_ascii_whitespace().next_back().map(|text| text.trim_end_matches(':'));
        let time = time.ok_or_else(|| fail(Fault::Missing("time")))?;
        let at = seconds(time).ok_or_else(|| fail(Fault::number("time", time)))?;
        let device = rest.split_ascii_whitespace().next().ok_or_else(|| fail(Fault::Missing("device")))?;
        if !is_device(device) {
            let text = device.to_owned();
            return Err(fail(Fault::Word { name: "the device", text, choices: "major,minor, like 8,0" }));
        }
        let Some((_, place)) = rest.split_once(')') else {
            return Err(fail(Fault::Missing("command in ()")));
        };
        let mut fields = place.split_ascii_whitespace();
        let mut next = |name| fields.next().ok_or_else(|| fail(Fault::Missing(name)));
        let sector = next("sector")?;
        next("plus sign")?;
        let count = next("number of sectors")?;
        let sectors: u64 = count.parse().map_err(|_| fail(Fault::number("number of sectors", count)))?;
        let Ok(sector) = sector.parse() else { continue };
        if sectors == 0 {
            continue;
        }
        let priority = fields.next().unwrap_or_default();
        let issuer = place.rsplit_once('[').map_or("", |(_, rest)| rest.trim_end().trim_end_matches(']'));
        let idle = priority.starts_with("idle,") || priority.starts_with("0x3,");
        let named = options.background_commands.iter().any(|name| name == issuer);
        let class = if idle || named { Class::Background } else { Class::Foreground };
        pairs.take(&Happening { at, step, device, sector, bytes: sectors.saturating_mul(512), class });
    }
    pairs.finish().finish()
}
