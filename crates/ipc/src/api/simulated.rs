//! Waking the tasks of a simulation, which all run on one thread.
//!
//! A simulation polls no descriptor, so an end has no doorbell there. Its wait notes the task under the segment and the
//! participant, and a notifier, which runs on the same thread, wakes that task.
//!
//! **No wake-up is lost**, as in `doorbell.rs`. Between the last attempt of a waiter, after it was armed, and the first poll
//! of its wait there is no await, so no other task runs.
//!
//! An entry belongs to the future of a wait, which removes it when it is dropped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::task::{Poll, Waker};

/// The number of a segment, and that of a participant.
pub(crate) type Key = (u64, usize);

enum Wait {
    Waits(Waker),
    IsRung,
}

thread_local! {
    static WAITS: RefCell<BTreeMap<Key, Wait>> = const { RefCell::new(BTreeMap::new()) };
}

/// Replaces the entry, and returns the one before. A waker is dropped without the borrow: that may run any code.
fn replace(key: Key, entry: Option<Wait>) -> Option<Wait> {
    let replaced = WAITS.try_with(|waits| {
        let mut waits = waits.borrow_mut();
        match entry {
            Some(entry) => waits.insert(key, entry),
            None => waits.remove(&key),
        }
    });
    replaced.ok().flatten()
}

/// Wakes the task that waits for this participant. Returns `false` if none does on this thread.
pub(crate) fn wake(key: Key) -> bool {
    let waits = WAITS.try_with(|waits| waits.borrow().contains_key(&key));
    if waits != Ok(true) {
        return false;
    }
    if let Some(Wait::Waits(waker)) = replace(key, Some(Wait::IsRung)) {
        waker.wake();
    }
    true
}

/// Waits until the participant, which is armed, is woken.
pub(crate) async fn rung(key: Key) -> io::Result<()> {
    struct Entry(Key);

    impl Drop for Entry {
        fn drop(&mut self) {
            drop(replace(self.0, None));
        }
    }

    let entry = Entry(key);
    poll_fn(|context| {
        let before = replace(entry.0, Some(Wait::Waits(context.waker().clone())));
        match before {
            Some(Wait::IsRung) => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    })
    .await
}
