//! Primitives as the question describes them, on the same futex as ours. Their costs show
//! the cause of the difference. Not for use elsewhere.

pub mod barrier;
pub mod rwlock;
pub mod semaphore;

/// How often a thread checks before it sleeps.
const SPINS: u32 = 100;

/// Checks up to [`SPINS`] times whether `found` is true.
fn spin(mut found: impl FnMut() -> bool) -> bool {
    for _ in 0..SPINS {
        if found() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
