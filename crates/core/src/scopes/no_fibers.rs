//! A model has no fibers.

/// Returns `false`: no fiber waits.
#[must_use]
pub fn waits_in<K>(_key: *const K) -> bool {
    false
}
