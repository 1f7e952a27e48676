//! From a time-out to the moment at which it ends.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::spin::Spin;

/// Returns the moment `timeout` from now. `None`, which means forever, when that lies beyond the range of
/// an [`Instant`].
pub fn after(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

/// Returns `true` if `deadline` has passed. `None`, forever, never has.
pub fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| now() >= deadline)
}

/// Returns the earlier of two deadlines, of which `None` is never.
pub fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}

/// Tries for a while, but not beyond `deadline`, until this is so. Returns `true` if it is.
pub fn spin_until(mut spin: Spin, deadline: Option<Instant>, is_so: impl Fn() -> bool) -> bool {
    while spin.turn() && !is_past(deadline) {
        if is_so() {
            return true;
        }
    }
    false
}

/// Returns this moment. The model checker must see the same run twice, so there time does not pass;
/// deadlines pass when the model makes them.
pub fn now() -> Instant {
    static OF_MODELS: OnceLock<Instant> = OnceLock::new();

    if cfg!(loom) {
        return *OF_MODELS.get_or_init(Instant::now);
    }
    Instant::now()
}
