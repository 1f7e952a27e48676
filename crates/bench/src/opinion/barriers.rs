//! Question 4: barriers that sleep, that are awaited, and that only spin.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::Work;
use crate::hog::Hogs;

use crate::scenario::{Failure, verify};
use crate::threads;
use crossbeam_utils::CachePadded;

use crate::opinion::measure::{Contender, Done, Effort, Figures, head, run};
use crate::opinion::naive;
use crate::opinion::show::costs;
use crate::opinion::tasks;

/// How long the late member of a round works before it arrives.
const LATE: u32 = 100;

/// A barrier for threads.
trait Rounds: Sync {
    fn new(threads: usize) -> Self;
    /// Waits for the round. Returns whether the caller leads it.
    fn wait(&self) -> bool;
}

impl Rounds for naive::barrier::Barrier {
    fn new(threads: usize) -> Self {
        Self::new(threads)
    }
    fn wait(&self) -> bool {
        self.wait()
    }
}

impl Rounds for blitz_io_sync::thread::Barrier {
    fn new(threads: usize) -> Self {
        Self::new(threads)
    }
    fn wait(&self) -> bool {
        self.wait().is_leader()
    }
}

impl Rounds for blitz_io_sync::thread::SpinBarrier {
    fn new(threads: usize) -> Self {
        Self::new(threads)
    }
    fn wait(&self) -> bool {
        self.wait().is_leader()
    }
}

impl Rounds for std::sync::Barrier {
    fn new(threads: usize) -> Self {
        Self::new(threads)
    }
    fn wait(&self) -> bool {
        self.wait().is_leader()
    }
}

/// A barrier whose threads never give up their processor.
struct PureSpin {
    threads: u64,
    arrived: AtomicU64,
}

impl Rounds for PureSpin {
    fn new(threads: usize) -> Self {
        Self {
            threads: threads as u64,
            arrived: AtomicU64::new(0),
        }
    }
    fn wait(&self) -> bool {
        let place = self.arrived.fetch_add(1, SeqCst);
        let full = (place / self.threads + 1) * self.threads;
        while self.arrived.load(SeqCst) < full {
            std::hint::spin_loop();
        }
        place + 1 == full
    }
}

/// A barrier for tasks.
trait TaskRounds: Send + Sync + 'static {
    fn new(tasks: usize) -> Self;
    fn wait(&self) -> impl Future<Output = bool> + Send;
}

impl TaskRounds for tokio::sync::Barrier {
    fn new(tasks: usize) -> Self {
        Self::new(tasks)
    }
    async fn wait(&self) -> bool {
        self.wait().await.is_leader()
    }
}

impl TaskRounds for blitz_io_sync::task::Barrier {
    fn new(tasks: usize) -> Self {
        Self::new(tasks)
    }
    async fn wait(&self) -> bool {
        self.wait().await.is_leader()
    }
}

/// The number of arrivals since the beginning.
#[derive(Default)]
struct Arrivals(AtomicU64);

/// The observations of one member.
#[derive(Clone, Copy, Default)]
struct Seen {
    good_rounds: u64,
    led: u64,
}

/// The work of the members.
#[derive(Clone, Copy)]
struct Scene {
    members: usize,
    /// In each round another member is late by [`LATE`] microseconds.
    one_is_late: bool,
    microsecond: Work,
}

impl Scene {
    fn before(self, arrivals: &Arrivals, round: u64, member: usize) {
        if self.one_is_late && round % self.members as u64 == member as u64 {
            (0..LATE).for_each(|_| self.microsecond.run());
        }
        arrivals.0.fetch_add(1, Relaxed);
    }

    /// Checks that all have arrived after the barrier, and that no member is a round ahead.
    fn after(self, arrivals: &Arrivals, round: u64, leads: bool, seen: &mut Seen) {
        let everybody = self.members as u64;
        let all_here = (round + 1) * everybody;
        let arrived = arrivals.0.load(Relaxed);
        seen.good_rounds += u64::from((all_here..all_here + everybody).contains(&arrived));
        seen.led += u64::from(leads);
    }

    fn verify(self, rounds: u64, seen: &[Seen]) -> Result<(), Failure> {
        let led = seen.iter().map(|seen| seen.led).sum();
        verify("rounds with a leader", rounds, led)?;
        verify(
            "rounds in which all had arrived and nobody was ahead",
            rounds * self.members as u64,
            seen.iter().map(|seen| seen.good_rounds).sum(),
        )
    }

    fn by_threads<R: Rounds>(self, rounds: u64) -> Result<Done, Failure> {
        let barrier = CachePadded::new(R::new(self.members));
        let arrivals = CachePadded::new(Arrivals::default());
        let (span, seen) = threads::start_all(self.members, |member| {
            let (barrier, arrivals) = (&barrier, &arrivals);
            move || {
                let mut seen = Seen::default();
                for round in 0..rounds {
                    self.before(arrivals, round, member);
                    let leads = barrier.wait();
                    self.after(arrivals, round, leads, &mut seen);
                }
                seen
            }
        });
        self.verify(rounds, &seen)?;
        Ok(Done {
            elapsed: span.elapsed,
            operations: rounds,
            waited: None,
        })
    }

    fn by_tasks<R: TaskRounds>(self, rounds: u64) -> Result<Done, Failure> {
        let shared = Arc::new((
            CachePadded::new(R::new(self.members)),
            CachePadded::new(Arrivals::default()),
        ));
        let (elapsed, seen) = tasks::start_all(self.members, self.members, |member| {
            let shared = shared.clone();
            async move {
                let (barrier, arrivals) = &*shared;
                let mut seen = Seen::default();
                for round in 0..rounds {
                    self.before(arrivals, round, member);
                    let leads = barrier.wait().await;
                    self.after(arrivals, round, leads, &mut seen);
                }
                seen
            }
        });
        self.verify(rounds, &seen)?;
        Ok(Done {
            elapsed,
            operations: rounds,
            waited: None,
        })
    }

    fn contenders(self) -> Vec<Contender> {
        vec![
            self.of_threads::<naive::barrier::Barrier>("naive futex"),
            self.of_threads::<std::sync::Barrier>("std"),
            self.of_threads::<blitz_io_sync::thread::Barrier>("blitz-io Barrier"),
            self.of_threads::<blitz_io_sync::thread::SpinBarrier>("blitz-io SpinBarrier"),
            // With more threads than processors, one of its rounds takes milliseconds.
            Contender::new("spinning without a yield", move |rounds| {
                self.by_threads::<PureSpin>(rounds.min(self.most_of_pure_spin()))
            }),
            self.of_tasks::<tokio::sync::Barrier>("tokio, tasks"),
            self.of_tasks::<blitz_io_sync::task::Barrier>("blitz-io, tasks"),
        ]
    }

    fn most_of_pure_spin(self) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if self.members <= processors {
            u64::MAX
        } else {
            4
        }
    }

    fn of_threads<R: Rounds + 'static>(self, name: &str) -> Contender {
        Contender::new(name, move |rounds| self.by_threads::<R>(rounds))
    }

    fn of_tasks<R: TaskRounds>(self, name: &str) -> Contender {
        Contender::of_tasks(name, move |rounds| self.by_tasks::<R>(rounds))
    }
}

pub fn answer(effort: Effort) -> Result<String, Failure> {
    let mut text = head("Barriers: the time of a round", effort);
    for (one_is_late, how) in [
        (false, "nothing to do between the rounds"),
        (true, "in each round another one is late by 100 µs"),
    ] {
        for members in [2, 4, 8] {
            let figures = measure(effort, members, one_is_late)?;
            text += &format!("\n{members} threads or tasks, {how}\n{}", costs(&figures));
        }
    }
    let members = std::thread::available_parallelism().map_or(2, usize::from);
    let busy = start_busy_program()?;
    let figures = measure(effort, members, false)?;
    drop(busy);
    text += &format!(
        "\n{members} threads or tasks on as many processors, and a busy program beside them\n{}",
        costs(&figures)
    );
    Ok(text)
}

fn measure(effort: Effort, members: usize, one_is_late: bool) -> Result<Vec<Figures>, Failure> {
    let scene = Scene {
        members,
        one_is_late,
        microsecond: effort.microsecond,
    };
    run(effort, &scene.contenders())
}

/// Starts a busy process beside this one, through the command `busy`.
fn start_busy_program() -> Result<Hogs, Failure> {
    let failed = |error| Failure(format!("a busy program: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let command = || {
        let mut command = Command::new(&program);
        command.arg("busy");
        command
    };
    Hogs::start(1, command).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A barrier that lets every member pass.
    struct Open;

    impl Rounds for Open {
        fn new(_: usize) -> Self {
            Self
        }
        fn wait(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_barrier_that_is_none_is_noticed() {
        let scene = Scene {
            members: 2,
            one_is_late: false,
            microsecond: Work::calibrate(std::time::Duration::from_micros(1)),
        };
        let failure = scene.by_threads::<Open>(10).err().unwrap();
        assert!(failure.to_string().contains("leader"), "{failure}");
        assert!(scene.by_threads::<std::sync::Barrier>(10).is_ok());
    }
}
