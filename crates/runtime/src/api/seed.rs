//! Seeds, so that a runtime takes the same random decisions each time.

use std::hash::{DefaultHasher, Hasher};

use blitz_io_futex::atomic::{AtomicU64, Ordering};

use blitz_io_core::{Random, debug_is_name};

/// The seed of a runtime's random numbers.
///
/// For [`Builder::rng_seed`](crate::runtime::Builder::rng_seed).
///
/// ```
/// use blitz_io::runtime::{Builder, RngSeed};
///
/// let seed = RngSeed::from_bytes(b"the same each time");
/// let runtime = Builder::new_current_thread().rng_seed(seed).build()?;
/// runtime.block_on(async {});
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct RngSeed(u64);

impl RngSeed {
    /// Returns the seed that follows from `bytes`.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self(hasher.finish())
    }
}

debug_is_name!(impl RngSeed);

/// The source of the sequences of threads that enter a runtime.
pub(crate) struct Seeds {
    /// The first seed; `None` if the user has not asked for one, and each thread may
    /// keep the sequence it has.
    first: Option<u64>,
    given: AtomicU64,
}

impl Seeds {
    pub(crate) fn new(seed: Option<&RngSeed>) -> Self {
        Self {
            first: seed.map(|seed| seed.0),
            given: AtomicU64::new(0),
        }
    }

    /// Returns the sequence for the next thread that enters, if the runtime is seeded.
    #[inline]
    pub(crate) fn next(&self) -> Option<Random> {
        self.first.map(|first| self.follow(first))
    }

    #[cold]
    fn follow(&self, first: u64) -> Random {
        let nth = self.given.fetch_add(1, Ordering::Relaxed);
        Random::seeded(first.wrapping_add(nth))
    }
}
