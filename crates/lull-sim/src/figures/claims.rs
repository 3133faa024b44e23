//! What the specification says that each figure shows, and whether the points of a figure show it.
//!
//! Each [`Claim`] is judged on the points of a [`Grid`], simulated or measured; the value that it was judged by is told with it. A
//! value within ten points of the sentence is taken for agreement where the sentence names a range, as read from a picture. A
//! sentence about a region without points is not judged. Why a claim does not hold in the simulator is an explanation written by
//! hand, shown only if it does not.

use super::{Cell, Figure, Grid};
use serde::Serialize;

/// One sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// As in the specification or the paper.
    pub sentence: &'static str,
    /// What the points say about it.
    pub found: String,
    /// Whether it holds; none without a point that it is about.
    pub holds: Option<bool>,
    /// Why it does not hold in the simulator; empty if nothing is known.
    pub why: &'static str,
}

impl Claim {
    /// The verdict as one word.
    pub const fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not judged",
        }
    }
}

/// The verdict, if there are points in every region that it is about.
fn judged(points: &[usize], holds: bool) -> Option<bool> {
    points.iter().all(|count| *count > 0).then_some(holds)
}

/// Smallest, mean and largest of some values.
#[derive(Clone, Copy, Debug)]
struct Range {
    count: usize,
    min: f64,
    mean: f64,
    max: f64,
}

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut min, mut max, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0);
        for value in values {
            (min, max) = (min.min(value), max.max(value));
            (sum, count) = (sum + value, count + 1);
        }
        Self { count, min, mean: sum / count.max(1) as f64, max }
    }

    fn text(self) -> String {
        if self.count == 0 {
            return "no point".to_owned();
        }
        format!("{:.0}-{:.0}%, mean {:.0}%", self.min * 100.0, self.max * 100.0, self.mean * 100.0)
    }
}

fn ms(cell: &Cell) -> f64 {
    cell.interval.0 as f64 / 1e6
}

fn percent(cell: &Cell) -> f64 {
    cell.intensity.fraction() * 100.0
}

impl Grid {
    /// Foreground and background where interval (ms) and intensity (percent) are within these bounds.
    fn region(&self, interval: (f64, f64), intensity: (f64, f64)) -> [Range; 2] {
        let inside = |cell: &&Cell| {
            (interval.0..=interval.1).contains(&ms(cell))
                && (intensity.0..=intensity.1).contains(&percent(cell))
        };
        [
            Range::of(self.cells.iter().filter(inside).map(|cell| cell.foreground)),
            Range::of(self.cells.iter().filter(inside).map(|cell| cell.background)),
        ]
    }

    /// Background at each intensity for the interval that is nearest, half of it away at most: as text, and as ranges up to and
    /// above a bound.
    fn background_at(&self, interval: f64, bound: f64) -> (String, Range, Range) {
        let nearest = self
            .cells
            .iter()
            .map(ms)
            .filter(|other| (other - interval).abs() <= interval / 2.0)
            .min_by(|a, b| (a - interval).abs().total_cmp(&(b - interval).abs()));
        let row: Vec<&Cell> = self.cells.iter().filter(|cell| Some(ms(cell)) == nearest).collect();
        let list: Vec<String> = row
            .iter()
            .map(|cell| format!("{:.0}% at {:.0}", cell.background * 100.0, percent(cell)))
            .collect();
        let part = |above: bool| {
            Range::of(row.iter().filter(|cell| (percent(cell) > bound) == above).map(|cell| cell.background))
        };
        let text = if list.is_empty() { "no point".to_owned() } else { list.join(", ") };
        (text, part(false), part(true))
    }

    /// Whether background never rises by more than `slack` as intensity and interval grow.
    fn background_falls(&self, slack: f64) -> bool {
        self.cells.iter().all(|one| {
            self.cells.iter().all(|other| {
                let beyond = ms(other) >= ms(one) && percent(other) >= percent(one);
                !beyond || other.background <= one.background + slack
            })
        })
    }
}

/// Points of a region of which a value is within bounds, out of how many.
#[derive(Clone, Copy, Debug)]
struct Count {
    good: usize,
    all: usize,
}

impl Count {
    /// Two thirds of the points or more.
    fn is_most(self) -> bool {
        3 * self.good >= 2 * self.all
    }

    fn text(self) -> String {
        if self.all == 0 {
            return "no point".to_owned();
        }
        format!("{} of {} points", self.good, self.all)
    }
}

impl Grid {
    /// How many points with an interval within these bounds (ms) have a value within those.
    fn count(&self, interval: (f64, f64), value: fn(&Cell) -> f64, within: (f64, f64)) -> Count {
        let inside: Vec<f64> = self
            .cells
            .iter()
            .filter(|cell| (interval.0..=interval.1).contains(&ms(cell)))
            .map(value)
            .collect();
        let good = inside.iter().filter(|value| (within.0..=within.1).contains(*value)).count();
        Count { good, all: inside.len() }
    }
}

/// Below this background counts as stopped.
const STOPPED: f64 = 0.07;

/// The claims about a figure, judged.
pub fn judge(grid: &Grid) -> Vec<Claim> {
    match grid.figure {
        Figure::Fig7 => ideal(grid),
        Figure::Fig8 => disk(grid),
        Figure::Fig9 => udp(grid),
        Figure::Fig11 => near(grid),
        Figure::Fig12 => far(grid),
    }
}

fn ideal(grid: &Grid) -> Vec<Claim> {
    let [foreground, _] = grid.region((0.21, 1e9), (0.0, 100.0));
    let [_, start] = grid.region((0.21, 1.0), (0.0, 10.0));
    let [_, end] = grid.region((10.0, 1e9), (90.0, 100.0));
    vec![
        Claim {
            sentence: "foreground ≈100% wherever P > service time",
            found: format!("foreground {}", foreground.text()),
            holds: judged(&[foreground.count], foreground.mean >= 0.98 && foreground.min >= 0.85),
            why: "",
        },
        Claim {
            sentence: "background falls with intensity and P",
            found: format!("from {:.0}% to {:.0}%", start.max * 100.0, end.min * 100.0),
            holds: judged(&[start.count, end.count], grid.background_falls(0.03)),
            why: "",
        },
    ]
}

fn disk(grid: &Grid) -> Vec<Claim> {
    let [below, below_background] = grid.region((0.0, 15.0), (0.0, 100.0));
    let [middle, _] = grid.region((20.1, 99.0), (0.0, 100.0));
    let [at_full, _] = grid.region((0.0, 10.0), (100.0, 100.0));
    let (at_40, _, above_90) = grid.background_at(40.0, 90.0);
    let (at_80, _, above_40) = grid.background_at(80.0, 40.0);
    let [beyond, beyond_background] = grid.region((100.1, 1e9), (20.0, 100.0));
    let [_, light] = grid.region((100.0, 120.0), (0.0, 19.0));
    let [lightest, _] = grid.region((0.0, 1e9), (0.0, 9.0));
    let good = grid.cells.iter().filter(|cell| cell.foreground >= 0.8).map(|cell| cell.background);
    let good = Range::of(good).max.max(0.0);
    vec![
        Claim {
            sentence: "P < 20 ms: foreground falls to 50%",
            found: format!("{} at full intensity", at_full.text()),
            holds: judged(&[at_full.count], (0.45..=0.55).contains(&at_full.mean) && below.min >= 0.45),
            why: "",
        },
        Claim {
            sentence: "P < 20 ms: background 50-100%",
            found: format!("background {}", below_background.text()),
            holds: judged(&[below_background.count], below_background.min >= 0.40),
            why: "",
        },
        Claim {
            sentence: "20-100 ms: foreground 70-100%",
            found: format!("foreground {}", middle.text()),
            holds: judged(&[middle.count], middle.min >= 0.60 && middle.mean >= 0.75),
            why: "",
        },
        Claim {
            sentence: "at P = 40 ms background stops above 90% intensity",
            found: format!("background {at_40}"),
            holds: judged(&[above_90.count], above_90.mean <= STOPPED),
            why: "",
        },
        Claim {
            sentence: "at P = 80 ms background stops above 40% intensity",
            found: format!("background {at_80}"),
            holds: judged(&[above_40.count], above_40.max <= STOPPED),
            why: "",
        },
        Claim {
            sentence: "P > 100 ms: foreground ≈100%, background ≈0",
            found: format!(
                "from 20% intensity on: foreground {}; background {}",
                beyond.text(),
                beyond_background.text()
            ),
            holds: judged(&[beyond.count], beyond.mean >= 0.97 && beyond_background.mean <= 0.03),
            why: "",
        },
        Claim {
            sentence: "P of 100-120 ms, intensity below 20%: some background is still served (usleep sleeps too long)",
            found: format!("background {}", light.text()),
            holds: judged(&[light.count], light.max > 0.0 && light.mean < 0.3),
            why: "",
        },
        Claim {
            sentence: "below 10% intensity foreground is well whatever P is",
            found: format!("foreground {}", lightest.text()),
            holds: judged(&[lightest.count], lightest.min >= 0.85),
            why: "",
        },
        Claim {
            sentence: "headline: foreground disk 80% with background 70%",
            found: format!("most background with 80% foreground: {:.0}%", good * 100.0),
            holds: judged(&[grid.cells.len()], good >= 0.70),
            why: "",
        },
    ]
}

fn udp(grid: &Grid) -> Vec<Claim> {
    let [below, _] = grid.region((0.0, 0.049), (0.0, 100.0));
    let [between, _] = grid.region((0.05, 0.07), (0.0, 100.0));
    let [over, _] = grid.region((0.07, 1e9), (10.1, 100.0));
    let [under, _] = grid.region((0.07, 1e9), (0.0, 9.9));
    let (at_one, up_to_90, above_90) = grid.background_at(1.0, 90.0);
    let left = grid.cells.iter().filter(|cell| cell.foreground > 0.9 && percent(cell) < 99.0);
    let best = left.max_by(|a, b| a.background.total_cmp(&b.background));
    let (most, at) = best.map_or((0.0, 0.0), |cell| (cell.background, cell.intensity.fraction()));
    vec![
        Claim {
            sentence: "P < 0.05 ms: foreground 50%",
            found: format!("foreground {}", below.text()),
            holds: judged(&[below.count], (0.45..=0.55).contains(&below.mean)),
            why: "",
        },
        Claim {
            sentence: "effective from P = 0.05 ms",
            found: format!("at 0.06 ms foreground {}", between.text()),
            holds: judged(&[between.count], between.mean > 0.8),
            why: "between two foreground sends (50 µs) the kernel serves one background send (20 µs), so foreground packets \
                  come 70 µs apart while background fills its queue; an interval below that runs out in between. On the \
                  paper's axis, up to 5 ms, the two cannot be told apart.",
        },
        Claim {
            sentence: "P > 0.05 ms: foreground > 90% for intensities over 10%",
            found: format!("from 0.08 ms on: foreground {}", over.text()),
            holds: judged(&[over.count], over.min > 0.9),
            why: "",
        },
        Claim {
            sentence: "P > 0.05 ms: foreground 60-80% below 10%",
            found: format!("from 0.08 ms on: foreground {}", under.text()),
            holds: judged(&[under.count], under.min >= 0.6 && under.max <= 0.82),
            why: "",
        },
        Claim {
            sentence: "background stalls only above 90% intensity",
            found: format!("P = 1 ms: background {at_one}"),
            holds: judged(&[above_90.count, up_to_90.count], above_90.max <= STOPPED && up_to_90.min > 0.0),
            why: "",
        },
        Claim {
            sentence: "headline: foreground network > 90% with background up to 80% of what is left",
            found: format!(
                "most background with more than 90% foreground: {:.0}% at {:.0}% intensity",
                most * 100.0,
                at * 100.0
            ),
            holds: judged(&[grid.cells.len()], best.is_some() && most >= 0.8 * (1.0 - at)),
            why: "",
        },
    ]
}

fn near(grid: &Grid) -> Vec<Claim> {
    let [below, _] = grid.region((0.0, 0.8), (0.0, 100.0));
    let [above, _] = grid.region((1.25, 1e9), (0.0, 100.0));
    let not_yet = grid.count((0.0, 0.8), |cell| cell.foreground, (0.0, 0.9));
    let effective = grid.count((1.25, 1e9), |cell| cell.foreground, (0.8, f64::INFINITY));
    vec![
        Claim {
            sentence: "not effective below P ≈ 0.9-1.25 ms",
            found: format!("up to 0.75 ms: foreground below 90% in {}; {}", not_yet.text(), below.text()),
            holds: judged(&[not_yet.all], not_yet.is_most()),
            why: "",
        },
        Claim {
            sentence: "effective from there: foreground 90-100%",
            found: format!(
                "from 1.25 ms on: foreground 80% or more in {}; {}",
                effective.text(),
                above.text()
            ),
            holds: judged(&[effective.all], effective.is_most() && above.mean >= 0.85),
            why: "",
        },
    ]
}

fn far(grid: &Grid) -> Vec<Claim> {
    let [below, _] = grid.region((0.0, 1.0), (0.0, 100.0));
    let [_, below_background] = grid.region((0.0, 10.0), (0.0, 100.0));
    let [halfway, _] = grid.region((2.0, 15.0), (0.0, 60.0));
    let [halfway_full, _] = grid.region((2.0, 15.0), (70.0, 100.0));
    let [above, above_background] = grid.region((30.0, 1e9), (0.0, 100.0));
    let half = grid.count((0.0, 1.0), |cell| cell.foreground, (0.3, 0.7));
    let served = grid.count((0.0, 10.0), |cell| cell.background, (0.6, 1.0));
    let effective = grid.count((30.0, 1e9), |cell| cell.foreground, (0.8, f64::INFINITY));
    vec![
        Claim {
            sentence: "below P ≈ 20-30 ms: foreground ≈50%",
            found: format!(
                "up to 1 ms: 30-70% in {}; {}. 2.5-15 ms: {} up to 60% intensity, {} above",
                half.text(),
                below.text(),
                halfway.text(),
                halfway_full.text()
            ),
            holds: judged(
                &[half.all, halfway.count, halfway_full.count],
                half.is_most() && halfway.mean < 0.7 && halfway_full.mean < 0.7,
            ),
            why: "up to 60% intensity it does. Above, three windows of 128 KB fill the round trip and the driver's ring almost by \
                  themselves: gaps are then much shorter than a round trip, and intervals shorter than it keep background out.",
        },
        Claim {
            sentence: "below P ≈ 20-30 ms: background 70-90%",
            found: format!("up to 10 ms: 60% or more in {}; {}", served.text(), below_background.text()),
            holds: judged(&[served.all], served.is_most()),
            why: "background falls earlier, from 5 ms on and at high intensities, for the same reason.",
        },
        Claim {
            sentence: "effective from P ≈ 20-30 ms, a little over the round trip",
            found: format!(
                "from 30 ms on: foreground 80% or more in {}; {}; background {}",
                effective.text(),
                above.text(),
                above_background.text()
            ),
            holds: judged(&[effective.all], effective.is_most() && above_background.mean <= 0.15),
            why: "",
        },
    ]
}

#[cfg(test)]
mod tests;
