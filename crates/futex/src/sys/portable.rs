//! Systems without a futex, and the feature `portable`: threads sleep in a table of this
//! process. Counts are exact; words cannot be shared with other processes.

use std::time::Instant;

use super::prim::table;
use crate::atomic::AtomicU32;
use crate::word::Word;
use crate::{Group, Scope, WaitAny, WaitResult};

pub(crate) const COUNTS_WAKES: bool = true;

pub(crate) fn name() -> &'static str {
    if cfg!(loom) {
        "the table on loom's locks"
    } else {
        "the table of mutexes and condition variables"
    }
}

pub(crate) fn supports_shared() -> bool {
    false
}

pub(crate) fn has_wait_any() -> bool {
    false
}

#[cfg_attr(loom, track_caller)]
pub(crate) fn wait<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    _scope: Scope,
) -> WaitResult {
    table().wait(word, expected, deadline, None)
}

pub(crate) fn wait_in_group<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    group: Group,
) -> WaitResult {
    table().wait(word, expected, deadline, Some(group))
}

pub(crate) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    _scope: Scope,
) -> WaitAny {
    table().wait_any(words, deadline)
}

pub(crate) fn wake(address: *const (), n: usize, _scope: Scope) -> usize {
    table().wake(address, n, None)
}

pub(crate) fn wake_group(address: *const (), n: usize, group: Group) -> usize {
    table().wake(address, n, Some(group))
}
