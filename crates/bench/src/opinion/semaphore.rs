//! Question 2: eight threads or tasks, and few permits.

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

const MEMBERS: usize = 8;

/// A semaphore for threads.
trait Permits: Sync {
    /// `mixed` means that members want different amounts.
    fn new(permits: u32, mixed: bool) -> Self;
    fn with(&self, n: u32, section: impl FnOnce());
}

struct WakesOne(naive::semaphore::Semaphore);

impl Permits for WakesOne {
    fn new(permits: u32, _: bool) -> Self {
        Self(naive::semaphore::Semaphore::waking_one(permits))
    }
    fn with(&self, n: u32, section: impl FnOnce()) {
        self.0.acquire(n);
        section();
        self.0.release(n);
    }
}

struct WakesAll(naive::semaphore::Semaphore);

impl Permits for WakesAll {
    fn new(permits: u32, _: bool) -> Self {
        Self(naive::semaphore::Semaphore::waking_all(permits))
    }
    fn with(&self, n: u32, section: impl FnOnce()) {
        self.0.acquire(n);
        section();
        self.0.release(n);
    }
}

impl Permits for blitz_io_sync::thread::Semaphore {
    fn new(permits: u32, _: bool) -> Self {
        Self::new(permits as usize)
    }
    fn with(&self, n: u32, section: impl FnOnce()) {
        let _permits = self.acquire_many(n).expect("nobody closes it");
        section();
    }
}

/// Tokio's semaphore, with threads that wait for it.
impl Permits for tokio::sync::Semaphore {
    fn new(permits: u32, _: bool) -> Self {
        Self::new(permits as usize)
    }
    fn with(&self, n: u32, section: impl FnOnce()) {
        let _permits = futures_executor::block_on(self.acquire_many(n)).expect("nobody closes it");
        section();
    }
}

/// A mutex, a count and a condition variable. A release wakes one waiter, or all if the
/// members want different amounts.
struct OfStd {
    wakes_all: bool,
    free: std::sync::Mutex<u32>,
    returned: std::sync::Condvar,
}

impl Permits for OfStd {
    fn new(permits: u32, mixed: bool) -> Self {
        Self {
            wakes_all: mixed,
            free: std::sync::Mutex::new(permits),
            returned: std::sync::Condvar::new(),
        }
    }
    fn with(&self, n: u32, section: impl FnOnce()) {
        let free = self.free.lock().expect("no section panics");
        let free = self.returned.wait_while(free, |free| *free < n);
        *free.expect("no section panics") -= n;
        section();
        *self.free.lock().expect("no section panics") += n;
        if self.wakes_all {
            self.returned.notify_all();
        } else {
            self.returned.notify_one();
        }
    }
}

/// A semaphore for tasks.
trait TaskPermits: Send + Sync + 'static {
    fn new(permits: u32) -> Self;
    fn acquire(&self, n: u32) -> impl Future<Output = impl Send> + Send;
}

impl TaskPermits for tokio::sync::Semaphore {
    fn new(permits: u32) -> Self {
        Self::new(permits as usize)
    }
    fn acquire(&self, n: u32) -> impl Future<Output = impl Send> + Send {
        self.acquire_many(n)
    }
}

impl TaskPermits for blitz_io_sync::task::Semaphore {
    fn new(permits: u32) -> Self {
        Self::new(permits as usize)
    }
    fn acquire(&self, n: u32) -> impl Future<Output = impl Send> + Send {
        self.acquire_many(n)
    }
}

/// How many permits are in use, and how many sections have run, in one word.
#[derive(Default)]
struct Inside(AtomicU64);

impl Inside {
    const EVER: u64 = 1 << 16;

    /// Enters with `n` permits. Returns whether there was room.
    fn enter(&self, n: u32, permits: u32) -> bool {
        let before = self.0.fetch_add(u64::from(n) + Self::EVER, Relaxed);
        before % Self::EVER + u64::from(n) <= u64::from(permits)
    }

    fn leave(&self, n: u32) {
        self.0.fetch_sub(u64::from(n), Relaxed);
    }

    fn verify(&self, sections: u64, with_room: u64) -> Result<(), Failure> {
        let word = self.0.load(Relaxed);
        verify("permits still in use", 0, word % Self::EVER)?;
        verify("sections that ran", sections, word / Self::EVER)?;
        verify("sections for which there was room", sections, with_room)
    }
}

/// The work of the members.
#[derive(Clone, Copy)]
struct Scene {
    permits: u32,
    /// How many microseconds of work are in a section.
    section: u32,
    /// Every second member wants all permits.
    mixed: bool,
    microsecond: Work,
}

impl Scene {
    fn amount(self, member: usize) -> u32 {
        if self.mixed && member.is_multiple_of(2) {
            self.permits
        } else {
            1
        }
    }

    fn work(self) {
        (0..self.section).for_each(|_| self.microsecond.run());
    }

    fn by_threads<P: Permits>(self, operations: u64) -> Result<Done, Failure> {
        let share = operations / MEMBERS as u64;
        let semaphore = CachePadded::new(P::new(self.permits, self.mixed));
        let inside = CachePadded::new(Inside::default());
        let (span, with_room) = threads::start_all(MEMBERS, |member| {
            let (semaphore, inside) = (&semaphore, &inside);
            let n = self.amount(member);
            move || {
                let mut with_room = 0;
                for _ in 0..share {
                    semaphore.with(n, || {
                        with_room += u64::from(inside.enter(n, self.permits));
                        self.work();
                        inside.leave(n);
                    });
                }
                with_room
            }
        });
        let operations = share * MEMBERS as u64;
        inside.verify(operations, with_room.iter().sum())?;
        Ok(Done {
            elapsed: span.elapsed,
            operations,
            waited: None,
        })
    }

    fn by_tasks<P: TaskPermits>(
        self,
        operations: u64,
        workers: usize,
        awaits: bool,
    ) -> Result<Done, Failure> {
        let share = operations / MEMBERS as u64;
        let shared = Arc::new((
            CachePadded::new(P::new(self.permits)),
            CachePadded::new(Inside::default()),
        ));
        let (elapsed, ended) = tasks::start_all(workers, MEMBERS, |member| {
            let shared = shared.clone();
            let n = self.amount(member);
            async move {
                let (semaphore, inside) = &*shared;
                let (mut with_room, mut waited) = (0, 0);
                for _ in 0..share {
                    let _permits = watch(semaphore.acquire(n), &mut waited).await;
                    with_room += u64::from(inside.enter(n, self.permits));
                    self.work();
                    if awaits {
                        tokio::task::yield_now().await;
                    }
                    inside.leave(n);
                }
                (with_room, waited)
            }
        });
        let operations = share * MEMBERS as u64;
        let with_room = ended.iter().map(|(with_room, _)| with_room).sum();
        shared.1.verify(operations, with_room)?;
        Ok(Done {
            elapsed,
            operations,
            waited: Some(ended.iter().map(|(_, waited)| waited).sum()),
        })
    }

    fn contenders(self) -> Vec<Contender> {
        let mut contenders = vec![
            Contender::new("naive futex, wakes all, 8 threads", move |operations| {
                self.by_threads::<WakesAll>(operations)
            }),
            Contender::new("std mutex + condvar, 8 threads", move |operations| {
                self.by_threads::<OfStd>(operations)
            }),
            Contender::new("tokio, 8 threads (block_on)", move |operations| {
                self.by_threads::<tokio::sync::Semaphore>(operations)
            }),
            Contender::new("blitz-io, 8 threads", move |operations| {
                self.by_threads::<blitz_io_sync::thread::Semaphore>(operations)
            }),
        ];
        if !self.mixed {
            let one = Contender::new("naive futex, wakes one, 8 threads", move |operations| {
                self.by_threads::<WakesOne>(operations)
            });
            contenders.insert(0, one);
        }
        contenders.extend(self.of_tasks::<tokio::sync::Semaphore>("tokio"));
        contenders.extend(self.of_tasks::<blitz_io_sync::task::Semaphore>("blitz-io"));
        contenders
    }

    fn of_tasks<P: TaskPermits>(self, name: &str) -> Vec<Contender> {
        let kinds = [(2, false), (4, false), (4, true)];
        kinds
            .into_iter()
            .map(|(workers, awaits)| {
                let holding = if awaits { ", awaits inside" } else { "" };
                let name = format!("{name}, 8 tasks on {workers} workers{holding}");
                Contender::of_tasks(name, move |operations| {
                    self.by_tasks::<P>(operations, workers, awaits)
                })
            })
            .collect()
    }
}

pub fn answer(effort: Effort) -> Result<String, Failure> {
    let mut text = head("Semaphore: 8 threads or tasks that share permits", effort);
    let scenes = [
        ("2 permits, short sections", 2, 0, false),
        ("2 permits, sections of 1 µs", 2, 1, false),
        ("1 permit, short sections", 1, 0, false),
        ("1 permit, sections of 1 µs", 1, 1, false),
        ("2 permits, every second wants both, 1 µs", 2, 1, true),
    ];
    for (title, permits, section, mixed) in scenes {
        let scene = Scene {
            permits,
            section,
            mixed,
            microsecond: effort.microsecond,
        };
        text += &format!("\n{title}\n{}", costs(&run(effort, &scene.contenders())?));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A semaphore that forgets a section.
    struct Forgets(AtomicBool);

    impl Permits for Forgets {
        fn new(_: u32, _: bool) -> Self {
            Self(AtomicBool::new(false))
        }
        fn with(&self, _: u32, section: impl FnOnce()) {
            if self.0.swap(true, Relaxed) {
                section();
            }
        }
    }

    #[test]
    fn a_lost_section_is_noticed() {
        let scene = Scene {
            permits: 2,
            section: 0,
            mixed: false,
            microsecond: Work::calibrate(std::time::Duration::from_micros(1)),
        };
        let failure = scene.by_threads::<Forgets>(80).err().unwrap();
        assert!(failure.to_string().contains("found 79"), "{failure}");
    }

    #[test]
    fn too_many_at_a_time_are_noticed() {
        let inside = Inside::default();
        assert!(inside.enter(1, 2) && inside.enter(1, 2));
        assert!(!inside.enter(1, 2));
        (0..3).for_each(|_| inside.leave(1));
        assert!(inside.verify(3, 2).is_err());
        assert!(inside.verify(3, 3).is_ok());
    }
}
