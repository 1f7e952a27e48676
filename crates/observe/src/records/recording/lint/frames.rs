//! The polls that a thread is in, and how long they take.
//!
//! Late by the clock is not late: a thread that lost its processor looks the same. So a poll is long if it had
//! ten milliseconds of processor time, or gave the processor up itself, by a call that sleeps, and took as long
//! without the time in which the thread was ready and others ran (`delay.rs`): one short sleep does not make it
//! answer for the rest.
//! The system's counters cost more than a short poll. A thread reads them every two milliseconds; what the thread did
//! in between counts for the poll. It also reads them after it has slept, since its sleeps are no poll's. A thread that
//! has slept often is busy: it does so no more, and takes the sleeps off the count. If it was about to sleep and did not,
//! one sleep of the next polls is not seen in these two milliseconds.

use std::collections::HashMap;
use std::time::Duration;

use super::delay::Delay;
use super::edges::address;
use super::handed::{self, Handed};
use super::lock::At;
use super::requests;
use super::steps::Steps;
use super::waits::Waits;
use crate::records::Waiter;
use crate::records::recording::request_names::NO_NAME;
use crate::records::recording::ticks;

/// A longer poll is long.
const LONG: Duration = Duration::from_millis(10);
/// The counters are read again after this time, in milliseconds.
const FRESH: u64 = 2;
/// A thread reads the counters after this number of sleeps.
const SLEEPS: u32 = 1 << 10;

/// The kind of future that is polled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::records::recording) enum Polled {
    /// A task of a runtime.
    Task,
    /// A future for which a thread blocks.
    Root,
    /// A closure on a thread for blocking work.
    Job,
    /// A child that the future of its scope polls, within another poll.
    Child,
}

/// A thread looks for the timers of this many polls of tasks that were spawned at one line: a look reads the
/// records of all tasks.
const LOOKS: u32 = 16;

/// The polls that a thread is in, and its counters.
#[derive(Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    counters: Option<Counters>,
    /// Number of sleeps of the thread, up to [`SLEEPS`].
    slept: u32,
    /// A reading from before the outermost poll.
    delay: Option<Delay>,
    /// The looks for timers, by the line at which tasks were spawned.
    looks: HashMap<u64, u32>,
    /// The memory of the last poll, for the next one.
    spare: Waits,
}

/// One poll.
pub(super) struct Frame {
    pub(super) task: u64,
    /// That of the task, for a child.
    pub(super) of: Polled,
    /// It is the poll of a child, within that of the frame before.
    is_child: bool,
    pub(super) spawned_at: At,
    /// The thread is no worker any more: it may block.
    may_block: bool,
    /// A panic began in this poll.
    has_panicked: bool,
    /// In ticks.
    since: u64,
    /// The time of the waits that are counted separately.
    counted: Duration,
    /// The processor time of the polls of children that are counted separately.
    counted_processor: Duration,
    before: Counters,
    /// The address in the task's own wakers; 0 if it has none yet.
    pub(super) header: usize,
    /// The locks that were handed to futures of the task before the poll.
    pub(super) handed: Vec<Handed>,
    /// The task has woken itself in this poll.
    pub(super) is_rewoken: bool,
    /// The waits of the poll.
    pub(super) waits: Waits,
    /// The operations of the poll.
    pub(super) steps: Steps,
}

/// The system's counters of this thread.
#[derive(Clone, Copy)]
struct Counters {
    /// The time at which they were read, in ticks.
    at: u64,
    /// The processor time.
    processor: Duration,
    /// Number of times that the thread gave its processor up, without those between polls.
    sleeps: u64,
}

impl Frames {
    pub(super) fn begin(&mut self, task: u64, of: Polled, spawned_at: At, header: usize) {
        let since = ticks::now();
        let fresh = FRESH.saturating_mul(ticks::millisecond());
        let is_fresh = |known: &Counters| since.saturating_sub(known.at) <= fresh;
        let known = self.counters.filter(is_fresh);
        let before = known.unwrap_or_else(|| Counters::read(since));
        self.counters = Some(before);
        if self.frames.is_empty() && !self.delay.is_some_and(|delay| delay.is_fresh(since)) {
            self.delay = Some(Delay::read(since));
        }
        let is_child = of == Polled::Child;
        let outer = self.frames.last().filter(|_| is_child);
        let (of, may_block) = match outer {
            Some(outer) => (outer.of, outer.may_block),
            // Another library drives the future of the scope.
            None if is_child => (Polled::Root, false),
            None => (of, false),
        };
        self.frames.push(Frame {
            task,
            of,
            is_child,
            spawned_at,
            may_block,
            has_panicked: false,
            since,
            counted: Duration::ZERO,
            counted_processor: Duration::ZERO,
            before,
            header,
            handed: handed::of(header),
            is_rewoken: false,
            waits: std::mem::take(&mut self.spare),
            steps: Steps::new(since),
        });
    }

    /// Ends the current poll. Returns it, and its time and processor time if it was long.
    pub(super) fn end(&mut self) -> Option<(Frame, Option<(Duration, Duration)>)> {
        let frame = self.frames.pop()?;
        let now = ticks::now();
        let took = ticks::time(now.saturating_sub(frame.since)).saturating_sub(frame.counted);
        if !frame.is_judged() || took < LONG {
            self.count_in_outer(&frame, Duration::ZERO, Duration::ZERO);
            return Some((frame, None));
        }
        let after = Counters::read(now);
        self.counters = Some(after);
        let processor = after.processor.saturating_sub(frame.before.processor);
        let processor = processor.saturating_sub(frame.counted_processor);
        // A wait that is counted separately is one of the sleeps.
        let slept = after.sleeps > frame.before.sleeps && frame.counted.is_zero();
        let is_long = is_long(took, processor, slept, || self.delayed(now));
        if is_long {
            self.count_in_outer(&frame, took, processor);
        } else {
            self.count_in_outer(&frame, Duration::ZERO, Duration::ZERO);
        }
        Some((frame, is_long.then_some((took, processor))))
    }

    /// Takes the time of a child that has a finding of its own off the poll around it.
    fn count_in_outer(&mut self, child: &Frame, took: Duration, processor: Duration) {
        if let Some(outer) = self.outer(child) {
            outer.counted += child.counted + took;
            outer.counted_processor += child.counted_processor + processor;
        }
    }

    /// Returns the poll around that of a child, which was current.
    pub(super) fn outer(&mut self, child: &Frame) -> Option<&mut Frame> {
        self.frames.last_mut().filter(|_| child.is_child)
    }

    /// Returns the polls around that of a child, which was current: those of other children, and that of their task.
    pub(super) fn around(&self, child: &Frame) -> impl Iterator<Item = &Frame> {
        around(&self.frames, child)
    }

    /// Returns the words of the tasks around the child that the thread polls now, the innermost first. The last one is the
    /// thread, if another library drives them.
    pub(super) fn owners_around(&self, child: u64) -> Vec<(u64, At)> {
        let Some((last, others)) = self.frames.split_last() else {
            return Vec::new();
        };
        if !last.is_child || last.task != child {
            return Vec::new();
        }
        let mut owners: Vec<_> = around(others, last)
            .map(|frame| (frame.task, frame.spawned_at))
            .collect();
        if others.last().is_none_or(|outermost| outermost.is_child) && owners.len() == others.len()
        {
            owners.push((Waiter::thread().word(), None));
        }
        owners
    }

    /// Returns the line at which a task was spawned, if it is the one that the thread polls.
    pub(super) fn spawned_at(&self, task: u64) -> At {
        let last = self.frames.last().filter(|frame| frame.task == task);
        last.and_then(|frame| frame.spawned_at)
    }

    /// Returns the time for which the thread was ready and did not run, in the poll that has just ended and up to a
    /// tenth of a second before it.
    fn delayed(&mut self, now: u64) -> Duration {
        let after = Delay::read(now);
        let before = self.delay.unwrap_or(after);
        if self.frames.is_empty() {
            self.delay = Some(after);
        }
        after.since(before)
    }

    /// Keeps the memory of a poll that has ended.
    pub(super) fn keep(&mut self, mut waits: Waits) {
        waits.clear();
        self.spare = waits;
    }

    /// Counts a look for the timers of a task. Returns `false` if there were enough.
    pub(super) fn looks_for_timer(&mut self, frame: &Frame) -> bool {
        let looks = self.looks.entry(address(frame.spawned_at)).or_default();
        *looks += 1;
        *looks <= LOOKS
    }

    /// Returns the current poll.
    pub(super) fn current(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    /// The thread is no worker any more.
    pub(super) fn may_block(&mut self) {
        self.frames
            .iter_mut()
            .for_each(|frame| frame.may_block = true);
    }

    /// The thread panics. The report of that may take long, and is no part of a healthy poll.
    pub(super) fn panics(&mut self) {
        self.frames
            .iter_mut()
            .for_each(|frame| frame.has_panicked = true);
    }

    /// The thread has slept, maybe: the counters are not those of the next poll.
    pub(super) fn slept(&mut self) {
        if self.slept < SLEEPS {
            self.slept += 1;
            self.counters = None;
        } else if let Some(counters) = &mut self.counters {
            counters.sleeps += 1;
        }
    }
}

/// Returns the innermost of these polls, up to the first one that is not of a child.
fn around<'a>(frames: &'a [Frame], child: &Frame) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let mut is_child = child.is_child;
    let frames = frames.iter().rev();
    frames.take_while(move |frame| std::mem::replace(&mut is_child, frame.is_child))
}

/// Returns `true` if a poll was long that took at least [`LONG`]. `slept`: it gave the processor up itself.
fn is_long(
    took: Duration,
    processor: Duration,
    slept: bool,
    delayed: impl FnOnce() -> Duration,
) -> bool {
    processor >= LONG || slept && took.saturating_sub(delayed()) >= LONG
}

impl Frame {
    /// Counts a wait within the poll separately.
    pub(super) fn count(&mut self, took: Duration) {
        self.counted += took;
    }

    /// Returns the place of the name of the last request for which the poll worked, or 0.
    pub(super) fn request(&self) -> u64 {
        match self.waits.request {
            NO_NAME => requests::name_of(self.task).unwrap_or(NO_NAME),
            name => name,
        }
    }

    /// Returns `true` if the poll is a finding if it is long.
    pub(super) fn is_judged(&self) -> bool {
        // A program may have taken the hook away that notes panics.
        self.must_not_block() && !self.has_panicked && !std::thread::panicking()
    }

    /// Returns `true` if the poll is one of a task, by a worker.
    pub(super) fn must_not_block(&self) -> bool {
        self.of == Polled::Task && !self.may_block
    }
}

impl Counters {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn read(at: u64) -> Self {
        // SAFETY: all zeros is a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a value that the call may write.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        Self {
            at,
            processor: time(usage.ru_utime) + time(usage.ru_stime),
            sleeps: usage.ru_nvcsw as u64,
        }
    }

    /// The counters are not known, so no poll is long.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn read(at: u64) -> Self {
        Self {
            at,
            processor: Duration::ZERO,
            sleeps: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_read_after_a_sleep_unless_there_are_many() {
        let mut frames = Frames::default();
        let mut counters = Counters::read(ticks::now());
        for _ in 0..SLEEPS {
            frames.counters = Some(counters);
            frames.slept();
            assert!(frames.counters.is_none());
        }
        counters.sleeps = 70;
        frames.counters = Some(counters);
        frames.slept();
        frames.slept();
        // Its own sleeps are not those of the next poll.
        assert_eq!(frames.counters.map(|counters| counters.sleeps), Some(72));
    }

    #[test]
    fn a_poll_is_long_by_what_it_does_and_not_by_what_other_threads_do() {
        let ms = Duration::from_millis;
        let is_long = |processor, slept, delayed| is_long(ms(30), processor, slept, || delayed);
        assert!(is_long(ms(10), false, ms(20)));
        assert!(is_long(ms(1), true, ms(0)));
        assert!(is_long(ms(1), true, ms(20)));
        // The processor was taken away.
        assert!(!is_long(ms(9), false, ms(0)));
        // And the poll gave it up for a moment.
        assert!(!is_long(ms(1), true, ms(25)));
        assert!(!is_long(ms(1), true, ms(90)));
    }
}
