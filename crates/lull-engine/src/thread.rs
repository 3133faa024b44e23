//! Threads of lull's helpers.

/// Starts a thread of a helper. Where the user may have no more the work is left undone: its ends of channels close.
pub fn start<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> bool {
    std::thread::Builder::new().spawn(body).is_ok()
}
