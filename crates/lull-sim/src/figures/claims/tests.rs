use super::*;
use lull_core::{Nanos, Share};

fn grid(value: impl Fn(f64, f64) -> (f64, f64)) -> Grid {
    let figure = Figure::Fig8;
    let effort = crate::figures::Effort::FULL;
    let mut cells = Vec::new();
    for intensity in figure.intensities(&effort) {
        for interval in figure.intervals(&effort) {
            let (foreground, background) = value(interval.0 as f64 / 1e6, intensity.fraction() * 100.0);
            let (foreground_sd, background_sd) = (0.0, 0.0);
            cells.push(Cell { intensity, interval, foreground, foreground_sd, background, background_sd });
        }
    }
    Grid { figure, cells }
}

#[test]
fn a_policy_without_effect_is_found_out() {
    let claims = judge(&grid(|_, _| (0.5, 0.5)));
    let held = claims.iter().filter(|claim| claim.holds == Some(true)).count();
    assert!(held <= 2, "{claims:#?}");
}

#[test]
fn the_papers_own_description_passes() {
    let claims = judge(&grid(|interval, intensity| match interval {
        ..20.0 => (1.0 - intensity / 200.0, 1.0 - intensity / 200.0),
        ..=100.0 if intensity + interval > 125.0 => (1.0, 0.0),
        ..=100.0 => (0.85, 0.75),
        ..=120.0 if intensity < 20.0 => (0.9, 0.05),
        _ => (1.0, 0.0),
    }));
    assert!(claims.iter().all(|claim| claim.holds == Some(true)), "{claims:#?}");
}

#[test]
fn background_that_rises_somewhere_does_not_fall() {
    let mut one = grid(|interval, intensity| (1.0, 1.0 - interval / 1_000.0 - intensity / 1_000.0));
    assert!(one.background_falls(0.0));
    let last = one.cells.last_mut().unwrap();
    (last.background, last.interval, last.intensity) = (1.0, Nanos::from_secs(1), Share::ALL);
    assert!(!one.background_falls(0.05));
}

#[test]
fn a_sentence_without_points_is_not_judged() {
    let mut sparse = grid(|_, _| (1.0, 0.9));
    sparse.figure = Figure::Fig9;
    sparse.cells.retain(|cell| cell.interval == Nanos::ZERO && cell.intensity == Share::percent(50));
    let claims = judge(&sparse);
    let verdicts: Vec<_> = claims.iter().map(Claim::verdict).collect();
    // Foreground that keeps everything without an interval is not what the paper has.
    assert_eq!(verdicts, ["no", "not judged", "not judged", "not judged", "not judged", "yes"]);
    assert_eq!(claims[1].found, "at 0.06 ms foreground no point");
    assert_eq!(claims[4].found, "P = 1 ms: background no point");
    for figure in Figure::ALL {
        let claims = judge(&Grid { figure, cells: Vec::new() });
        assert!(claims.iter().all(|claim| claim.holds.is_none()), "{claims:#?}");
    }
}
