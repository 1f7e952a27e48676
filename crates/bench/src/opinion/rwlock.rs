//! Question 3: four readers and two writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Work;

use crate::scenario::{Failure, verify};
use crate::threads;
use crossbeam_utils::CachePadded;

use crate::opinion::measure::{Contender, Done, Effort, head, run};
use crate::opinion::naive;
use crate::opinion::show::costs;
use crate::opinion::tasks::{self, watch};

const READERS: usize = 4;
const MEMBERS: usize = 6;

/// A reader-writer lock for threads.
trait Lock: Sync {
    fn new() -> Self;
    fn read(&self, section: impl FnOnce());
    fn write(&self, section: impl FnOnce());
}

impl Lock for naive::rwlock::RwLock {
    fn new() -> Self {
        Self::new()
    }
    fn read(&self, section: impl FnOnce()) {
        self.read();
        section();
        self.end_read();
    }
    fn write(&self, section: impl FnOnce()) {
        self.write();
        section();
        self.end_write();
    }
}

impl Lock for blitz_io_sync::thread::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self, section: impl FnOnce()) {
        let _guard = self.read();
        section();
    }
    fn write(&self, section: impl FnOnce()) {
        let _guard = self.write();
        section();
    }
}

impl Lock for parking_lot::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self, section: impl FnOnce()) {
        let _guard = self.read();
        section();
    }
    fn write(&self, section: impl FnOnce()) {
        let _guard = self.write();
        section();
    }
}

impl Lock for std::sync::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self, section: impl FnOnce()) {
        let _guard = self.read().expect("no section panics");
        section();
    }
    fn write(&self, section: impl FnOnce()) {
        let _guard = self.write().expect("no section panics");
        section();
    }
}

/// Tokio's lock, with threads that wait for it.
impl Lock for tokio::sync::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self, section: impl FnOnce()) {
        let _guard = futures_executor::block_on(self.read());
        section();
    }
    fn write(&self, section: impl FnOnce()) {
        let _guard = futures_executor::block_on(self.write());
        section();
    }
}

/// A reader-writer lock for tasks.
trait TaskLock: Send + Sync + 'static {
    fn new() -> Self;
    fn read(&self) -> impl Future<Output = impl Send> + Send;
    fn write(&self) -> impl Future<Output = impl Send> + Send;
}

impl TaskLock for tokio::sync::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self) -> impl Future<Output = impl Send> + Send {
        self.read()
    }
    fn write(&self) -> impl Future<Output = impl Send> + Send {
        self.write()
    }
}

impl TaskLock for blitz_io_sync::task::RwLock<()> {
    fn new() -> Self {
        Self::new(())
    }
    fn read(&self) -> impl Future<Output = impl Send> + Send {
        self.read()
    }
    fn write(&self) -> impl Future<Output = impl Send> + Send {
        self.write()
    }
}

/// Two numbers that are equal whenever no writer is inside. They are written without atomic
/// read-modify-writes: two concurrent writers would lose a step.
#[derive(Default)]
struct Twins {
    first: AtomicU64,
    second: AtomicU64,
}

impl Twins {
    fn write(&self, work: impl FnOnce()) {
        self.first.store(self.first.load(Relaxed) + 1, Relaxed);
        work();
        self.second.store(self.second.load(Relaxed) + 1, Relaxed);
    }

    /// Returns whether the two were equal all the time.
    fn read(&self, work: impl FnOnce()) -> bool {
        let first = self.first.load(Relaxed);
        work();
        self.second.load(Relaxed) == first
    }

    fn verify(&self, writes: u64) -> Result<(), Failure> {
        verify("the first twin", writes, self.first.load(Relaxed))?;
        verify("the second twin", writes, self.second.load(Relaxed))
    }
}

/// The work of the members.
#[derive(Clone, Copy)]
struct Scene {
    /// How many microseconds of work are in a section.
    section: u32,
    microsecond: Work,
}

impl Scene {
    fn work(self) {
        (0..self.section).for_each(|_| self.microsecond.run());
    }

    fn verify(self, share: u64, twins: &Twins, intact: u64) -> Result<u64, Failure> {
        twins.verify(share * (MEMBERS - READERS) as u64)?;
        let reads = share * READERS as u64;
        verify("reads that found the twins equal", reads, intact)?;
        Ok(share * MEMBERS as u64)
    }

    fn by_threads<L: Lock>(self, operations: u64) -> Result<Done, Failure> {
        let share = operations / MEMBERS as u64;
        let lock = CachePadded::new(L::new());
        let twins = CachePadded::new(Twins::default());
        let (span, intact) = threads::start_all(MEMBERS, |member| {
            let (lock, twins) = (&lock, &twins);
            move || {
                let mut intact = 0;
                for _ in 0..share {
                    if member < READERS {
                        lock.read(|| intact += u64::from(twins.read(|| self.work())))
                    } else {
                        lock.write(|| twins.write(|| self.work()))
                    }
                }
                intact
            }
        });
        Ok(Done {
            elapsed: span.elapsed,
            operations: self.verify(share, &twins, intact.iter().sum())?,
            waited: None,
        })
    }

    fn by_tasks<L: TaskLock>(self, operations: u64, workers: usize) -> Result<Done, Failure> {
        let share = operations / MEMBERS as u64;
        let shared = Arc::new((
            CachePadded::new(L::new()),
            CachePadded::new(Twins::default()),
        ));
        let (elapsed, ended) = tasks::start_all(workers, MEMBERS, |member| {
            let shared = shared.clone();
            async move {
                let (lock, twins) = &*shared;
                let (mut intact, mut waited) = (0, 0);
                for _ in 0..share {
                    if member < READERS {
                        let _guard = watch(lock.read(), &mut waited).await;
                        intact += u64::from(twins.read(|| self.work()));
                    } else {
                        let _guard = watch(lock.write(), &mut waited).await;
                        twins.write(|| self.work());
                    }
                }
                (intact, waited)
            }
        });
        let intact = ended.iter().map(|(intact, _)| intact).sum();
        Ok(Done {
            elapsed,
            operations: self.verify(share, &shared.1, intact)?,
            waited: Some(ended.iter().map(|(_, waited)| waited).sum()),
        })
    }

    fn contenders(self) -> Vec<Contender> {
        let mut contenders = vec![
            Contender::new("naive futex, 6 threads", move |operations| {
                self.by_threads::<naive::rwlock::RwLock>(operations)
            }),
            Contender::new("std, 6 threads", move |operations| {
                self.by_threads::<std::sync::RwLock<()>>(operations)
            }),
            Contender::new("parking_lot, 6 threads", move |operations| {
                self.by_threads::<parking_lot::RwLock<()>>(operations)
            }),
            Contender::new("tokio, 6 threads (block_on)", move |operations| {
                self.by_threads::<tokio::sync::RwLock<()>>(operations)
            }),
            Contender::new("blitz-io, 6 threads", move |operations| {
                self.by_threads::<blitz_io_sync::thread::RwLock<()>>(operations)
            }),
        ];
        contenders.extend(self.of_tasks::<tokio::sync::RwLock<()>>("tokio"));
        contenders.extend(self.of_tasks::<blitz_io_sync::task::RwLock<()>>("blitz-io"));
        contenders
    }

    fn of_tasks<L: TaskLock>(self, name: &str) -> Vec<Contender> {
        let kinds = [2, 4].into_iter();
        kinds
            .map(|workers| {
                let name = format!("{name}, 6 tasks on {workers} workers");
                Contender::of_tasks(name, move |operations| {
                    self.by_tasks::<L>(operations, workers)
                })
            })
            .collect()
    }
}

pub fn answer(effort: Effort) -> Result<String, Failure> {
    let mut text = head("Reader-writer lock: 4 readers and 2 writers", effort);
    let scenes = [("short sections", 0), ("sections of 1 µs", 1)];
    for (title, section) in scenes {
        let scene = Scene {
            section,
            microsecond: effort.microsecond,
        };
        text += &format!("\n{title}\n{}", costs(&run(effort, &scene.contenders())?));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_beside_a_writer_is_noticed() {
        let twins = Twins::default();
        assert!(twins.read(|| ()));
        // The writer's first step falls into the reader's section.
        assert!(!twins.read(|| twins.write(|| ())));
    }

    #[test]
    fn a_lost_write_is_noticed() {
        let scene = Scene {
            section: 0,
            microsecond: Work::calibrate(std::time::Duration::from_micros(1)),
        };
        let twins = Twins::default();
        (0..19).for_each(|_| twins.write(|| ()));
        assert!(scene.verify(10, &twins, 40).is_err());
        twins.write(|| ());
        assert!(scene.verify(10, &twins, 40).is_ok());
        assert!(scene.verify(10, &twins, 39).is_err());
    }
}
