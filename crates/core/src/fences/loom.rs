//! The model checker, in two ways.
//!
//! *Fenced*: both sides fence for themselves, as in `strong.rs`.
//!
//! *Late*: the light side really is light. The store may become visible only after the look, as
//! on a processor that keeps the store in its buffer. So here the look comes first and the store
//! second. The heavy side waits until no thread is between the two, as `membarrier` promises; a
//! lock does that here. Models run both ways ([`crate::mutant::with_late_stores`]).

use blitz_io_futex::atomic::{AtomicU8, Ordering, fence};

use crate::mutant::{light_fences_are_off, stores_are_late};

loom::lazy_static! {
    /// Held between a look and its late store.
    static ref BETWEEN: loom::sync::Mutex<()> = loom::sync::Mutex::new(());
}

fn pass_between() -> loom::sync::MutexGuard<'static, ()> {
    BETWEEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Stores `value`, then looks at `look`.
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    if stores_are_late() {
        let _between = pass_between();
        let seen = look.load(Ordering::SeqCst);
        byte.store(value, Ordering::Release);
        return seen;
    }
    byte.store(value, Ordering::Release);
    fence(Ordering::SeqCst);
    look.load(Ordering::SeqCst)
}

/// The frequent side's fence between a store of any kind and a load. A late store has no model of
/// its own here: [`publish`] models the protocols that rely on it.
pub fn light() {
    if !light_fences_are_off() {
        fence(Ordering::SeqCst);
    }
}

/// Orders everything before it before everything after it, for all threads.
pub fn heavy() {
    if stores_are_late() {
        drop(pass_between());
    }
    fence(Ordering::SeqCst);
}

/// Names how stores and loads are kept in order.
pub fn mechanism() -> &'static str {
    "loom's fences"
}
