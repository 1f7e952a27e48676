//! A model of the system's poll, edge-triggered: what one poll has reported, no other
//! reports again, a wake-up included.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use loom::sync::{Condvar, Mutex};

use super::Report;
use crate::bits::Bits;

#[derive(Default)]
struct State {
    woken: bool,
    events: Vec<(usize, Bits)>,
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

/// Waits for events. One thread at a time.
pub struct Selector {
    shared: Arc<Shared>,
    found: State,
}

/// What any thread may do meanwhile.
pub struct Registry(Arc<Shared>);

/// A source of events: the token under which it is registered, or 0.
#[derive(Default)]
pub struct Source(usize);

impl Selector {
    pub fn new(_events: usize, _events_busy: Option<usize>) -> io::Result<(Self, Registry)> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            change: Condvar::new(),
        });
        let registry = Registry(shared.clone());
        let found = State::default();
        Ok((Self { shared, found }, registry))
    }

    /// Time does not pass.
    pub fn wait(&mut self, _deadline: Option<Instant>) {
        let lock = self.shared.state.lock();
        let mut state = lock.unwrap_or_else(PoisonError::into_inner);
        while !state.woken && state.events.is_empty() {
            let lock = self.shared.change.wait(state);
            state = lock.unwrap_or_else(PoisonError::into_inner);
        }
        self.found = std::mem::take(&mut state);
    }

    pub fn look(&mut self) {
        self.found = self.shared.with(std::mem::take);
    }

    pub fn reports(&self) -> impl Iterator<Item = Report> {
        let wake = self.found.woken.then_some(Report::Wake);
        let events = self.found.events.iter();
        wake.into_iter()
            .chain(events.map(|&(token, bits)| Report::Source(token, bits)))
    }
}

impl Registry {
    pub fn wake(&self) {
        self.0.with(|state| state.woken = true);
        self.0.change.notify_one();
    }

    pub fn register(&self, source: &mut Source, token: usize, _interest: ()) -> io::Result<()> {
        source.0 = token;
        Ok(())
    }

    pub fn deregister(&self, source: &mut Source) -> io::Result<()> {
        let token = std::mem::take(&mut source.0);
        self.0
            .with(|state| state.events.retain(|&(other, _)| other != token));
        Ok(())
    }

    /// An event happens at a source.
    pub fn happen(&self, source: &Source, bits: Bits) {
        if source.0 != 0 {
            self.0.with(|state| state.events.push((source.0, bits)));
            self.0.change.notify_one();
        }
    }
}
