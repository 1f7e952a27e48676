//! The part of the system that code of a simulation gets from the run: clocks, random numbers, names of hosts, and sleeps.
//!
//! The standard library and other packages ask the system by functions of the C library. Where `interposed` defines these
//! functions in the program itself, the linker prefers its definitions. They ask [`with`]: if the calling thread is in a run,
//! the run answers; otherwise they call the function of the C library. So other threads, and this one before and after a
//! run, notice nothing.
//!
//! | function | in a run |
//! |---|---|
//! | `clock_gettime`, `gettimeofday`, `time` | the clock of the host |
//! | `getrandom`, `getentropy` | a stream of the host, which follows from the run's entropy |
//! | `nanosleep`, `clock_nanosleep`, `usleep`, `sleep` | the simulated clock moves, and the call returns |
//! | `getaddrinfo` | the addresses of hosts |
//! | `socket`, `connect`, `bind`, `listen`, and data that connects | an error, and a line in the report; a TCP socket that only keeps options is one of the system's |
//! | `pthread_create` | the system's, and a line in the report of a deadlock |
//! | `syscall` | `getrandom` as above; a wait of a futex with a time limit waits in real time, for the simulated rest; one without a limit that lasts is reported |
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | the answers of a run |
//! | `calls.rs` | calls that are counted for a report |
//! | `stuck.rs` | a task that blocks the thread |
//! | `interposed/mod.rs` | the symbols |
//! | `interposed/real.rs` | the functions of the C library itself |
//! | `interposed/blocked.rs`, `clocks.rs`, `entropy.rs`, `names.rs`, `sleeps.rs`, `sockets.rs`, `threads.rs`, `waits.rs` | the functions, by what they do |
//!
//! # When these functions run
//!
//! At any time: before `main`, in an allocator, in the handler of a signal, at the end of a thread. So the state of the thread
//! has no destructor and needs no initialisation, and nothing here waits for a lock. If the run is busy (an allocator
//! reads the clock while the run allocates), the answer of the system stands. Two functions do more. The first refused socket and the first
//! thread of a run walk the stack, without an allocation or a lock of the program. A wait that lasts makes a message, on another thread.
//!
//! # A clock that a loop reads
//!
//! Simulated time does not move while a task runs, so `while Instant::now() < deadline {}` would never end. After
//! [`READINGS`] of one moment the clock moves, further with each reading. A run that repeats the same readings repeats these
//! moves.

mod calls;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static"),
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, loom, thread_sanitizer))
))]
mod interposed;
#[allow(dead_code, reason = "where nothing is taken over")]
mod stuck;
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static"),
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, loom, thread_sanitizer))
)))]
mod interposed {
    //! Nothing is taken over.

    pub(super) fn link() {}

    pub(super) fn real_monotonic() -> Option<std::time::Duration> {
        None
    }
}

use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use blitz_io_core::Random;
use blitz_io_observe::decisions;
use blitz_io_runtime::internals::{advance_simulated, simulated_now};

use super::failure::Cause;
use super::run::Run;
use calls::Calls;
pub(super) use stuck::Waiting;

/// The time of day at which each run begins, in seconds since 1970: the beginning of 2026.
const BEGIN: u64 = 1_767_225_600;
/// Number of readings of one moment after which the clock moves.
const READINGS: u32 = 10_000;
/// Number of further readings after which a move is twice as long.
const DOUBLES: u32 = 1_000;
/// The longest sleep, a century: the limit of a run's time is much shorter.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Number of refused sockets after which a run fails: its code seems to try again for ever.
const REFUSALS: u64 = 1_000;
/// Number of different entropies.
const ENTROPIES: u64 = 1 << 16;

thread_local! {
    /// The run of this thread, or null. Valid while an [`Entered`] lives.
    static RUN: Cell<*const Run> = const { Cell::new(ptr::null()) };
    /// The thread has drawn random numbers of the system. What it has made of them may be in its thread-local variables.
    static HAS_DRAWN: Cell<bool> = const { Cell::new(false) };
}

/// Returns the entropy of the run with this seed: a small number, as it is a part of traces.
pub(super) fn entropy_of(seed: u64) -> u32 {
    (seed % ENTROPIES) as u32
}

/// Returns `true` if this thread has drawn random numbers of the system. Then its thread-local variables may keep some, such as the
/// keys of hash maps, and a run on it is not like one on another thread.
pub(super) fn has_drawn() -> bool {
    HAS_DRAWN.get()
}

/// The state of a run that answers for the system.
pub(super) struct System {
    /// The moment of the runtime's clock at which the run began. `None` until it begins.
    began: Cell<Option<Instant>>,
    /// The value of the system's monotonic clock for that moment.
    base: Cell<Duration>,
    /// Simulated time since then.
    moved: Cell<Duration>,
    /// The monotonic clock shows this while the run finds out its base.
    fixed: Cell<Option<Duration>>,
    /// Number of readings since the clock has moved or a step has begun.
    readings: Cell<u32>,
    entropy: u32,
    is_drawn: Cell<bool>,
    /// The random numbers of each host.
    streams: RefCell<Vec<(u32, Random)>>,
    /// Sockets that were refused.
    refused: Calls,
    /// Threads that were started.
    threads: Calls,
    /// A wait of the thread is watched.
    watches: Cell<bool>,
}

impl System {
    pub(super) fn new(entropy: u32) -> Self {
        Self {
            began: Cell::new(None),
            base: Cell::new(Duration::ZERO),
            moved: Cell::new(Duration::ZERO),
            fixed: Cell::new(None),
            readings: Cell::new(0),
            entropy,
            is_drawn: Cell::new(false),
            streams: RefCell::default(),
            refused: Calls::default(),
            threads: Calls::default(),
            watches: Cell::new(false),
        }
    }

    /// The run begins, in its runtime.
    pub(super) fn begin(&self) {
        let began = simulated_now();
        if let Some(real) = interposed::real_monotonic() {
            // A moment of the standard library does not say which time it is. So it makes one of a known time.
            self.fixed.set(Some(real));
            let known = Instant::now();
            self.fixed.set(None);
            let later = began.checked_duration_since(known).unwrap_or_default();
            let earlier = known.saturating_duration_since(began);
            self.base.set((real + later).saturating_sub(earlier));
        }
        self.began.set(Some(began));
    }

    /// The simulated clock has moved.
    pub(super) fn advanced(&self, by: Duration) {
        self.moved.set(self.moved.get().saturating_add(by));
        self.readings.set(0);
    }

    /// A step begins.
    #[inline]
    pub(super) fn step(&self) {
        self.readings.set(0);
    }

    /// Returns the entropy, if the run has used it; otherwise 0.
    pub(super) fn used_entropy(&self) -> u32 {
        if self.is_drawn.get() { self.entropy } else { 0 }
    }

    /// Returns the failure of a run that was refused so many sockets.
    #[inline]
    pub(super) fn failure(&self) -> Option<Cause> {
        let count = self.refused.count();
        (count >= REFUSALS).then_some(Cause::Refused(count))
    }

    /// Returns what a report of a failure says of it.
    pub(super) fn note(&self, cause: &Cause) -> String {
        let mut note = String::new();
        if let Some((function, place)) = self.refused.first() {
            let count = self.refused.count();
            let at = place.map_or(String::new(), |place| format!(" at {place}"));
            let times = match count {
                1 => "once".to_owned(),
                _ => format!("{count} times, first"),
            };
            note = format!(
                "the code has asked for a socket of the system, {times}{at} by `{function}`: a simulation \
                 refuses these (EOPNOTSUPP). Use `blitz_io::net`, or the drop-in package `tokio`; with \
                 `threads = \"all\"` all sockets are simulated\n"
            );
        }
        let waits = matches!(cause, Cause::Deadlock | Cause::Finding { .. });
        if let Some((_, place)) = self.threads.first().filter(|_| waits) {
            note += &started(self.threads.count(), place.as_deref());
        }
        note
    }

    /// A wait of the thread is to be watched. Returns `false` if one is.
    #[allow(dead_code, reason = "where nothing is taken over")]
    fn begin_watch(&self) -> bool {
        !self.watches.replace(true)
    }

    #[allow(dead_code, reason = "where nothing is taken over")]
    fn end_watch(&self) {
        self.watches.set(false);
    }
}

/// Says that threads were started, the first one at this place.
fn started(count: u64, place: Option<&str>) -> String {
    let (what, them) = match count {
        1 => ("1 thread was".to_owned(), "it"),
        _ => (format!("{count} threads were"), "them"),
    };
    let first = if count == 1 { "" } else { "the first " };
    let at = place.map_or(String::new(), |place| format!(", {first}at {place}"));
    format!("{what} started outside of the simulation{at}: `threads = \"all\"` simulates {them}\n")
}

#[allow(dead_code, reason = "where nothing is taken over")]
impl Run {
    /// Returns the simulated time since the run began, by the clock of the current code's host. `None` before the run
    /// begins, and while the run is busy.
    fn since_begin(&self) -> Option<Duration> {
        let system = self.system();
        let began = system.began.get()?;
        let clock = self.try_clock()?;
        let now = clock.to_host(began + system.moved.get());
        Some(now.saturating_duration_since(began))
    }

    /// Returns what the monotonic clock of the current code's host shows.
    pub(super) fn monotonic(&self) -> Option<Duration> {
        let system = self.system();
        let fixed = system.fixed.get();
        if fixed.is_some() {
            return fixed;
        }
        self.count_reading();
        Some(system.base.get() + self.since_begin()?)
    }

    /// Returns the time of day of the current code's host, since 1970.
    pub(super) fn time_of_day(&self) -> Option<Duration> {
        self.count_reading();
        let right = Duration::from_secs(BEGIN) + self.since_begin()?;
        let skew = self.try_clock()?.skew;
        let by = Duration::from_millis(skew.unsigned_abs());
        Some(if skew < 0 {
            right.saturating_sub(by)
        } else {
            right + by
        })
    }

    /// Lets a loop that reads the clock come to its end; see the module documentation.
    fn count_reading(&self) {
        let readings = &self.system().readings;
        let count = readings.get().saturating_add(1);
        readings.set(count);
        if count > READINGS {
            let doublings = ((count - READINGS) / DOUBLES).min(20);
            // It wakes no task: the reader may be an allocator that the timers themselves have called.
            self.pass(Duration::from_micros(1 << doublings), false);
            readings.set(count);
        }
    }

    /// Moves the simulated clock, as the current code uses up time.
    fn pass(&self, time: Duration, wakes: bool) -> bool {
        let has_passed = advance_simulated(time, wakes);
        if has_passed {
            self.passed(time);
        }
        has_passed
    }

    /// Passes a time (at most [`LONGEST`]) of the current code's host. Returns `false` if that is not possible.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let (Some(began), Some(clock)) = (self.system().began.get(), self.try_clock()) else {
            return false;
        };
        let now = began + self.system().moved.get();
        let Some(end) = clock.to_host(now).checked_add(time.min(LONGEST)) else {
            return false;
        };
        self.pass(
            clock.when_host_shows(end).saturating_duration_since(now),
            true,
        )
    }

    /// Fills the bytes with random numbers of the current code's host. Returns `false` while the run is busy.
    pub(super) fn fill(&self, bytes: &mut [u8]) -> bool {
        let system = self.system();
        let (Some(host), Ok(mut streams)) = (self.try_host(), system.streams.try_borrow_mut())
        else {
            return false;
        };
        system.is_drawn.set(true);
        let at = match streams.iter().position(|(of, _)| *of == host) {
            Some(at) => at,
            None => {
                let seed = u64::from(host) << 32 | u64::from(system.entropy);
                // Unlike the numbers of `sim::random`, which have seeds of the same form.
                streams.push((host, Random::seeded(!seed)));
                streams.len() - 1
            }
        };
        for part in bytes.chunks_mut(8) {
            let number = streams[at].1.next_u64().to_le_bytes();
            part.copy_from_slice(&number[..part.len()]);
        }
        true
    }
}

/// Ends the answers of a run when it is dropped.
pub(super) struct Entered(
    *const Run,
    #[allow(dead_code, reason = "keeps the run")] Rc<Run>,
);

impl Drop for Entered {
    fn drop(&mut self) {
        RUN.set(self.0);
    }
}

/// Lets a run answer for the system on this thread until the guard is dropped.
pub(super) fn enter(run: &Rc<Run>) -> Entered {
    interposed::link();
    Entered(RUN.replace(Rc::as_ptr(run)), run.clone())
}

/// Calls `answer` with the run of this thread, unless the thread is in none, or calls the system [on
/// purpose](decisions::with_system).
#[inline]
pub(super) fn with<R>(answer: impl FnOnce(&Run) -> Option<R>) -> Option<R> {
    let run = RUN.get();
    if run.is_null() || decisions::uses_system() {
        return None;
    }
    // SAFETY: an `Entered` keeps the run alive as long as the pointer is set.
    answer(unsafe { &*run })
}
