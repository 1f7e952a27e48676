//! How long a thread tries before it sleeps: the one policy of this crate.
//!
//! A thread that sleeps and is woken on another processor loses about 8 µs, and
//! its waker one to four; a hand-over between two threads that both run takes
//! less than 0.1 µs. So it pays to try for about as long as a sleep and its
//! wake-up would cost, and not longer. The trying has two phases:
//!
//! 1. **Pause.** Look, pause for twice as long as last time, look again. The
//!    pauses grow to about a microsecond, because every look takes the cache
//!    line away from the thread that is about to release it.
//! 2. **Yield.** Look, let another thread of this processor run, look again. It
//!    is what gets a preempted owner running again when there are more threads
//!    than processors, and costs little when there are not.
//!
//! The limits are times, not turns: one `PAUSE` takes 2 ns on some processors
//! and 50 ns on others. With one processor nobody can release anything while we
//! spin, so there the first [`Spin::turn`] says "sleep".
//!
//! Under the model checker there is one turn: it explores every schedule anyway,
//! and more turns would only give it more of the same ones.

#[cfg(not(loom))]
pub(crate) use real::{Spin, rest};

#[cfg(loom)]
pub(crate) use model::{Spin, rest};

#[cfg(not(loom))]
mod real {
    use std::hint;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// The longest pause between two looks, in `spin_loop` hints.
    const LONGEST_PAUSE: u32 = 32;
    /// How long the first phase lasts.
    const PAUSE_FOR: Duration = Duration::from_micros(10);
    /// How long both phases last together.
    const SPIN_FOR: Duration = Duration::from_micros(40);

    /// One attempt to get something without sleeping.
    pub(crate) struct Spin {
        pause: u32,
        began: Option<Instant>,
    }

    impl Spin {
        pub(crate) fn new() -> Self {
            Self {
                pause: 1,
                began: None,
            }
        }

        /// For a wait that takes as many threads to end. With fewer processors
        /// than that it yields from the beginning.
        pub(crate) fn for_threads(threads: usize) -> Self {
            if threads <= processors() {
                return Self::new();
            }
            Self {
                pause: LONGEST_PAUSE,
                began: Instant::now().checked_sub(PAUSE_FOR),
            }
        }

        /// Lets a moment pass. `false` when it is time to sleep.
        #[inline]
        pub(crate) fn turn(&mut self) -> bool {
            if self.pause < LONGEST_PAUSE {
                if processors() == 1 {
                    return false;
                }
                pause(self.pause);
                self.pause *= 2;
                return true;
            }
            self.long_turn()
        }

        fn long_turn(&mut self) -> bool {
            let now = Instant::now();
            let spent = now - *self.began.get_or_insert(now);
            if spent < PAUSE_FOR {
                pause(LONGEST_PAUSE);
            } else if spent < SPIN_FOR && processors() > 1 {
                thread::yield_now();
            } else {
                return false;
            }
            true
        }
    }

    fn pause(hints: u32) {
        for _ in 0..hints {
            hint::spin_loop();
        }
    }

    /// For those who never sleep: one turn of a wait that takes as many threads
    /// to end.
    pub(crate) fn rest(threads: usize) {
        match threads <= processors() {
            true => hint::spin_loop(),
            false => thread::yield_now(),
        }
    }

    /// On how many processors this process's threads may run. Asked once: the
    /// first contended wait finds out.
    fn processors() -> usize {
        const UNKNOWN: usize = 0;
        static PROCESSORS: AtomicUsize = AtomicUsize::new(UNKNOWN);

        match PROCESSORS.load(Ordering::Relaxed) {
            UNKNOWN => {
                let processors = thread::available_parallelism().map_or(1, usize::from);
                PROCESSORS.store(processors, Ordering::Relaxed);
                processors
            }
            processors => processors,
        }
    }
}

#[cfg(loom)]
mod model {
    /// One turn: enough to go through the code that spins, and no more.
    pub(crate) struct Spin {
        tried: bool,
    }

    impl Spin {
        pub(crate) fn new() -> Self {
            Self { tried: false }
        }

        pub(crate) fn for_threads(_: usize) -> Self {
            Self::new()
        }

        pub(crate) fn turn(&mut self) -> bool {
            !std::mem::replace(&mut self.tried, true)
        }
    }

    pub(crate) fn rest(_: usize) {
        loom::thread::yield_now();
    }
}
