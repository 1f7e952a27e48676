//! Primitives as the question describes them, on the same futex as ours: what
//! they cost shows what the difference is made of. Not for use elsewhere.

pub mod barrier;
pub mod rwlock;
pub mod semaphore;

/// How often a thread looks before it sleeps.
const SPINS: u32 = 100;

/// Looks up to [`SPINS`] times whether `found` is true.
fn spin(mut found: impl FnMut() -> bool) -> bool {
    for _ in 0..SPINS {
        if found() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
