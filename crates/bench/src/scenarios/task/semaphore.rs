//! Semaphores for tasks.

use crate::scenarios::contended_by_tasks;
use crate::scenarios::prelude::*;
use crate::scenarios::semaphore::Inside;
use crate::tasks::{Host, SharedRuntime};

/// A semaphore whose permits are held for the length of a section.
trait Permits: Send + Sync + 'static {
    fn new(permits: usize) -> Self;
    /// Runs `section` with a permit if one is available now.
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R>;
    /// Waits for a permit and runs `section` with it.
    fn with<R: Send>(&self, section: impl FnOnce() -> R + Send) -> impl Future<Output = R> + Send;
}

/// Makes the contenders: a name, a type, and how a permit is taken.
macro_rules! peers {
    ($($name:expr, $semaphore:ty, |$this:ident| $try_acquire:expr, $acquire:expr;)+) => {
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
            async fn with<R: Send>(&$this, section: impl FnOnce() -> R + Send) -> R {
                let _permit = $acquire;
                section()
            }
        })+

        type Table = [(&'static str, Body); [$($name),+].len()];
        const TRIED: Table = [$(($name, tried::<$semaphore>)),+];
        const CONTENDED: Table = [$(($name, contended::<$semaphore, SharedRuntime>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::task::Semaphore, |self| self.try_acquire().ok(),
        self.acquire().await.expect("it stays open");
    "tokio", tokio::sync::Semaphore, |self| self.try_acquire().ok(),
        self.acquire().await.expect("it stays open");
    "async-lock", async_lock::Semaphore, |self| self.try_acquire(),
        self.acquire().await;
}

const TASKS: usize = 8;
const PERMITS: usize = 2;

pub(super) fn scenarios() -> Vec<Scenario> {
    let on_own = on_own_runtimes!(
        contended: blitz_io_sync::task::Semaphore, tokio::sync::Semaphore, async_lock::Semaphore
    );
    let tried = Scenario::new(1, "semaphore", "Semaphore try_acquire/release", SYNC_OPS);
    let mut scenarios = vec![tried.with_all(TRIED)];
    let what = ("semaphore_tasks", "Semaphore, 8 tasks, 2 permits");
    scenarios.extend(contended_by_tasks(what, CONTENDED, on_own));
    scenarios
}

fn tried<P: Permits>(cx: &Context) -> Measured {
    let semaphore = CachePadded::new(P::new(1));
    let sample = repeat(cx, "sections that ran", |_| {
        let semaphore: &P = black_box(&semaphore);
        semaphore.try_with(|| true) == Some(true)
    })?;
    let left = semaphore.try_with(|| ()).is_some();
    verify("permits left at the end", true, left)?;
    Ok(sample)
}

fn contended<P: Permits, G: Host>(cx: &Context) -> Measured {
    let semaphore = Arc::new(CachePadded::new(P::new(PERMITS)));
    let inside = Arc::new(CachePadded::new(Inside::default()));
    let share = cx.share(TASKS);
    let (span, with_room) = G::start_all(cx.workers, TASKS, |_| {
        let (semaphore, inside) = (semaphore.clone(), inside.clone());
        async move {
            let mut with_room = 0u64;
            for _ in 0..share {
                let visit = semaphore.with(|| inside.visit(PERMITS as u64));
                with_room += u64::from(visit.await);
            }
            with_room
        }
    });
    let total = share * TASKS as u64;
    inside.verify(total)?;
    let with_room = with_room.iter().sum();
    verify("sections with at most two inside", total, with_room)?;
    Ok(Sample::new(span, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A semaphore that sometimes runs no section, or panics after it.
    struct Lazy(AtomicU64);

    impl Permits for Lazy {
        fn new(_permits: usize) -> Self {
            Lazy(AtomicU64::new(0))
        }
        fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
            let works = self.0.fetch_add(1, Relaxed) % 100 != 99;
            works.then(section)
        }
        async fn with<R: Send>(&self, section: impl FnOnce() -> R + Send) -> R {
            let value = section();
            let turn = self.0.fetch_add(1, Relaxed);
            assert!(turn % 100 != 99, "a permit that was never there");
            value
        }
    }

    #[test]
    fn a_lazy_semaphore_is_caught() {
        assert_caught(tried::<Lazy>(&context()), "sections that ran");
    }

    #[test]
    #[should_panic(expected = "never there")]
    fn a_panic_in_a_task_is_not_swallowed() {
        let _ = contended::<Lazy, SharedRuntime>(&context());
    }

    #[test]
    fn three_inside_are_caught() {
        let inside = Inside::default();
        assert!(inside.visit(PERMITS as u64));
        assert!(!inside.visit(0));
        assert!(inside.verify(3).is_err());
    }
}
