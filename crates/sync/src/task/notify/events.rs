//! Sentences about notifications, for the report of a simulation. Without the feature `sim`, these functions are empty.
//!
//! The callers have not changed the state yet, so that it shows the waiters.

use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::{Caller, Kind, decisions};

use super::{BITS, NOTIFIED, Notify, WAITING};

impl Notify {
    /// The current task notifies one waiter.
    #[inline(always)]
    #[track_caller]
    pub(super) fn notes_one(&self) {
        if decisions::explains() {
            self.did(Caller::here(), |state| match state {
                WAITING => "notifies {}",
                NOTIFIED => "notifies {}, which has a stored notification",
                _ => "notifies {}, for which no task waits: the notification is stored",
            });
        }
    }

    /// The current task notifies all waiters.
    #[inline(always)]
    #[track_caller]
    pub(super) fn notes_all(&self) {
        if decisions::explains() {
            self.did(Caller::here(), |state| match state {
                WAITING => "notifies all waiters of {}",
                _ => "notifies {}, for which no task waits",
            });
        }
    }

    /// `text`: a sentence about this state, with `{}` for the object.
    #[cold]
    fn did(&self, at: Caller, text: fn(usize) -> &'static str) {
        let _call = at.calls();
        let state = self.state.load(Ordering::Relaxed) & BITS;
        self.object.did(Kind::Notify, || text(state).to_owned());
    }
}
