//! Reader-writer locks for tasks.

use crate::scenarios::contended_by_tasks;
use crate::scenarios::prelude::*;
use crate::scenarios::rwlock::Twins;
use crate::tasks::{Host, SharedRuntime};

/// A reader-writer lock around [`Twins`].
trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    /// Runs `section` as a reader if that is possible now.
    fn try_read<R>(&self, section: impl FnOnce(&Twins) -> R) -> Option<R>;
    /// Runs `section` as a writer if that is possible now.
    fn try_write<R>(&self, section: impl FnOnce(&mut Twins) -> R) -> Option<R>;
    fn reads<R: Send>(
        &self,
        section: impl FnOnce(&Twins) -> R + Send,
    ) -> impl Future<Output = R> + Send;
    fn writes<R: Send>(
        &self,
        section: impl FnOnce(&mut Twins) -> R + Send,
    ) -> impl Future<Output = R> + Send;
}

/// Makes the contenders: a name, a type, and how its guards are tried.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $try_read:expr, $try_write:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(Twins::default())
            }
            #[inline]
            fn try_read<R>(&$this, section: impl FnOnce(&Twins) -> R) -> Option<R> {
                Some(section(&*$try_read?))
            }
            #[inline]
            fn try_write<R>(&$this, section: impl FnOnce(&mut Twins) -> R) -> Option<R> {
                Some(section(&mut *$try_write?))
            }
            #[inline]
            async fn reads<R: Send>(&$this, section: impl FnOnce(&Twins) -> R + Send) -> R {
                section(&*$this.read().await)
            }
            #[inline]
            async fn writes<R: Send>(&$this, section: impl FnOnce(&mut Twins) -> R + Send) -> R {
                section(&mut *$this.write().await)
            }
        })+

        type Table = [(&'static str, Body); [$($name),+].len()];
        const READS: Table = [$(($name, tried_reads::<$lock>)),+];
        const WRITES: Table = [$(($name, tried_writes::<$lock>)),+];
        const CONTENDED: Table = [$(($name, contended::<$lock, SharedRuntime>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::task::RwLock<Twins>, |self| self.try_read().ok(), self.try_write().ok();
    "tokio", tokio::sync::RwLock<Twins>, |self| self.try_read().ok(), self.try_write().ok();
    "async-lock", async_lock::RwLock<Twins>, |self| self.try_read(), self.try_write();
}

const READERS: usize = 4;
const WRITERS: usize = 2;

pub(super) fn scenarios() -> Vec<Scenario> {
    let on_own = on_own_runtimes!(
        contended: blitz_io_sync::task::RwLock<Twins>, tokio::sync::RwLock<Twins>, async_lock::RwLock<Twins>
    );
    let reads = Scenario::new(1, "rwlock_read", "RwLock try_read/unlock", SYNC_OPS);
    let writes = Scenario::new(1, "rwlock_write", "RwLock try_write/unlock", SYNC_OPS);
    let mut scenarios = vec![reads.with_all(READS), writes.with_all(WRITES)];
    let what = ("rwlock_tasks", "RwLock, 4 readers and 2 writers");
    scenarios.extend(contended_by_tasks(what, CONTENDED, on_own));
    scenarios
}

fn tried_reads<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let sample = repeat(cx, "reads that found the twins equal", |_| {
        let lock: &L = black_box(&lock);
        lock.try_read(|twins| twins.read(|| ())) == Some(true)
    })?;
    let free = lock.try_write(|_| ()).is_some();
    verify("that no reader is left", true, free)?;
    Ok(sample)
}

fn tried_writes<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let sample = repeat(cx, "locks that were had", |_| {
        let lock: &L = black_box(&lock);
        lock.try_write(|twins| twins.write(|| ())).is_some()
    })?;
    verify_twins(&*lock, cx.ops)?;
    Ok(sample)
}

fn contended<L: Lock, G: Host>(cx: &Context) -> Measured {
    let lock = Arc::new(CachePadded::new(L::new()));
    let share = cx.share(READERS + WRITERS);
    let (span, good) = G::start_all(cx.workers, READERS + WRITERS, |member| {
        let lock = lock.clone();
        // Every third task writes, so that the writers do not come last.
        let writes = member % 3 == 1;
        async move {
            let mut good = 0u64;
            for _ in 0..share {
                if writes {
                    lock.writes(|twins| twins.write(|| ())).await;
                    good += 1;
                } else {
                    good += u64::from(lock.reads(|twins| twins.read(|| ())).await);
                }
            }
            good
        }
    });
    let total = share * (READERS + WRITERS) as u64;
    let good = good.iter().sum();
    verify("writes, and reads that found the twins equal", total, good)?;
    verify_twins(&**lock, share * WRITERS as u64)?;
    Ok(Sample::new(span, total))
}

fn verify_twins(lock: &impl Lock, writes: u64) -> Result<(), Failure> {
    let found = lock.try_read(|twins| *twins).unwrap_or_default();
    found.verify(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A lock that loses every hundredth write.
    struct Forgetful(Mutex<(Twins, u64)>);

    impl Lock for Forgetful {
        fn new() -> Self {
            Forgetful(Mutex::default())
        }
        fn try_read<R>(&self, section: impl FnOnce(&Twins) -> R) -> Option<R> {
            Some(section(&self.0.lock().unwrap().0))
        }
        fn try_write<R>(&self, section: impl FnOnce(&mut Twins) -> R) -> Option<R> {
            let mut inside = self.0.lock().unwrap();
            inside.1 += 1;
            if inside.1.is_multiple_of(100) {
                return Some(section(&mut Twins::default()));
            }
            Some(section(&mut inside.0))
        }
        async fn reads<R: Send>(&self, section: impl FnOnce(&Twins) -> R + Send) -> R {
            self.try_read(section).unwrap()
        }
        async fn writes<R: Send>(&self, section: impl FnOnce(&mut Twins) -> R + Send) -> R {
            self.try_write(section).unwrap()
        }
    }

    #[test]
    fn a_forgetful_lock_is_caught() {
        for body in [
            tried_writes::<Forgetful>,
            contended::<Forgetful, SharedRuntime>,
        ] {
            assert_caught(body(&context()), "the first twin");
        }
    }
}
