//! lull
fn main() {}
