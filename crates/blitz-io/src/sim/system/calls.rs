//! `Calls`: calls of the system that a run counts, and the line of the first one.

use std::cell::{Cell, RefCell};

use blitz_io_inspect::OwnStack;

/// The first call of a kind.
struct First {
    function: &'static str,
    stack: OwnStack,
}

/// Number of calls of a kind, and the first one.
#[derive(Default)]
pub(super) struct Calls {
    count: Cell<u64>,
    first: RefCell<Option<First>>,
}

#[allow(dead_code, reason = "where nothing is taken over")]
impl Calls {
    /// Counts a call of this function. The first one takes the stack, and no memory of an allocator.
    pub(super) fn add(&self, function: &'static str) {
        self.count.set(self.count.get().saturating_add(1));
        // The handler of a signal may call while the first call is noted, or read.
        let Ok(mut first) = self.first.try_borrow_mut() else {
            return;
        };
        if first.is_none() {
            let stack = OwnStack::take();
            *first = Some(First { function, stack });
        }
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Returns the function of the first call, and the program's own line that has led to it, if that is known.
    pub(super) fn first(&self) -> Option<(&'static str, Option<String>)> {
        let first = self.first.borrow();
        let First { function, stack } = first.as_ref()?;
        Some((function, stack.own_call()))
    }
}
