//! Reader-writer locks: uncontended, and contended with two mixes of reads and writes.
//!
//! A writer changes two fields one after the other. A reader that sees them differ was
//! admitted beside a writer.

use std::hint::black_box;

use crossbeam_utils::CachePadded;

use crate::scenario::{Context, Failure, Measured, OURS, Sample, Scenario, verify};
use crate::settings::SYNC_OPS;
use crate::threads::{solo, start_all};
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    /// Four reads to one write.
    MostlyReads,
    /// Alternates reads and writes.
    HalfWrites,
}

impl Mix {
    const ALL: [Mix; 2] = [Mix::MostlyReads, Mix::HalfWrites];

    fn id(self) -> &'static str {
        match self {
            Mix::MostlyReads => "reads",
            Mix::HalfWrites => "mixed",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Mix::MostlyReads => "4 reads : 1 write",
            Mix::HalfWrites => "1 read : 1 write",
        }
    }

    /// Returns the period: every `period`-th operation of a thread is a write.
    fn period(self) -> u64 {
        match self {
            Mix::MostlyReads => 5,
            Mix::HalfWrites => 2,
        }
    }
}

/// How the contended scenarios differ.
#[derive(Clone, Copy)]
struct Contention {
    threads: usize,
    mix: Mix,
    section: Section,
}

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

        contenders! {
            <L: Lock> {
                reads: fn(&Context) -> Measured = reads::<L>,
                writes: fn(&Context) -> Measured = writes::<L>,
                contended: fn(&Context, Contention) -> Measured = contended::<L>,
            }
            $($name => $lock),+
        }
    };
}

peers! {
    OURS, blitz_io_sync::thread::RwLock<Twins>, |lock| lock.read(), lock.write();
    "std", std::sync::RwLock<Twins>, |lock| lock.read().expect("no section panics"),
        lock.write().expect("no section panics");
    "parking_lot", parking_lot::RwLock<Twins>, |lock| lock.read(), lock.write();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let reads = Scenario::new(4, "rwlock_read_uncontended", "RwLock read/unlock", SYNC_OPS);
    let writes = Scenario::new(
        4,
        "rwlock_write_uncontended",
        "RwLock write/unlock",
        SYNC_OPS,
    );
    let mut scenarios = vec![
        reads.with_all(PEERS.map(|peer| (peer.name, peer.reads))),
        writes.with_all(PEERS.map(|peer| (peer.name, peer.writes))),
    ];
    for mix in Mix::ALL {
        for section in Section::ALL {
            for threads in [2, 4, 8] {
                scenarios.push(contended_scenario(Contention {
                    threads,
                    mix,
                    section,
                }));
            }
        }
    }
    scenarios
}

fn contended_scenario(contention: Contention) -> Scenario {
    let Contention {
        threads,
        mix,
        section,
    } = contention;
    let ops = match section {
        Section::Short => 2_000_000,
        Section::Microsecond => 100_000,
    };
    let scenario = Scenario::new(
        4,
        format!("rwlock_{}_{threads}_{}", mix.id(), section.id()),
        format!("RwLock {}, {}", mix.title(), section.title()),
        ops,
    )
    .threads(threads);
    scenario.with_all(PEERS.map(|peer| {
        (peer.name, move |cx: &Context| {
            (peer.contended)(cx, contention)
        })
    }))
}

fn reads<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let (span, intact) = solo(|| {
        let mut intact = 0u64;
        for _ in 0..cx.ops {
            intact += u64::from(lock.read(|twins| twins.read(|| ())));
        }
        intact
    });
    verify("reads that found the twins equal", cx.ops, intact)?;
    Ok(Sample::new(span, cx.ops))
}

fn writes<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let (span, ()) = solo(|| {
        for _ in 0..cx.ops {
            lock.write(|twins| twins.write(|| ()));
        }
    });
    lock.read(|twins| *twins).verify(cx.ops)?;
    Ok(Sample::new(span, cx.ops))
}

/// The work of one thread.
#[derive(Clone, Copy, Default)]
struct Done {
    intact_reads: u64,
    writes: u64,
}

fn contended<L: Lock>(cx: &Context, contention: Contention) -> Measured {
    let Contention {
        threads,
        mix,
        section,
    } = contention;
    let lock = CachePadded::new(L::new());
    // Whole periods only, so that the number of writes is known in advance.
    let share = (cx.share(threads) / mix.period()).max(1) * mix.period();
    let (span, done) = start_all(threads, |member| {
        let lock = &lock;
        move || {
            let mut done = Done::default();
            for turn in 0..share {
                // Threads start at different positions of the period.
                if (turn + member as u64).is_multiple_of(mix.period()) {
                    lock.write(|twins| twins.write(|| section.run(cx.microsecond)));
                    done.writes += 1;
                } else {
                    let intact = lock.read(|twins| twins.read(|| section.run(cx.microsecond)));
                    done.intact_reads += u64::from(intact);
                }
            }
            done
        }
    });
    let total = share * threads as u64;
    let writes = total / mix.period();
    verify("writes", writes, done.iter().map(|d| d.writes).sum())?;
    verify(
        "reads that found the twins equal",
        total - writes,
        done.iter().map(|d| d.intact_reads).sum(),
    )?;
    lock.read(|twins| *twins).verify(writes)?;
    Ok(Sample::new(span, total))
}
