//! `OwnPrimitive`: the field of a primitive that a program builds on the futex.

use super::{Acquirer, Blocking, Caller, Kind, Object};

/// The facts of a primitive of the program's, which a constant may have: its name and its line are recorded at its first use.
#[derive(Debug)]
pub struct OwnPrimitive {
    object: Object,
    kind: Kind,
    name: Option<&'static str>,
    made_at: Caller,
}

impl OwnPrimitive {
    /// Creates the field of a primitive without a name. Its waits are of this kind.
    #[must_use]
    pub const fn new(kind: Kind, made_at: Caller) -> Self {
        Self {
            object: Object::new(),
            kind,
            name: None,
            made_at,
        }
    }

    /// Sets the name.
    pub const fn set_name(&mut self, name: &'static str) {
        self.name = Some(name);
    }

    /// Announces that this thread may sleep for this. `is_timed`: the wait has a deadline.
    #[must_use]
    pub fn block(&self, caller: Caller, is_timed: bool) -> Blocking {
        self.record_name();
        self.object.created_at(self.made_at);
        Blocking::new(self.kind, &self.object, caller, is_timed)
    }

    /// Records that the current task or thread has this, and keeps the guard.
    #[inline]
    pub fn acquired(&self, caller: Caller) {
        self.object.acquired();
        self.record_lock(caller);
    }

    /// Like [`acquired`](Self::acquired), but with a guard that may move to another task or thread.
    #[inline]
    pub fn acquired_movable(&self, caller: Caller) {
        self.object.acquired_movable();
        self.record_lock(caller);
    }

    /// Records that the holder is about to release this.
    #[inline]
    pub fn released(&self) {
        self.object.released();
    }

    #[inline]
    fn record_lock(&self, caller: Caller) {
        self.record_name();
        let by = Acquirer::current();
        self.object.locked(self.kind, self.made_at, caller, by);
    }

    #[inline]
    fn record_name(&self) {
        if let Some(name) = self.name.filter(|_| !self.object.has_name()) {
            self.object.set_name(name);
        }
    }
}
