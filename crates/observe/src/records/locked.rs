//! The points of a lock for its location and the linter (`lint`), beside those for the holder in `object.rs`.

use super::lint::{self, Lock};
use super::{Caller, Kind, Object, Waiter};

impl Object {
    /// Records where the current task or thread has taken this lock, and tells the linter that it has it, and would have waited for it without a
    /// limit. `acquired` or its kin has recorded the holder. The lock was created at `made_at`.
    #[inline]
    pub fn locked(&self, kind: Kind, made_at: Caller, caller: Caller) {
        self.taken_at(caller);
        if lint::is_on() {
            self.note_lock(kind, made_at, caller, true);
        }
    }

    /// Like [`locked`](Self::locked), but without a wait, or with one that has a deadline.
    #[inline]
    pub fn locked_at_once(&self, kind: Kind, made_at: Caller, caller: Caller) {
        self.taken_at(caller);
        if lint::is_on() {
            self.note_lock(kind, made_at, caller, false);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_lock(&self, kind: Kind, made_at: Caller, caller: Caller, waits: bool) {
        let lock = Lock::new(self.block(), kind, made_at.location());
        lint::acquired(Waiter::current(), lock, caller.location(), waits);
    }
}
