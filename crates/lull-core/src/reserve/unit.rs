//! Amounts of a resource.
//!
//! | unit | smallest | written |
//! |---|---|---|
//! | [`Unit::Cpu`] | a millionth of one CPU | `0.5cpu` |
//! | [`Unit::Bytes`] | a byte | `512MiB` |
//! | [`Unit::Rate`] | a byte per second | `10MB/s` |
//! | [`Unit::Part`] | a millionth of the whole | `200000ppm` |
//!
//! Any of them can be written as a percentage of the whole resource, too. What is printed is exact: reading it again gives the same amount.

use crate::base::bytes::Bytes;
use crate::base::decimal;
use crate::base::share::Share;

/// What a resource is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Millionths of one CPU.
    Cpu,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Rate,
    /// Millionths of something whose speed is not known beforehand, like a disk.
    Part,
}

/// All of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// How much there is, in its smallest unit.
    pub amount: u64,
    /// What that counts.
    pub unit: Unit,
}

/// Millionths of one CPU in a CPU.
pub const CPU: u64 = 1_000_000;
/// Parts of a [`Share`].
const MILLION: u128 = 1_000_000;

impl Unit {
    /// An amount with its unit, exactly.
    pub fn show(self, amount: u64) -> String {
        match self {
            Self::Cpu => {
                let (whole, part) = (amount / CPU, amount % CPU);
                let part = if part == 0 { String::new() } else { format!(".{part:06}") };
                format!("{whole}{}cpu", part.trim_end_matches('0'))
            }
            Self::Bytes => show_bytes(amount),
            Self::Rate => format!("{}/s", show_bytes(amount)),
            Self::Part => format!("{amount}ppm"),
        }
    }

    fn parse(self, text: &str) -> Result<u64, String> {
        let bytes =
            |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|error| error.to_string());
        match self {
            Self::Cpu => match decimal::split(text) {
                (number, "cpu" | "cpus") => decimal::scaled(number, CPU)
                    .map_err(|what| format!("'{text}' is not a number of CPUs: {what}; write 0.5cpu")),
                _ => Err(format!(
                    "'{text}' has no unit of this resource: write a percentage, like 20%, or CPUs, like 0.5cpu"
                )),
            },
            Self::Part => match text.strip_suffix("ppm").and_then(|number| number.parse().ok()) {
                Some(amount) => Ok(amount),
                None => Err(format!("'{text}' is no part of this resource: write a percentage, like 20%")),
            },
            // A bare number is too easily meant as something else.
            Self::Bytes if text.ends_with(|last: char| last.is_ascii_digit()) && text != "0" => {
                Err(format!("'{text}' has no unit: write a percentage, like 20%, or a size, like 512MiB"))
            }
            Self::Bytes => bytes(text),
            Self::Rate => match text.strip_suffix("/s") {
                Some(size) => bytes(size),
                None => {
                    Err(format!("'{text}' has no unit: write a percentage, like 20%, or a rate, like 10MB/s"))
                }
            },
        }
    }
}

/// The largest binary unit that leaves no rest.
fn show_bytes(amount: u64) -> String {
    let units = [(Bytes::GIB, "GiB"), (Bytes::MIB, "MiB"), (Bytes::KIB, "KiB")];
    match units.iter().find(|(scale, _)| amount > 0 && amount.is_multiple_of(*scale)) {
        Some((scale, name)) => format!("{}{name}", amount / scale),
        None => format!("{amount}B"),
    }
}

impl Whole {
    /// So many parts per million of it, rounded down.
    pub fn part(self, share: Share) -> u64 {
        let part = u128::from(self.amount) * u128::from(share.as_ppm()) / MILLION;
        // At most the whole, which fits.
        u64::try_from(part).unwrap_or(self.amount)
    }

    /// Which percentage gives this amount; the nearest below where none does.
    pub fn percentage(self, amount: u64) -> Share {
        let ppm = (u128::from(amount) * MILLION).checked_div(u128::from(self.amount)).unwrap_or(0);
        let below = Share::ppm(u32::try_from(ppm).unwrap_or(u32::MAX));
        let above = Share::ppm(below.as_ppm().saturating_add(1));
        if self.part(above) == amount { above } else { below }
    }

    /// An amount for people: as a percentage where there is no better unit.
    pub fn tell(self, amount: u64) -> String {
        match self.unit {
            Unit::Part => self.percentage(amount).to_string(),
            unit => unit.show(amount),
        }
    }

    /// An amount, as a percentage or with its unit.
    ///
    /// # Errors
    /// What is wrong with it, and how to write it.
    pub fn parse(self, text: &str) -> Result<u64, String> {
        if text.starts_with('-') {
            return Err(format!("'{text}' is less than zero"));
        }
        if text.ends_with('%') {
            return text.parse::<Share>().map(|share| self.part(share)).map_err(|error| error.to_string());
        }
        self.unit.parse(text)
    }
}
