//! How the fences behave under the model checker, for one model.
//!
//! A switch is a thread-local, because all threads of one model run on one thread of the operating
//! system, while different tests run on different ones.

use std::cell::Cell;
use std::thread::LocalKey;

thread_local! {
    static STORES_ARE_LATE: Cell<bool> = const { Cell::new(false) };
    static BARRIERS_ARE_LATE: Cell<bool> = const { Cell::new(false) };
    static LIGHT_FENCES_ARE_OFF: Cell<bool> = const { Cell::new(false) };
}

fn with<R>(switch: &'static LocalKey<Cell<bool>>, model: impl FnOnce() -> R) -> R {
    struct Off(&'static LocalKey<Cell<bool>>);
    impl Drop for Off {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    switch.set(true);
    let _off = Off(switch);
    model()
}

/// Returns `true` if a store may become visible after the look that follows it.
pub fn stores_are_late() -> bool {
    STORES_ARE_LATE.get()
}

/// Runs `model` with stores that may be late, as they are where a heavy fence on the other
/// side makes up for it. The model must pass.
pub fn with_late_stores<R>(model: impl FnOnce() -> R) -> R {
    with(&STORES_ARE_LATE, model)
}

/// Returns `true` if heavy fences come late, so that the process gives up light ones.
pub fn barriers_are_late() -> bool {
    BARRIERS_ARE_LATE.get()
}

/// Runs `model` with stores that may be late, and with heavy fences that are. The model must
/// pass.
pub fn with_late_barriers<R>(model: impl FnOnce() -> R) -> R {
    with_late_stores(|| with(&BARRIERS_ARE_LATE, model))
}

/// Returns `true` if the light fence orders nothing.
pub fn light_fences_are_off() -> bool {
    LIGHT_FENCES_ARE_OFF.get()
}

/// Runs `model` with light fences that order nothing, for a protocol in which another fence
/// does. The model must pass.
pub fn without_light_fences<R>(model: impl FnOnce() -> R) -> R {
    with(&LIGHT_FENCES_ARE_OFF, model)
}
