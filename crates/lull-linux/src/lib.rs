//! lull linux
