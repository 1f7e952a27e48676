//! Tasks that ended lately with a value that has a destructor.
//!
//! Such a value may have a guard or a permit of the task: the receiver of the value has it then. A word has one place, which
//! a later task may take. The earlier one then counts as a task that gave nothing.

use std::mem::needs_drop;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Waiter;

/// The number of places.
const PLACES: usize = 1 << 12;

static TASKS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Notes that the task with this id ends with a value of this type. `None`: the current task or child.
#[inline]
pub fn ends_with<T>(task: Option<u64>) {
    if needs_drop::<T>() {
        let word = task.map_or_else(Waiter::current, Waiter::task).word();
        place(word).store(word, Ordering::Relaxed);
    }
}

/// Returns `true` if the task with this word ended lately with a value that may have a guard.
pub(super) fn has_given(word: u64) -> bool {
    word != 0 && place(word).load(Ordering::Relaxed) == word
}

/// Returns the place of a word. Numbers of tasks follow each other, so those that ended lately have places of their own.
fn place(word: u64) -> &'static AtomicU64 {
    &TASKS[(word >> 1) as usize % PLACES]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_value_with_a_destructor_is_noted() {
        let word = Waiter::task(7).word();
        ends_with::<u64>(Some(7));
        assert!(!has_given(word));
        ends_with::<Box<u64>>(Some(7));
        assert!(has_given(word));
        let later = 7 + PLACES as u64;
        assert!(!has_given(Waiter::task(later).word()));
        ends_with::<Box<u64>>(Some(later));
        assert!(!has_given(word));
    }
}
