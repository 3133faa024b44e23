//! lull bench
