//! The job's memory, and the page cache.
//!
//! | module | idea |
//! |---|---|
//! | [`limit`] | how much memory the job may have, and when its pages have to go |
//! | [`swap_ahead`] | when the job's memory is written to swap before anybody needs it |
//! | [`page_cache`] | which pages that the job brought in stay in the page cache for now |
//! | [`writeback`] | which of the job's dirty pages are written next |
//! | [`pages`] | sets of pages within a chunk of a file |

pub mod limit;
pub mod page_cache;
pub mod pages;
pub mod swap_ahead;
pub mod writeback;
