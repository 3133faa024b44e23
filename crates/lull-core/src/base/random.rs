//! Random numbers for policies that must decide at random, the same ones again from the same seed.
//!
//! A schedule that alternates regularly can fall in step with what it observes; one that is random cannot. The policy
//! has no outside world to take randomness from, so the owner passes a seed, and a test replays a run exactly.
//!
//! Source: xorshift64* (Vigna, *An experimental exploration of Marsaglia's xorshift generators, scrambled*, 2016),
//! seeded through one step of SplitMix64 so that small seeds differ at once.

/// A generator of pseudo-random bits.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Every seed is good, 0 too.
    pub(crate) const fn new(seed: u64) -> Self {
        let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        Self(if z == 0 { 1 } else { z })
    }

    /// One of the numbers below `end`, each as likely but for one part in 2^32; 0 if there are none.
    pub(crate) const fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * end as u64) >> 32) as u32
    }

    /// Puts `items` in random order (Fisher & Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let end = u32::try_from(last + 1).unwrap_or(u32::MAX);
            items.swap(last, self.below(end) as usize);
        }
    }
}

#[cfg(test)]
mod tests;
