//! The mean of several independent values with its 95% interval (Student's t).

use serde::Serialize;

/// A mean and how far from it the truth may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95% interval; none of a single value.
    pub half: Option<f64>,
}

/// 97.5% points of Student's t with 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Estimate {
    /// Of these values; of none, not a number.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let half = (values.len() > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let t = T.get(values.len() - 2).copied().unwrap_or(1.96);
            t * (variance / count).sqrt()
        });
        Self { mean, half }
    }

    /// The lower end; the mean itself where there is no interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half.unwrap_or(0.0)
    }

    /// The upper end.
    pub fn high(&self) -> f64 {
        self.mean + self.half.unwrap_or(0.0)
    }
}
