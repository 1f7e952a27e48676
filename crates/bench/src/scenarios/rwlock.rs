//! Reader-writer locks: uncontended, and contended with two mixes of reads and writes.
//!
//! A writer changes two fields one after the other. A reader that sees them differ was
//! admitted beside a writer.

use crate::scenarios::prelude::*;
use crate::work::Section;

/// Two counters that are equal whenever no writer is inside.
#[derive(Clone, Copy, Default)]
pub(super) struct Twins {
    first: u64,
    second: u64,
}

impl Twins {
    #[inline]
    pub(super) fn write(&mut self, between: impl FnOnce()) {
        self.first += 1;
        // Keeps the two stores apart, so that a reader admitted by mistake can see it.
        let twins = black_box(self);
        between();
        twins.second += 1;
    }

    /// Returns whether the two were equal all the time.
    #[inline]
    pub(super) fn read(&self, between: impl FnOnce()) -> bool {
        let first = self.first;
        between();
        black_box(self).second == first
    }

    /// Checks that exactly `writes` writes were made.
    pub(super) fn verify(self, writes: u64) -> Result<(), Failure> {
        verify("the first twin", writes, self.first)?;
        verify("the second twin", writes, self.second)
    }
}

/// A reader-writer lock around the twins.
trait Lock: Sync {
    fn new() -> Self;
    fn read<R>(&self, section: impl FnOnce(&Twins) -> R) -> R;
    fn write<R>(&self, section: impl FnOnce(&mut Twins) -> R) -> R;
}

/// Which operations are writes: a part of the id, a part of the title, and the period. Every
/// `period`-th operation of a thread is a write.
const MIXES: [(&str, &str, u64); 2] = [
    ("reads", "4 reads : 1 write", 5),
    ("mixed", "1 read : 1 write", 2),
];

/// One contender's body for a number of threads, a period and a section.
type Contended = BodyOf<(usize, u64, Section)>;

/// Makes the contenders: a name, a type, and how its guards are taken.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $read:expr, $write:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(Twins::default())
            }
            #[inline]
            fn read<R>(&$this, section: impl FnOnce(&Twins) -> R) -> R {
                section(&$read)
            }
            #[inline]
            fn write<R>(&$this, section: impl FnOnce(&mut Twins) -> R) -> R {
                section(&mut $write)
            }
        })+

        type Table<B> = [(&'static str, B); [$($name),+].len()];
        const READS: Table<Body> = [$(($name, reads::<$lock>)),+];
        const WRITES: Table<Body> = [$(($name, writes::<$lock>)),+];
        const CONTENDED: Table<Contended> = [$(($name, contended::<$lock>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::thread::RwLock<Twins>, |self| self.read(), self.write();
    "std", std::sync::RwLock<Twins>, |self| self.read().expect("no section panics"),
        self.write().expect("no section panics");
    "parking_lot", parking_lot::RwLock<Twins>, |self| self.read(), self.write();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id, title| Scenario::new(4, id, title, SYNC_OPS);
    let reads = row("rwlock_read_uncontended", "RwLock read/unlock");
    let writes = row("rwlock_write_uncontended", "RwLock write/unlock");
    let mut scenarios = vec![reads.with_all(READS), writes.with_all(WRITES)];
    for (id, title, period) in MIXES {
        for section in Section::ALL {
            for threads in [2, 4, 8] {
                let id = format!("rwlock_{id}_{threads}_{}", section.id());
                let title = format!("RwLock {title}, {}", section.title());
                let row = Scenario::new(4, id, title, section.ops(2_000_000)).threads(threads);
                scenarios.push(row.with_each((threads, period, section), CONTENDED));
            }
        }
    }
    scenarios
}

fn reads<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    repeat(cx, "reads that found the twins equal", |_| {
        lock.read(|twins| twins.read(|| ()))
    })
}

fn writes<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let sample = repeat(cx, "sections that ran", |_| {
        lock.write(|twins| twins.write(|| ()));
        true
    })?;
    lock.read(|twins| *twins).verify(cx.ops)?;
    Ok(sample)
}

fn contended<L: Lock>(cx: &Context, (threads, period, section): (usize, u64, Section)) -> Measured {
    let lock = CachePadded::new(L::new());
    // Whole periods only, so that the number of writes is known in advance.
    let share = (cx.share(threads) / period).max(1) * period;
    let what = "writes, and reads that found the twins equal";
    let sample = repeat_on(threads, share, what, |thread, turn| {
        // Threads start at different positions of the period.
        if (turn + thread as u64).is_multiple_of(period) {
            lock.write(|twins| twins.write(|| section.run(cx.microsecond)));
            true
        } else {
            lock.read(|twins| twins.read(|| section.run(cx.microsecond)))
        }
    })?;
    lock.read(|twins| *twins).verify(sample.ops / period)?;
    Ok(sample)
}
