//! A model of the system's poll, edge-triggered: no two polls report the same event or
//! wake-up.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use loom::sync::{Condvar, Mutex};

use super::timer::Timer;
use super::{Report, Wait};
use crate::kernel::bits::Bits;

#[derive(Default)]
struct State {
    woken: bool,
    /// `true` if the timer is set.
    is_set: bool,
    /// `true` if the timer has expired.
    expired: bool,
    events: Vec<(usize, Bits)>,
}

impl State {
    /// Takes the state that a poll reports.
    fn take(&mut self) -> State {
        let is_set = self.is_set;
        let taken = std::mem::take(self);
        self.is_set = is_set;
        taken
    }
}

struct Shared {
    state: Mutex<State>,
    change: Condvar,
}

impl Shared {
    fn with<R>(&self, with: impl FnOnce(&mut State) -> R) -> R {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Waits for events: any number of threads may do so at the same time.
pub struct Selector {
    shared: Arc<Shared>,
    timer: Timer,
}

/// A poll of the model needs no memory.
#[derive(Default)]
pub struct Memory;

/// The memory of a thread that has not polled yet.
pub const NO_MEMORY: Memory = Memory;

/// The kernel's timer.
pub struct Kernel(Arc<Shared>);

impl Kernel {
    /// Sets the timer, and erases an earlier event that no poll has taken.
    pub fn set(&self, _time: Duration) -> bool {
        self.0.with(|state| {
            state.is_set = true;
            state.expired = false;
        });
        true
    }
}

/// A source of events: the token under which it is registered, if it is.
#[derive(Default)]
pub struct Source(Option<usize>);

/// A source that can be registered; it takes the place of mio's trait.
pub trait AnySource {
    /// Returns the source of the model.
    fn model(&mut self) -> &mut Source;
}

impl AnySource for Source {
    fn model(&mut self) -> &mut Source {
        self
    }
}

/// A source of the model reports all events.
pub type Interest = ();

impl Selector {
    /// `true` if several threads may wait at the same time.
    pub const IS_SHARED: bool = true;

    pub fn new(_events: usize, _events_busy: Option<usize>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            change: Condvar::new(),
        });
        let timer = Timer::new(Kernel(shared.clone()));
        Ok(Self { shared, timer })
    }

    /// Polls, and calls `report` for each event. Time passes only when the model says so.
    pub fn poll(&self, wait: Wait, _memory: &mut Memory, mut report: impl FnMut(Report)) {
        let found = match wait {
            Wait::Not => self.shared.with(State::take),
            Wait::Until(deadline) => {
                if let Some(deadline) = deadline {
                    self.timer.set_by(deadline);
                }
                self.wait()
            }
        };
        if found.expired {
            self.timer.expired();
            report(Report::Expired);
        }
        if found.woken {
            report(Report::Wake);
        }
        for (token, bits) in found.events {
            report(Report::Source(token, bits));
        }
    }

    fn wait(&self) -> State {
        let lock = self.shared.state.lock();
        let mut state = lock.unwrap_or_else(PoisonError::into_inner);
        while !state.woken && !state.expired && state.events.is_empty() {
            let lock = self.shared.change.wait(state);
            state = lock.unwrap_or_else(PoisonError::into_inner);
        }
        state.take()
    }

    pub fn wake(&self) {
        self.shared.with(|state| state.woken = true);
        self.shared.change.notify_one();
    }

    pub fn set_timer(&self, deadline: Instant) -> bool {
        self.timer.set_by(deadline)
    }

    /// Makes the timer expire. Returns `false` if it is not set.
    pub fn expire(&self) -> bool {
        let is_set = self.shared.with(|state| {
            let is_set = std::mem::take(&mut state.is_set);
            state.expired |= is_set;
            is_set
        });
        self.shared.change.notify_one();
        is_set
    }

    pub fn register(
        &self,
        source: &mut (impl AnySource + ?Sized),
        token: usize,
        _interest: Interest,
    ) -> io::Result<()> {
        source.model().0 = Some(token);
        Ok(())
    }

    pub fn deregister(&self, source: &mut (impl AnySource + ?Sized)) -> io::Result<()> {
        let token = source.model().0.take();
        self.shared
            .with(|state| state.events.retain(|&(other, _)| Some(other) != token));
        Ok(())
    }

    /// Makes an event happen at a source.
    pub fn happen(&self, source: &Source, bits: Bits) {
        if let Some(token) = source.0 {
            self.shared.with(|state| state.events.push((token, bits)));
            self.shared.change.notify_one();
        }
    }
}
