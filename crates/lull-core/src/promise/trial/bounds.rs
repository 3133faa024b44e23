//! The slowdown and its interval, from pairs, valid however often one looks.
//!
//! A pair is two numbers whose expectations are in the ratio of the slowdown: `E[num] = ratio · E[den]`. For the true
//! ratio `R` the residuals `num − R·den` have mean zero whatever came before; the sum of them is a martingale. With
//! `S` the sum of residuals and `Q` the sum of their squares over `n` pairs, `exp(λS − λ²Q/2)` is a supermartingale
//! for every λ if residuals are symmetric (de la Peña 1999), and nearly so for many that are not, because `Q` grows
//! with just those that make `S` large. Mixing over λ with a normal density of variance `1/ρ` and Ville's inequality
//! give, at all `n` at once with probability `1 − α`,
//!
//! ```text
//!   S² ≤ (Q + ρ) · ln((Q + ρ) / (ρ α²))
//! ```
//!
//! (Howard, Ramdas, McAuliffe, Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences*, 2021,
//! eq. 14; Robbins 1970.) `ρ` sets where the bound is tightest. Residuals have a scale that is not known in advance, so
//! `ρ = HEAD_START · Q/n` takes it from the data, as the asymptotic confidence sequences of Waudby-Smith et al. (*Time-uniform
//! central limit theory*, 2021) do. Then
//!
//! ```text
//!   (U − R·V)² ≤ b · Q(R),   b = (1 + HEAD_START/n) · ln((n + HEAD_START) / (HEAD_START α²))
//!   U = Σ num,  V = Σ den,  Q(R) = Σ num² − 2R Σ num·den + R² Σ den²
//! ```
//!
//! The interval is all `R` that satisfy it: a quadratic inequality (Fieller 1954), with no plug-in variance that is too
//! small by chance. Since `S² ≤ n·Q` always, few pairs exclude nothing, however alike they are.
//!
//! Edge cases: no pairs, or a denominator that may be zero: no upper end. Units cancel.

/// Pairs at which the bound is tightest, divided by about nine.
const HEAD_START: f64 = 5.0;

/// Sums over pairs, enough for the interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(super) n: f64,
    num: f64,
    den: f64,
    num_num: f64,
    num_den: f64,
    den_den: f64,
}

impl Sums {
    pub(super) fn add(&mut self, num: f64, den: f64) {
        self.n += 1.0;
        self.num += num;
        self.den += den;
        self.num_num += num * num;
        self.num_den += num * den;
        self.den_den += den * den;
    }

    /// These without the first ones, `earlier`.
    pub(super) fn without(&self, earlier: &Self) -> Self {
        Self {
            n: self.n - earlier.n,
            num: self.num - earlier.num,
            den: self.den - earlier.den,
            num_num: self.num_num - earlier.num_num,
            num_den: self.num_den - earlier.num_den,
            den_den: self.den_den - earlier.den_den,
        }
    }

    /// The most likely ratio; infinite if only the numerator was seen.
    pub(super) fn ratio(&self) -> f64 {
        if self.den > 0.0 { self.num / self.den } else { f64::INFINITY }
    }

    /// Sum of squared residuals at `ratio`.
    fn squares(&self, ratio: f64) -> f64 {
        (self.num_num - 2.0 * ratio * self.num_den + ratio * ratio * self.den_den).max(0.0)
    }

    /// Sum of squared residuals at the most likely ratio.
    pub(super) fn scatter(&self) -> f64 {
        let ratio = self.ratio();
        if ratio.is_finite() { self.squares(ratio) } else { self.num_num }
    }

    /// By how many standard errors these lie above `ratio`, if single pairs scatter about it as those of `usual` do.
    pub(super) fn excess(&self, usual: &Self, ratio: f64) -> f64 {
        let variance = usual.squares(ratio) / usual.n.max(1.0);
        (self.num - ratio * self.den) / (variance * self.n).sqrt().max(f64::MIN_POSITIVE)
    }

    /// The ratios that the pairs do not exclude, at a chance `alpha` of ever excluding the true one.
    pub(super) fn interval(&self, alpha: f64) -> (f64, f64) {
        if self.n < 1.0 {
            return (0.0, f64::INFINITY);
        }
        let b = (1.0 + HEAD_START / self.n) * ((self.n + HEAD_START) / (HEAD_START * alpha * alpha)).ln();
        // a·R² − 2h·R + c ≤ 0
        let a = self.den * self.den - b * self.den_den;
        let h = self.num * self.den - b * self.num_den;
        let c = self.num * self.num - b * self.num_num;
        let root = (h * h - a * c).max(0.0).sqrt();
        // c / (h + root) is the smaller root without cancellation; for a ≤ 0 it is the only positive one.
        let low = if c > 0.0 && h + root > 0.0 { c / (h + root) } else { 0.0 };
        let high = if a > 0.0 { (h + root) / a } else { f64::INFINITY };
        (low, high)
    }
}

#[cfg(test)]
mod tests;
