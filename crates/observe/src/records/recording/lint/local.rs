//! The state of a thread in the recorder.

use std::cell::RefCell;

use super::frames::Frames;
use super::held::List;

#[derive(Default)]
pub(super) struct Local {
    pub(super) held: List,
    pub(super) frames: Frames,
}

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::default();
}

/// Runs `with` on the state of this thread, unless the thread is in the recorder already, or about to end.
pub(super) fn with_local<R>(with: impl FnOnce(&mut Local) -> R) -> Option<R> {
    LOCAL
        .try_with(|local| Some(with(&mut *local.try_borrow_mut().ok()?)))
        .ok()
        .flatten()
}
