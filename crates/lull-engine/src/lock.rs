//! Taking a lock whose owner may have panicked: what it guards is whole all the same.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
