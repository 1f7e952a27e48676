//! Processes that begin together, and their reports.

use std::io;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use blitz_io_futex::Scope;

use crate::cpu;
use crate::scenarios::prelude::*;

/// More processes than any scenario has.
const MOST: usize = 32;
/// A process that takes longer than this many seconds hangs, and is ended by an alarm.
const LONGEST: u32 = 60;
/// The time between checks whether a process has died while others wait for it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Memory that all processes of one measurement share.
struct Board {
    ready: AtomicU32,
    go: AtomicU32,
    done: AtomicU32,
    reports: [Report; MOST],
}

/// The report of one process.
#[derive(Default)]
struct Report {
    ended: AtomicU64,
    count: AtomicU64,
    sum: AtomicU64,
}

/// The processes of one measurement, and the memory that they share: the board, followed by
/// the waits in nanoseconds, one word for each.
pub(super) struct Processes {
    board: NonNull<Board>,
    waits: usize,
    count: usize,
    children: Vec<libc::pid_t>,
}

/// The measurements of the processes.
pub(super) struct Found {
    /// The time from the start of all to the end of the last.
    pub(super) elapsed: Duration,
    /// Each process's count and sum.
    pub(super) reports: Vec<(u64, u64)>,
    /// The processor time of this process until then: that of a server, if it has one.
    pub(super) cpu: Option<Duration>,
    /// The recorded waits, without the words that were never written.
    pub(super) waits: Vec<Duration>,
}

impl Found {
    /// Returns the waits as a histogram.
    pub(super) fn histogram(&self) -> Waits {
        let mut waits = Waits::new();
        self.waits.iter().for_each(|&wait| waits.record(wait));
        waits
    }
}

/// The view of one process.
pub(super) struct Role<'a> {
    board: &'a Board,
    waits: &'a [AtomicU64],
    number: usize,
    count: usize,
}

impl Role<'_> {
    /// Waits until every process is ready.
    pub(super) fn wait_for_all(&self) {
        self.board.ready.fetch_add(1, Ordering::SeqCst);
        _ = Scope::Shared.wake_all(&self.board.ready);
        while self.board.go.load(Ordering::Acquire) == 0 {
            _ = Scope::Shared.wait(&self.board.go, 0);
        }
    }

    /// Records the wait of the operation `number`.
    #[inline]
    pub(super) fn record(&self, number: u64, nanoseconds: u64) {
        self.waits[number as usize].store(nanoseconds.max(1), Ordering::Relaxed);
    }

    /// Reports how many messages arrived, and the sum of their bytes. Returns when all
    /// processes have reported: some transports lose undelivered messages when their sender
    /// ends.
    pub(super) fn ended(&self, count: u64, sum: u64) {
        let report = &self.board.reports[self.number];
        report.ended.store(now(), Ordering::Relaxed);
        report.count.store(count, Ordering::Relaxed);
        report.sum.store(sum, Ordering::Relaxed);
        let done = &self.board.done;
        done.fetch_add(1, Ordering::SeqCst);
        _ = Scope::Shared.wake_all(done);
        loop {
            let count = done.load(Ordering::Acquire);
            if count as usize == self.count {
                return;
            }
            _ = Scope::Shared.wait(done, count);
        }
    }
}

impl Processes {
    /// Allocates memory for `count` processes and `waits` waits.
    pub(super) fn new(count: usize, waits: usize) -> Result<Self, Failure> {
        assert!(count <= MOST);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // Populated, so that no page fault falls into the measurement.
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        let size = size(waits);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(failed("mmap"));
        }
        let board = NonNull::new(base.cast()).ok_or_else(|| failed("mmap"))?;
        Ok(Self {
            board,
            waits,
            count,
            children: Vec::new(),
        })
    }

    fn board(&self) -> &Board {
        // SAFETY: all zeroes is a valid board, and the mapping lives as long as this.
        unsafe { self.board.as_ref() }
    }

    fn waits(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has room for `waits` words behind the board, whose size is a
        // multiple of a word's; all zeroes are valid words, and the mapping lives as long
        // as this.
        unsafe { std::slice::from_raw_parts(self.board.add(1).cast().as_ptr(), self.waits) }
    }

    /// Starts a process that does `work` with its copy of `transport`.
    pub(super) fn start<T>(
        &mut self,
        transport: &T,
        work: impl FnOnce(T, &Role<'_>),
    ) -> Result<(), Failure> {
        let number = self.children.len();
        // SAFETY: the child runs `work` and ends; the C library's allocator is consistent
        // after a fork, and nothing else is used that another thread may have locked.
        match unsafe { libc::fork() } {
            -1 => Err(failed("fork")),
            0 => {
                // SAFETY: no preconditions.
                unsafe { libc::alarm(LONGEST) };
                let role = Role {
                    board: self.board(),
                    waits: self.waits(),
                    number,
                    count: self.count,
                };
                // SAFETY: after the fork this is a copy of the parent's value, descriptors
                // and all. The original in this process is never used or dropped.
                let copy = unsafe { std::ptr::read(transport) };
                let work = std::panic::AssertUnwindSafe(|| work(copy, &role));
                let code = i32::from(std::panic::catch_unwind(work).is_err());
                // SAFETY: ends the process without the parent's destructors.
                unsafe { libc::_exit(code) }
            }
            child => {
                self.children.push(child);
                Ok(())
            }
        }
    }

    /// Lets all processes begin, and waits for the last to end.
    pub(super) fn measure(mut self) -> Result<Found, Failure> {
        self.wait_until_all(|board| &board.ready)?;
        let board = self.board();
        let (begin, before) = (now(), cpu::of_process());
        board.go.store(1, Ordering::Release);
        _ = Scope::Shared.wake_all(&board.go);
        self.wait_until_all(|board| &board.done)?;
        let cpu = cpu::since(before, cpu::of_process());
        while let Some(child) = self.children.pop() {
            check(child, 0)?;
        }
        let reports = &self.board().reports[..self.count];
        let ends = reports.iter().map(|one| one.ended.load(Ordering::Relaxed));
        let end = ends.max();
        let elapsed = Duration::from_nanos(end.unwrap_or(begin).saturating_sub(begin));
        let found = reports.iter().map(|one| {
            let count = one.count.load(Ordering::Relaxed);
            (count, one.sum.load(Ordering::Relaxed))
        });
        let waits = self.waits().iter();
        let waits = waits.map(|wait| wait.load(Ordering::Relaxed));
        Ok(Found {
            elapsed,
            cpu,
            reports: found.collect(),
            waits: waits
                .filter(|&wait| wait > 0)
                .map(Duration::from_nanos)
                .collect(),
        })
    }

    /// Waits until each process has incremented `word`, or one of them has failed.
    fn wait_until_all(&self, word: fn(&Board) -> &AtomicU32) -> Result<(), Failure> {
        let word = word(self.board());
        loop {
            let count = word.load(Ordering::Acquire);
            if count as usize == self.count {
                return Ok(());
            }
            let look = Instant::now() + LOOK_EVERY;
            _ = Scope::Shared.wait_deadline(word, count, Some(look));
            if Instant::now() >= look {
                self.check_all()?;
            }
        }
    }

    /// Fails if a process has failed. `drop` waits for it.
    fn check_all(&self) -> Result<(), Failure> {
        let mut children = self.children.iter();
        children.try_for_each(|&child| check(child, libc::WNOHANG | libc::WNOWAIT))
    }
}

/// Waits for a child as `options` say. Fails if it has failed.
fn check(child: libc::pid_t, options: libc::c_int) -> Result<(), Failure> {
    // SAFETY: all zeroes is a valid `siginfo_t`.
    let mut found: libc::siginfo_t = unsafe { mem::zeroed() };
    let (id, options) = (child as libc::id_t, libc::WEXITED | options);
    // SAFETY: the call is for our own child, and gets a place for the result.
    while unsafe { libc::waitid(libc::P_PID, id, &mut found, options) } != 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Err(failed("waitid"));
        }
    }
    // SAFETY: `waitid` has filled it in, or left the zeroes.
    let status = unsafe { found.si_status() };
    Err(Failure(match found.si_code {
        libc::CLD_EXITED if status != 0 => format!("a process ended with status {status}"),
        libc::CLD_KILLED if status == libc::SIGALRM => format!("did not end within {LONGEST} s"),
        libc::CLD_KILLED | libc::CLD_DUMPED => format!("a process was killed by signal {status}"),
        _ => return Ok(()),
    }))
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.children.drain(..) {
            // SAFETY: it is our own child, which was not waited for yet.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
        // SAFETY: it is our own mapping.
        unsafe { libc::munmap(self.board.as_ptr().cast(), size(self.waits)) };
    }
}

/// Returns the size of the shared memory in bytes.
fn size(waits: usize) -> usize {
    mem::size_of::<Board>() + waits * mem::size_of::<AtomicU64>()
}

/// Returns the monotonic clock, which is the same in all processes, in nanoseconds.
pub(super) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call gets a valid clock and a place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn failed(what: &str) -> Failure {
    Failure(format!("{what}: {}", io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(work: impl Fn(&Role<'_>)) -> Result<Found, Failure> {
        let mut processes = Processes::new(2, 0)?;
        processes.start(&(), |(), role| {
            role.wait_for_all();
            role.ended(1, 2);
        })?;
        processes.start(&(), |(), role| work(role))?;
        processes.measure()
    }

    fn kill_this_process() {
        // SAFETY: this ends the process.
        unsafe { libc::raise(libc::SIGKILL) };
    }

    #[test]
    fn all_report() {
        let found = measured(|role| {
            role.wait_for_all();
            role.ended(3, 4);
        });
        assert_eq!(found.unwrap().reports, [(1, 2), (3, 4)]);
    }

    #[test]
    fn a_process_that_dies_before_it_is_ready_ends_the_measurement() {
        let found = measured(|_| kill_this_process());
        assert_eq!(found.err().unwrap().0, "a process was killed by signal 9");
        let found = measured(|_| {
            // SAFETY: this ends the process.
            unsafe { libc::_exit(3) }
        });
        assert_eq!(found.err().unwrap().0, "a process ended with status 3");
    }

    #[test]
    fn a_process_that_dies_while_others_wait_for_it_ends_the_measurement() {
        let found = measured(|role| {
            role.wait_for_all();
            kill_this_process();
        });
        assert_eq!(found.err().unwrap().0, "a process was killed by signal 9");
    }

    #[test]
    fn a_process_that_hangs_is_named() {
        let found = measured(|_| {
            // SAFETY: the call has no requirements. The signal ends this process, as the
            // alarm does.
            unsafe { libc::raise(libc::SIGALRM) };
        });
        assert_eq!(found.err().unwrap().0, "did not end within 60 s");
    }
}
