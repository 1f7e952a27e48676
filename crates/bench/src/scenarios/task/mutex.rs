//! Mutexes for tasks.

use std::hint::black_box;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::{ASYNC_OPS, SYNC_OPS};
use crate::tasks::{Host, SharedRuntime};
use crate::threads::solo;

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

/// One contender's body.
type Body = fn(&Context) -> Measured;

/// Makes the contenders: a name, a type, and how its lock is tried.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $try_lock:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(0)
            }
            #[inline]
            fn try_with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
                let $this = self;
                Some(section(&mut *$try_lock?))
            }
            #[inline]
            async fn with<R: Send>(&self, section: impl FnOnce(&mut u64) -> R + Send) -> R {
                section(&mut *self.lock().await)
            }
        })+

        contenders! {
            <L: Lock> {
                tried: Body = tried::<L>,
                contended: Body = contended::<L, SharedRuntime>,
            }
            $($name => $lock),+
        }
    };
}

peers! {
    OURS, blitz_io_sync::task::Mutex<u64>, |lock| lock.try_lock().ok();
    "tokio", tokio::sync::Mutex<u64>, |lock| lock.try_lock().ok();
    "async-lock", async_lock::Mutex<u64>, |lock| lock.try_lock();
}

const TASKS: usize = 4;

pub(super) fn scenarios() -> Vec<Scenario> {
    let on_own = on_own_runtimes!(
        contended: blitz_io_sync::task::Mutex<u64>, tokio::sync::Mutex<u64>, async_lock::Mutex<u64>
    );
    let tried = Scenario::new(1, "mutex", "Mutex try_lock/unlock", SYNC_OPS);
    let contended = Scenario::new(3, "mutex_tasks", "Mutex, 4 tasks", ASYNC_OPS).on_runtime();
    let title = "Mutex, 4 tasks, own runtime";
    let own = Scenario::new(3, "mutex_tasks_own", title, ASYNC_OPS).on_runtime();
    vec![
        tried.with_all(PEERS.map(|peer| (peer.name, peer.tried))),
        contended.with_all(PEERS.map(|peer| (peer.name, peer.contended))),
        own.with_all(on_own),
    ]
}

fn tried<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let (span, locked) = solo(|| {
        let mut locked = 0u64;
        for _ in 0..cx.ops {
            let lock: &L = black_box(&lock);
            locked += u64::from(lock.try_with(|counter| *counter += 1).is_some());
        }
        locked
    });
    verify("locks that were had", cx.ops, locked)?;
    let counted = lock.try_with(|n| *n).unwrap_or(0);
    verify("the counter under the lock", cx.ops, counted)?;
    Ok(Sample::new(span, cx.ops))
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
    use crate::scenarios::tests::context;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A lock that forgets every hundredth section.
    struct Forgetful {
        count: AtomicU64,
        turn: AtomicU64,
    }

    impl Lock for Forgetful {
        fn new() -> Self {
            Forgetful {
                count: AtomicU64::new(0),
                turn: AtomicU64::new(0),
            }
        }
        fn try_with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> Option<R> {
            let mut count = self.count.load(Relaxed);
            let value = section(&mut count);
            if self.turn.fetch_add(1, Relaxed) % 100 != 99 {
                self.count.store(count, Relaxed);
            }
            Some(value)
        }
        async fn with<R: Send>(&self, section: impl FnOnce(&mut u64) -> R + Send) -> R {
            self.try_with(section).expect("always free")
        }
    }

    #[test]
    fn a_forgetful_lock_is_caught() {
        for body in [tried::<Forgetful>, contended::<Forgetful, SharedRuntime>] {
            let failure = body(&context()).unwrap_err().to_string();
            assert!(failure.starts_with("the counter"), "{failure}");
        }
    }
}
