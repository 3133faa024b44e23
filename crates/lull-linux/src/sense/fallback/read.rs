//! Reading the counters.

use std::io;

use super::{DeviceCounts, JobIo};
use crate::proc::field;
use crate::root::Root;

const SECTOR_BYTES: u64 = 512;

impl JobIo {
    /// The sum over processes. One that is gone by now counts with its parent, which inherited its accounts.
    pub fn of_processes(root: &Root, pids: impl IntoIterator<Item = i32>) -> Self {
        let mut sum = Self::default();
        for pid in pids {
            let Some(text) = root.read(format!("/proc/{pid}/io")) else { continue };
            let number = |name| field(&text, name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
            sum.read_bytes = sum.read_bytes.saturating_add(number("read_bytes"));
            let cancelled = number("cancelled_write_bytes");
            sum.write_bytes = sum.write_bytes.saturating_add(number("write_bytes").saturating_sub(cancelled));
        }
        sum
    }
}

/// The counters of a device.
pub(super) fn device(root: &Root, disk: &str) -> io::Result<DeviceCounts> {
    let dir = format!("/sys/block/{disk}");
    let stat = root.try_read(format!("{dir}/stat"))?;
    let inflight = root.try_read(format!("{dir}/inflight"))?;
    parse_device(&stat, &inflight).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{dir}/stat or inflight has no numbers where they belong"),
        )
    })
}

pub(super) fn parse_device(stat: &str, inflight: &str) -> Option<DeviceCounts> {
    let stat: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let mut inflight = inflight.split_whitespace().map_while(|word| word.parse::<u32>().ok());
    Some(DeviceCounts {
        reads: *stat.first()?,
        read_bytes: stat.get(2)?.saturating_mul(SECTOR_BYTES),
        writes: *stat.get(4)?,
        write_bytes: stat.get(6)?.saturating_mul(SECTOR_BYTES),
        reads_in_flight: inflight.next()?,
        writes_in_flight: inflight.next()?,
    })
}
