//! The same names without the feature `sim`: nothing decides.

use std::time::{Duration, Instant};

use super::{Decider, DescribeSocket, Idle, Next, Note};

/// See `enabled.rs`.
#[derive(Debug, Default)]
pub struct Numbered;

impl Numbered {
    /// Creates the empty number.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it is derived")]
    pub const fn new() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn made(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn touch(&self) {}
}

/// See `enabled.rs`.
#[derive(Debug)]
pub struct Unfinished(());

impl Unfinished {
    /// Returns the only one.
    #[inline(always)]
    #[must_use]
    pub const fn of_child(_id: u64) -> Self {
        Self(())
    }

    /// Returns 0.
    #[inline(always)]
    #[must_use]
    pub const fn child(&self) -> u64 {
        0
    }
}

/// Runs `run`. The back end is not used.
#[inline(always)]
pub fn with<R>(_decider: &dyn Decider, run: impl FnOnce() -> R) -> R {
    run()
}

/// Returns `false`.
#[inline(always)]
#[must_use]
pub const fn is_on() -> bool {
    false
}

/// Does nothing.
#[inline(always)]
pub fn ready(_task: u64) {}

/// Returns the first task.
#[inline(always)]
#[must_use]
pub fn next(_has_timer: bool) -> Next {
    Next::Task(0)
}

/// Returns `false`.
#[inline(always)]
#[must_use]
pub fn preempts(_has_acted: bool) -> bool {
    false
}

/// Returns `false`.
#[inline(always)]
#[must_use]
pub fn polled(_has_acted: bool, _has_ended: bool) -> bool {
    false
}

/// Moves the clock.
#[inline(always)]
#[must_use]
pub fn idle(_timer: Option<Duration>) -> Idle {
    Idle::Advance
}

/// Returns `None`: the thread draws its own number.
#[inline(always)]
#[must_use]
pub fn random(_below: u32) -> Option<u32> {
    None
}

/// Returns `None`: the caller knows its worker.
#[inline(always)]
#[must_use]
pub fn worker() -> Option<u32> {
    None
}

/// Returns the first alternative.
#[inline(always)]
#[must_use]
pub fn job(_of: u32) -> u32 {
    0
}

/// Drops the job.
#[inline(always)]
pub fn run_later(_job: Box<dyn FnOnce()>) {}

/// Does nothing.
#[inline(always)]
pub fn set_help(_help: fn()) {}

/// Does nothing.
#[inline(always)]
pub fn help() {}

/// Does nothing.
#[inline(always)]
pub fn describe_sockets_by(_describe: DescribeSocket) {}

/// Returns `None`: there are no such sockets.
#[inline(always)]
#[must_use]
pub fn describe_socket(_number: u64, _writes: bool) -> Option<String> {
    None
}

/// Does nothing.
#[inline(always)]
pub fn advanced(_by: Duration) {}

/// Polls.
#[inline(always)]
pub fn poll_child(_has_siblings: bool, _of: &Unfinished, poll: impl FnOnce() -> bool) {
    poll();
}

/// Does nothing.
#[inline(always)]
pub fn forget_operations() {}

/// Returns `false`.
#[inline(always)]
#[must_use]
pub fn has_begun() -> bool {
    false
}

/// Runs `run`.
#[inline(always)]
pub fn with_system<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// Returns `true`: nothing is simulated.
#[inline(always)]
#[must_use]
pub fn uses_system() -> bool {
    true
}

/// Does nothing.
#[inline(always)]
pub fn panicked() {}

/// Does nothing.
#[inline(always)]
pub fn child_panicked() {}

/// Does nothing.
#[inline(always)]
pub fn cancelled(_task: u64) {}

/// Does nothing.
#[inline(always)]
pub fn named(_task: u64, _name: &str) {}

/// Returns `None`.
#[inline(always)]
#[must_use]
pub const fn number_of(_task: u64) -> Option<u64> {
    None
}

/// Does nothing.
#[inline(always)]
pub fn child_spawned(_id: u64) {}

/// Returns `None`.
#[inline(always)]
#[must_use]
pub const fn number_of_child(_id: u64) -> Option<u64> {
    None
}

/// Returns `false`.
#[inline(always)]
#[must_use]
pub const fn explains() -> bool {
    false
}

/// Does nothing.
#[inline(always)]
pub fn note(_note: impl FnOnce() -> Note) {}

/// Returns the number of the only host.
#[inline(always)]
#[must_use]
pub fn host() -> u32 {
    0
}

/// Returns the same moment.
#[inline(always)]
#[must_use]
pub fn to_host(moment: Instant) -> Instant {
    moment
}

/// Returns the same moment.
#[inline(always)]
#[must_use]
pub fn when_host_shows(moment: Instant) -> Instant {
    moment
}

const _: () = assert!(std::mem::size_of::<(Numbered, Unfinished)>() == 0);
