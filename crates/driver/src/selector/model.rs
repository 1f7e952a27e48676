//! A model of the system's poll, edge-triggered: what one poll has reported, including a
//! wake-up, no other poll reports again.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use loom::sync::{Condvar, Mutex};

use super::Report;
use super::timer::Timer;
use crate::bits::Bits;

#[derive(Default)]
struct State {
    woken: bool,
    /// Whether the timer is set.
    is_set: bool,
    /// Whether the timer has expired.
    expired: bool,
    events: Vec<(usize, Bits)>,
}

impl State {
    /// Takes what a poll reports.
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

/// Waits for events. Only one thread at a time uses it.
pub struct Selector {
    shared: Arc<Shared>,
    timer: Arc<Timer>,
    found: State,
}

/// The part that any thread may use meanwhile.
pub struct Registry {
    shared: Arc<Shared>,
    timer: Arc<Timer>,
}

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

/// A source of events: the token under which it is registered, or 0.
#[derive(Default)]
pub struct Source(usize);

impl Selector {
    pub fn new(_events: usize, _events_busy: Option<usize>) -> io::Result<(Self, Registry)> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            change: Condvar::new(),
        });
        let timer = Arc::new(Timer::new(Kernel(shared.clone())));
        let registry = Registry {
            shared: shared.clone(),
            timer: timer.clone(),
        };
        let selector = Self {
            shared,
            timer,
            found: State::default(),
        };
        Ok((selector, registry))
    }

    /// Waits for events. Time passes only when the model says so.
    pub fn wait(&mut self, deadline: Option<Instant>) {
        if let Some(deadline) = deadline {
            self.timer.set_by(deadline);
        }
        let lock = self.shared.state.lock();
        let mut state = lock.unwrap_or_else(PoisonError::into_inner);
        while !state.woken && !state.expired && state.events.is_empty() {
            let lock = self.shared.change.wait(state);
            state = lock.unwrap_or_else(PoisonError::into_inner);
        }
        self.found = state.take();
    }

    pub fn look(&mut self) {
        self.found = self.shared.with(State::take);
    }

    pub fn reports(&self) -> impl Iterator<Item = Report> {
        if self.found.expired {
            self.timer.expired();
        }
        let wake = (self.found.woken || self.found.expired).then_some(Report::Wake);
        let events = self.found.events.iter();
        wake.into_iter()
            .chain(events.map(|&(token, bits)| Report::Source(token, bits)))
    }
}

impl Registry {
    pub fn wake(&self) {
        self.shared.with(|state| state.woken = true);
        self.shared.change.notify_one();
    }

    pub fn wake_by(&self, deadline: Instant) -> bool {
        self.timer.set_by(deadline)
    }

    /// Makes the timer expire, if it is set.
    pub fn expire(&self) {
        self.shared.with(|state| {
            state.expired |= std::mem::take(&mut state.is_set);
        });
        self.shared.change.notify_one();
    }

    pub fn register(&self, source: &mut Source, token: usize, _interest: ()) -> io::Result<()> {
        source.0 = token;
        Ok(())
    }

    pub fn deregister(&self, source: &mut Source) -> io::Result<()> {
        let token = std::mem::take(&mut source.0);
        self.shared
            .with(|state| state.events.retain(|&(other, _)| other != token));
        Ok(())
    }

    /// Makes an event happen at a source.
    pub fn happen(&self, source: &Source, bits: Bits) {
        if source.0 != 0 {
            self.shared
                .with(|state| state.events.push((source.0, bits)));
            self.shared.change.notify_one();
        }
    }
}
