//! Systems and processors where a sequentially consistent store is the best there is. On AArch64
//! it is one instruction that does not wait.

use crate::atomic::{AtomicU8, Ordering, fence};

/// Stores `value`, then looks at `look`.
#[inline]
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    byte.store(value, Ordering::SeqCst);
    look.load(Ordering::SeqCst)
}

/// Fences between a store of any kind and a load of the frequent side; see [`heavy`].
#[inline(always)]
pub fn light() {
    fence(Ordering::SeqCst);
}

/// Orders everything before it before everything after it.
pub fn heavy() {
    fence(Ordering::SeqCst);
}

/// Names how stores and loads are kept in order.
pub fn mechanism() -> &'static str {
    "sequentially consistent store"
}
