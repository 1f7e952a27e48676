//! The model checker, in three ways.
//!
//! *Fenced*: both sides fence for themselves, as in `strong.rs`.
//!
//! *Late stores*: the light side really is light. The store may become visible only after the
//! look, as on a processor that keeps the store in its buffer. So here the look comes first and
//! the store second. The heavy side waits until no thread is between the two, as `membarrier`
//! promises; a lock does that here. Models run both ways ([`super::model::with_late_stores`]).
//!
//! *Late barriers*: the same, and each barrier is late, so the first one begins the switch of
//! `switch.rs` ([`super::model::with_late_barriers`]).

use crate::atomic::{AtomicU8, Ordering, fence};

use super::model::{barriers_are_late, light_fences_are_off, stores_are_late};
use super::switch;

loom::lazy_static! {
    /// Held between a look and its late store.
    static ref BETWEEN: loom::sync::Mutex<()> = loom::sync::Mutex::new(());
}

fn pass_between() -> loom::sync::MutexGuard<'static, ()> {
    BETWEEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns `true` if a store may be late now. In models without late barriers, no switch begins.
fn store_may_be_late() -> bool {
    !barriers_are_late() || switch::is_light()
}

/// Stores `value`, then looks at `look`.
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    if stores_are_late() {
        let _between = pass_between();
        if store_may_be_late() {
            let seen = look.load(Ordering::SeqCst);
            byte.store(value, Ordering::Release);
            return seen;
        }
    }
    byte.store(value, Ordering::Release);
    fence(Ordering::SeqCst);
    look.load(Ordering::SeqCst)
}

/// Fences between a store of any kind and a load of the frequent side. A late store has no model of
/// its own here: [`publish`] models the protocols that rely on it.
pub fn light() {
    if !light_fences_are_off() {
        fence(Ordering::SeqCst);
    }
}

/// Orders everything before it before everything after it, for all threads.
pub fn heavy() {
    if barriers_are_late() {
        fence(Ordering::SeqCst);
        switch::pass(barrier_in_time);
    } else if stores_are_late() {
        barrier_in_time();
    }
    fence(Ordering::SeqCst);
}

/// Waits until no store is late. Returns `true` if the barrier itself was in time.
fn barrier_in_time() -> bool {
    drop(pass_between());
    !barriers_are_late()
}

/// Names how stores and loads are kept in order.
pub fn mechanism() -> &'static str {
    "loom's fences"
}
