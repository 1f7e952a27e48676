//! The number of the current thread in a model, which numbers its threads.

use std::num::NonZeroUsize;

use super::ThreadId;

pub(super) fn current() -> ThreadId {
    let text = format!("{:?}", loom::thread::current().id());
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    ThreadId(NonZeroUsize::MIN.saturating_add(digits.parse().unwrap_or(0)))
}
