//! Mutexes for tasks.

use crate::scenarios::contended_by_tasks;
use crate::scenarios::prelude::*;
use crate::tasks::{Host, SharedRuntime};

/// A mutex around a counter.
trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    /// Runs `section` on the counter if the lock is free, and unlocks it.
    fn try_with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> Option<R>;
    /// Waits for the lock, runs `section` on the counter, and unlocks it.
    fn with<R: Send>(
        &self,
        section: impl FnOnce(&mut u64) -> R + Send,
    ) -> impl Future<Output = R> + Send;
}

/// Makes the contenders: a name, a type, and how its lock is tried.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $try_lock:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(0)
            }
            #[inline]
            fn try_with<R>(&$this, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
                Some(section(&mut *$try_lock?))
            }
            #[inline]
            async fn with<R: Send>(&$this, section: impl FnOnce(&mut u64) -> R + Send) -> R {
                section(&mut *$this.lock().await)
            }
        })+

        type Table = [(&'static str, Body); [$($name),+].len()];
        const TRIED: Table = [$(($name, tried::<$lock>)),+];
        const CONTENDED: Table = [$(($name, contended::<$lock, SharedRuntime>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::task::Mutex<u64>, |self| self.try_lock().ok();
    "tokio", tokio::sync::Mutex<u64>, |self| self.try_lock().ok();
    "async-lock", async_lock::Mutex<u64>, |self| self.try_lock();
}

const TASKS: usize = 4;

pub(super) fn scenarios() -> Vec<Scenario> {
    let on_own = on_own_runtimes!(
        contended: blitz_io_sync::task::Mutex<u64>, tokio::sync::Mutex<u64>, async_lock::Mutex<u64>
    );
    let tried = Scenario::new(1, "mutex", "Mutex try_lock/unlock", SYNC_OPS);
    let mut scenarios = vec![tried.with_all(TRIED)];
    let what = ("mutex_tasks", "Mutex, 4 tasks");
    scenarios.extend(contended_by_tasks(what, CONTENDED, on_own));
    scenarios
}

fn tried<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let sample = repeat(cx, "locks that were had", |_| {
        let lock: &L = black_box(&lock);
        lock.try_with(|counter| *counter += 1).is_some()
    })?;
    let counted = lock.try_with(|n| *n).unwrap_or(0);
    verify("the counter under the lock", cx.ops, counted)?;
    Ok(sample)
}

fn contended<L: Lock, G: Host>(cx: &Context) -> Measured {
    let lock = Arc::new(CachePadded::new(L::new()));
    let share = cx.share(TASKS);
    let (span, done) = G::start_all(cx.workers, TASKS, |_| {
        let lock = lock.clone();
        async move {
            let mut done = 0u64;
            for _ in 0..share {
                lock.with(|counter| *counter += 1).await;
                done += 1;
            }
            done
        }
    });
    let total = done.iter().sum();
    verify("the tasks' contributions", share * TASKS as u64, total)?;
    let counted = lock.try_with(|n| *n).unwrap_or(0);
    verify("the counter under the lock", total, counted)?;
    Ok(Sample::new(span, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock that forgets every hundredth section: a counter, and the number of sections.
    struct Forgetful(std::sync::Mutex<(u64, u64)>);

    impl Lock for Forgetful {
        fn new() -> Self {
            Forgetful(Default::default())
        }
        fn try_with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
            let mut inside = self.0.lock().unwrap();
            inside.1 += 1;
            let mut forgotten = inside.0;
            let is_kept = !inside.1.is_multiple_of(100);
            Some(section(if is_kept {
                &mut inside.0
            } else {
                &mut forgotten
            }))
        }
        async fn with<R: Send>(&self, section: impl FnOnce(&mut u64) -> R + Send) -> R {
            self.try_with(section).expect("always free")
        }
    }

    #[test]
    fn a_forgetful_lock_is_caught() {
        for body in [tried::<Forgetful>, contended::<Forgetful, SharedRuntime>] {
            assert_caught(body(&context()), "the counter");
        }
    }
}
