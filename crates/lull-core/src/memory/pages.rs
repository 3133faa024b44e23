//! Sets of pages within a chunk of a file.
//!
//! Unit: pages of the kernel, whatever their size. A chunk is [`CHUNK_PAGES`] of them, the shape in which the observer of
//! the page cache tells what the job touched: small enough for a bitmap, large enough that a job that reads gigabytes a
//! second touches only hundreds of chunks.

/// Words of a chunk's bitmap.
pub const CHUNK_WORDS: usize = 16;
/// Pages of a chunk.
pub const CHUNK_PAGES: u64 = 64 * CHUNK_WORDS as u64;

/// Some of a chunk's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageSet(pub [u64; CHUNK_WORDS]);

/// Pages one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one, counted from the chunk's beginning.
    pub first: u64,
    /// How many; never 0.
    pub pages: u64,
}

impl PageSet {
    /// None.
    pub const EMPTY: Self = Self([0; CHUNK_WORDS]);

    /// These pages and no others; what lies beyond the chunk is left out.
    pub fn of(pages: impl IntoIterator<Item = u64>) -> Self {
        let mut set = Self::EMPTY;
        for page in pages {
            let word = usize::try_from(page / 64).ok().and_then(|word| set.0.get_mut(word));
            if let Some(word) = word {
                *word |= 1 << (page % 64);
            }
        }
        set
    }

    /// Whether it holds no page.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many pages.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn has(&self, page: u64) -> bool {
        let word = usize::try_from(page / 64).ok().and_then(|word| self.0.get(word));
        word.is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    fn combine(&self, other: &Self, word: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|i| word(self.0[i], other.0[i])))
    }

    /// Pages of either.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    /// Pages of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// Pages of this one that are not of the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & !b)
    }

    /// The pages as runs, in order, each as long as can be.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for page in (0..CHUNK_PAGES).filter(|page| self.has(*page)) {
            match runs.last_mut() {
                Some(run) if run.first + run.pages == page => run.pages += 1,
                _ => runs.push(Run { first: page, pages: 1 }),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests;
