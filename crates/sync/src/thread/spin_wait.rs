//! `SpinWait`: the spinning of our locks, for locks of users.

use blitz_io_core::Spin;
use blitz_io_core::pause::pause;

/// Spinning before a thread parks, as the locks of this module spin.
///
/// The interface is parking_lot_core's. It goes with [`futex::parking`](blitz_io_futex::parking).
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use blitz_io::thread::SpinWait;
///
/// static READY: AtomicBool = AtomicBool::new(false);
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| READY.store(true, Ordering::Release));
///     let mut spin = SpinWait::new();
///     while !READY.load(Ordering::Acquire) {
///         if !spin.spin() {
///             std::thread::yield_now(); // a lock would park
///         }
///     }
/// });
/// ```
#[derive(Debug)]
pub struct SpinWait {
    spin: Spin,
    /// Number of calls of `spin_no_yield`, up to its limit.
    lost: u32,
}

impl SpinWait {
    /// The longest pause of `spin_no_yield`, as a power of two.
    const LONGEST: u32 = 10;

    /// Creates a wait that has not begun.
    #[inline]
    pub fn new() -> Self {
        Self {
            spin: Spin::LOCK,
            lost: 0,
        }
    }

    /// Returns to the state of a new wait.
    #[inline]
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Lets a moment pass. Returns `false`, at once, when the thread has spun for as long as pays: it
    /// should park.
    ///
    /// First pauses the processor, later yields to other threads.
    #[inline]
    pub fn spin(&mut self) -> bool {
        self.spin.turn()
    }

    /// Pauses after a lost race for an atomic, for longer each time up to a limit. Does not yield.
    #[inline]
    pub fn spin_no_yield(&mut self) {
        self.lost = (self.lost + 1).min(Self::LONGEST);
        pause(1 << self.lost);
    }
}

impl Default for SpinWait {
    fn default() -> Self {
        Self::new()
    }
}
