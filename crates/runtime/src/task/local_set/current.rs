//! Which set `spawn_local` adds to on this thread.
//!
//! The thread's context has the set as an address that owns a count of its `Rc`, since
//! a guard may be kept for longer than the set, or be dropped out of order.

use std::fmt;
use std::ptr;
use std::rc::Rc;

use super::Local;
use crate::context;

/// Puts a set into the context, and takes out which was there.
fn replace(local: Option<Rc<Local>>) -> Option<Rc<Local>> {
    let new = local.map_or(ptr::null(), Rc::into_raw);
    let old = context::with(|context| context.local_set.replace(new.cast()));
    let old = old.cast::<Local>();
    // SAFETY: what is not null came from `into_raw` above, on this thread, and has been
    // taken out of the context, where its count was.
    (!old.is_null()).then(|| unsafe { Rc::from_raw(old) })
}

/// The current set.
pub(super) fn current() -> Option<Rc<Local>> {
    let local = replace(None)?;
    replace(Some(local.clone()));
    Some(local)
}

/// The set is the current one as long as this lives.
pub(super) struct Enter(Option<Rc<Local>>);

impl Enter {
    #[inline]
    pub(super) fn new(local: &Rc<Local>) -> Self {
        Self(replace(Some(local.clone())))
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        drop(replace(self.0.take()));
    }
}

/// Makes a [`LocalSet`](super::LocalSet) the one that
/// [`spawn_local`](super::spawn_local) adds to, until it is dropped.
///
/// From [`LocalSet::enter`](super::LocalSet::enter).
///
/// ```
/// use blitz_io::task::{LocalSet, spawn_local};
///
/// let set = LocalSet::new();
/// let _guard = set.enter();
/// spawn_local(async {});
/// ```
pub struct LocalEnterGuard(#[allow(dead_code, reason = "its drop counts")] Enter);

impl LocalEnterGuard {
    pub(super) fn new(local: Rc<Local>) -> Self {
        Self(Enter(replace(Some(local))))
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish()
    }
}
