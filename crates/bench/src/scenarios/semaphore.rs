//! Semaphores: the `try` form, the blocking form, and eight threads that share
//! two permits.
//!
//! Neither `std` nor `parking_lot` has a semaphore. The rows under their names run what
//! their users write: a mutex, a count and a condition variable. Tokio's has no blocking
//! form; a thread drives it with `block_on`, here with that of futures-executor, which was
//! the fastest of those that were tried (futures-lite, pollster, Tokio's own).

use futures_executor::block_on;

use crate::scenarios::prelude::*;

/// A semaphore whose permits are held for the length of a section.
trait Permits: Sync {
    fn new(permits: usize) -> Self;
    /// Runs `section` with a permit if one is available now.
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R>;
    /// Waits for a permit and runs `section` with it.
    fn with<R>(&self, section: impl FnOnce() -> R) -> R;
}

/// Implements the trait for semaphores, by how a permit is taken.
macro_rules! permits {
    ($($semaphore:ty, |$this:ident| $try_acquire:expr, $acquire:expr;)+) => {
        $(impl Permits for $semaphore {
            fn new(permits: usize) -> Self {
                Self::new(permits)
            }
            #[inline]
            fn try_with<R>(&$this, section: impl FnOnce() -> R) -> Option<R> {
                let _permit = $try_acquire?;
                Some(section())
            }
            #[inline]
            fn with<R>(&$this, section: impl FnOnce() -> R) -> R {
                let _permit = $acquire;
                section()
            }
        })+
    };
}

permits! {
    blitz_io_sync::thread::Semaphore, |self| self.try_acquire().ok(),
        self.acquire().expect("it stays open");
    async_lock::Semaphore, |self| self.try_acquire(), self.acquire_blocking();
    tokio::sync::Semaphore, |self| self.try_acquire().ok(),
        block_on(self.acquire()).expect("it stays open");
}

/// Makes a semaphore of a mutex and a condition variable: where they are, how the mutex is locked,
/// and how a thread waits for a permit.
macro_rules! by_hand {
    ($name:ident, $($path:ident)::+, |$mutex:ident| $lock:expr,
        |$condvar:ident, $guard:ident| $wait:expr) => {
        struct $name {
            free: $($path)::+::Mutex<usize>,
            returned: $($path)::+::Condvar,
        }

        impl $name {
            #[inline]
            fn lock(&self) -> $($path)::+::MutexGuard<'_, usize> {
                let $mutex = &self.free;
                $lock
            }

            #[inline]
            fn held<R>(&self, section: impl FnOnce() -> R) -> R {
                let value = section();
                *self.lock() += 1;
                self.returned.notify_one();
                value
            }
        }

        impl Permits for $name {
            fn new(permits: usize) -> Self {
                $name {
                    free: $($path)::+::Mutex::new(permits),
                    returned: $($path)::+::Condvar::new(),
                }
            }
            #[inline]
            fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
                let mut free = self.lock();
                *free = free.checked_sub(1)?;
                drop(free);
                Some(self.held(section))
            }
            #[inline]
            fn with<R>(&self, section: impl FnOnce() -> R) -> R {
                let ($condvar, $guard) = (&self.returned, self.lock());
                let mut free = $wait;
                *free -= 1;
                drop(free);
                self.held(section)
            }
        }
    };
}

by_hand! {
    OfStd, std::sync, |mutex| mutex.lock().expect("no section panics"),
    |returned, free| returned.wait_while(free, |free| *free == 0).expect("no section panics")
}

by_hand! {
    OfParkingLot, parking_lot, |mutex| mutex.lock(),
    |returned, free| {
        let mut free = free;
        returned.wait_while(&mut free, |free| *free == 0);
        free
    }
}

/// The number of threads that hold a permit, and the number that ever did, in one word.
#[derive(Default)]
pub(super) struct Inside(AtomicU64);

impl Inside {
    const ONE: u64 = 1;
    const EVER: u64 = 1 << 16;

    /// Enters and leaves. Returns whether there was room.
    #[inline]
    pub(super) fn visit(&self, permits: u64) -> bool {
        let before = self.0.fetch_add(Self::ONE + Self::EVER, Relaxed);
        let room = before % Self::EVER < permits;
        self.0.fetch_sub(Self::ONE, Relaxed);
        room
    }

    pub(super) fn verify(&self, visits: u64) -> Result<(), Failure> {
        let word = self.0.load(Relaxed);
        verify("permits still held", 0, word % Self::EVER)?;
        verify("sections that ran", visits, word / Self::EVER)
    }
}

/// The table of a scenario.
macro_rules! table {
    ($body:ident) => {
        [
            (OURS, $body::<blitz_io_sync::thread::Semaphore> as Body),
            ("std", $body::<OfStd>),
            ("parking_lot", $body::<OfParkingLot>),
            ("tokio", $body::<tokio::sync::Semaphore>),
            ("async-lock", $body::<async_lock::Semaphore>),
        ]
    };
}

const THREADS: usize = 8;
const PERMITS: usize = 2;

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id, title, ops| Scenario::new(4, id, title, ops);
    let title = "Semaphore try_acquire/release";
    let tried_row = row("semaphore_try_uncontended", title, SYNC_OPS);
    let waited_row = row(
        "semaphore_uncontended",
        "Semaphore acquire/release",
        SYNC_OPS,
    );
    let title = "Semaphore contended, 2 permits";
    let contended_row = row("semaphore_contended_8_2permits", title, 500_000).threads(THREADS);
    vec![
        tried_row.with_all(table!(tried)),
        waited_row.with_all(table!(waited)),
        contended_row.with_all(table!(contended)),
    ]
}

fn tried<P: Permits>(cx: &Context) -> Measured {
    alone(cx, |semaphore: &P| {
        semaphore.try_with(|| true) == Some(true)
    })
}

fn waited<P: Permits>(cx: &Context) -> Measured {
    alone(cx, |semaphore: &P| semaphore.with(|| true))
}

fn alone<P: Permits>(cx: &Context, operation: impl Fn(&P) -> bool) -> Measured {
    let semaphore = CachePadded::new(P::new(1));
    let sample = repeat(cx, "sections that ran", |_| operation(&semaphore))?;
    let left = semaphore.try_with(|| ()).is_some();
    verify("permits left at the end", true, left)?;
    Ok(sample)
}

fn contended<P: Permits>(cx: &Context) -> Measured {
    let semaphore = CachePadded::new(P::new(PERMITS));
    let inside = CachePadded::new(Inside::default());
    let what = "sections with at most two inside";
    let sample = repeat_on(THREADS, cx.share(THREADS), what, |_, _| {
        semaphore.with(|| inside.visit(PERMITS as u64))
    })?;
    inside.verify(sample.ops)?;
    Ok(sample)
}
