//! Reader-writer locks: uncontended, and contended with two mixes of reads and writes.
//!
//! A writer changes two fields one after the other. A reader that sees them differ was
//! admitted beside a writer.

use std::hint::black_box;

use crossbeam_utils::CachePadded;

use super::{Body, repeat};
use crate::scenario::{Context, Failure, Measured, OURS, Sample, Scenario, verify};
use crate::settings::SYNC_OPS;
use crate::threads::start_all;
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

/// Which operations are writes.
#[derive(Clone, Copy)]
struct Mix {
    id: &'static str,
    title: &'static str,
    /// Every `period`-th operation of a thread is a write.
    period: u64,
}

const MIXES: [Mix; 2] = [
    Mix {
        id: "reads",
        title: "4 reads : 1 write",
        period: 5,
    },
    Mix {
        id: "mixed",
        title: "1 read : 1 write",
        period: 2,
    },
];

/// One contender's body for a number of threads, a mix and a section.
type Contended = fn(&Context, usize, Mix, Section) -> Measured;

/// Makes the contenders: a name, a type, and how its guards are taken.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $read:expr, $write:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(Twins::default())
            }
            #[inline]
            fn read<R>(&self, section: impl FnOnce(&Twins) -> R) -> R {
                let $this = self;
                section(&$read)
            }
            #[inline]
            fn write<R>(&self, section: impl FnOnce(&mut Twins) -> R) -> R {
                let $this = self;
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
    OURS, blitz_io_sync::thread::RwLock<Twins>, |lock| lock.read(), lock.write();
    "std", std::sync::RwLock<Twins>, |lock| lock.read().expect("no section panics"),
        lock.write().expect("no section panics");
    "parking_lot", parking_lot::RwLock<Twins>, |lock| lock.read(), lock.write();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id, title| Scenario::new(4, id, title, SYNC_OPS);
    let reads = row("rwlock_read_uncontended", "RwLock read/unlock");
    let writes = row("rwlock_write_uncontended", "RwLock write/unlock");
    let mut scenarios = vec![reads.with_all(READS), writes.with_all(WRITES)];
    for mix in MIXES {
        for section in Section::ALL {
            for threads in [2, 4, 8] {
                scenarios.push(contended_scenario(threads, mix, section));
            }
        }
    }
    scenarios
}

fn contended_scenario(threads: usize, mix: Mix, section: Section) -> Scenario {
    let ops = match section {
        Section::Short => 2_000_000,
        Section::Microsecond => 100_000,
    };
    let id = format!("rwlock_{}_{threads}_{}", mix.id, section.id());
    let title = format!("RwLock {}, {}", mix.title, section.title());
    let scenario = Scenario::new(4, id, title, ops).threads(threads);
    scenario.with_all(
        CONTENDED.map(|(name, body)| (name, move |cx: &Context| body(cx, threads, mix, section))),
    )
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

fn contended<L: Lock>(cx: &Context, threads: usize, mix: Mix, section: Section) -> Measured {
    let lock = CachePadded::new(L::new());
    // Whole periods only, so that the number of writes is known in advance.
    let share = (cx.share(threads) / mix.period).max(1) * mix.period;
    let (span, good) = start_all(threads, |member| {
        let lock = &lock;
        move || {
            let mut good = 0u64;
            for turn in 0..share {
                // Threads start at different positions of the period.
                if (turn + member as u64).is_multiple_of(mix.period) {
                    lock.write(|twins| twins.write(|| section.run(cx.microsecond)));
                    good += 1;
                } else {
                    let intact = lock.read(|twins| twins.read(|| section.run(cx.microsecond)));
                    good += u64::from(intact);
                }
            }
            good
        }
    });
    let total = share * threads as u64;
    let good = good.iter().sum();
    verify("writes, and reads that found the twins equal", total, good)?;
    lock.read(|twins| *twins).verify(total / mix.period)?;
    Ok(Sample::new(span, total))
}
