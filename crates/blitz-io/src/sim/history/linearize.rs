//! The search for an order: the algorithm of Wing and Gong ("Testing and verifying concurrent objects", 1993), with the
//! memory of Lowe ("Testing for linearizability", 2017).
//!
//! All begins and ends are in a list, in the order in which they happened. The search takes the operations out of
//! the list, one after the other, as if each happened then:
//!
//! 1. An operation may be next if its begin comes before the first end in the list. All others began after an
//!    operation that has not been taken yet had ended.
//! 2. The search takes the first operation that may be next and has the right result. Its begin and its end leave
//!    the list.
//! 3. If there is none, the search puts the operation back that it took last, and looks for another one behind
//!    it. If there is none to put back, no order is right.
//! 4. What follows depends on the set of operations that were taken, and on the state, only. So the search enters each
//!    of these pairs once.
//! 5. An operation that has not ended has no end in the list and any result. So it may be taken at any time after its
//!    begin, or never: the search has found an order when no end is left.

use std::collections::HashSet;

use super::operations::Operation;
use super::recorded::Recorded;

/// The longest order that was found, as indexes of operations, and the operations that could have been next.
pub(super) struct Longest {
    pub(super) order: Vec<usize>,
    pub(super) next: Vec<usize>,
}

/// A begin or an end of the operation with this index.
#[derive(Clone, Copy)]
struct Event {
    operation: usize,
    is_end: bool,
}

/// The number of no event.
const NONE: usize = usize::MAX;

/// The events that are left, as a list in two directions. The last element is its head.
struct List {
    events: Vec<Event>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// The events of each operation: its begin, and its end or `NONE`.
    places: Vec<(usize, usize)>,
}

impl List {
    fn new<O: Operation>(operations: &[&Recorded<O>]) -> Self {
        let mut sorted: Vec<(u64, Event)> = Vec::new();
        for (operation, recorded) in operations.iter().enumerate() {
            let event = |is_end| Event { operation, is_end };
            sorted.push((recorded.began.number, event(false)));
            let end = recorded.ended.iter().map(|(end, _)| end.number);
            sorted.extend(end.map(|at| (at, event(true))));
        }
        sorted.sort_by_key(|&(at, _)| at);
        let events: Vec<Event> = sorted.into_iter().map(|(_, event)| event).collect();
        let mut places = vec![(NONE, NONE); operations.len()];
        for (at, event) in events.iter().enumerate() {
            let place = &mut places[event.operation];
            if event.is_end {
                place.1 = at;
            } else {
                place.0 = at;
            }
        }
        let count = events.len();
        Self {
            events,
            before: (0..=count)
                .map(|at| if at == 0 { count } else { at - 1 })
                .collect(),
            after: (0..=count)
                .map(|at| if at == count { 0 } else { at + 1 })
                .collect(),
            places,
        }
    }

    /// Returns the event after `at`. The head has no event.
    fn next(&self, at: usize) -> Option<(usize, Event)> {
        let next = self.after[at];
        self.events.get(next).map(|&event| (next, event))
    }

    fn head(&self) -> usize {
        self.events.len()
    }

    fn unlink(&mut self, at: usize) {
        let (before, after) = (self.before[at], self.after[at]);
        self.after[before] = after;
        self.before[after] = before;
    }

    fn link(&mut self, at: usize) {
        let (before, after) = (self.before[at], self.after[at]);
        self.after[before] = at;
        self.before[after] = at;
    }

    /// Removes the events of an operation.
    fn take(&mut self, operation: usize) {
        let (begin, end) = self.places[operation];
        self.unlink(begin);
        if end != NONE {
            self.unlink(end);
        }
    }

    /// Puts the events back of the operation that was taken last.
    fn put_back(&mut self, operation: usize) {
        let (begin, end) = self.places[operation];
        if end != NONE {
            self.link(end);
        }
        self.link(begin);
    }

    /// Returns the operations that may be next.
    fn candidates(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = self.head();
        while let Some((next, event)) = self.next(at).filter(|(_, event)| !event.is_end) {
            found.push(event.operation);
            at = next;
        }
        found
    }
}

/// A set of operations.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Taken(Vec<u64>);

impl Taken {
    fn new(operations: usize) -> Self {
        Self(vec![0; operations.div_ceil(64)])
    }

    fn flip(&mut self, operation: usize) {
        self.0[operation / 64] ^= 1 << (operation % 64);
    }
}

/// Looks for an order of these operations.
pub(super) fn linearize<O: Operation>(operations: &[&Recorded<O>]) -> Result<(), Longest> {
    let mut list = List::new(operations);
    let mut taken = Taken::new(operations.len());
    let mut entered: HashSet<(Taken, O::State)> = HashSet::new();
    let mut state = O::State::default();
    // The operations that were taken, each with the state before it.
    let mut order: Vec<(usize, O::State)> = Vec::new();
    let mut longest = Longest {
        order: Vec::new(),
        next: list.candidates(),
    };
    let mut at = list.head();
    // How many ended operations are left.
    let mut left = operations.iter().filter(|one| one.ended.is_some()).count();
    while left > 0 {
        let next = list.next(at).filter(|(_, event)| !event.is_end);
        if let Some((place, event)) = next {
            let recorded = operations[event.operation];
            let mut after = state.clone();
            let output = recorded.operation.apply(&mut after);
            let is_right = recorded.may_return(&output);
            taken.flip(event.operation);
            if is_right && entered.insert((taken.clone(), after.clone())) {
                list.take(event.operation);
                order.push((event.operation, std::mem::replace(&mut state, after)));
                left -= usize::from(recorded.ended.is_some());
                if order.len() > longest.order.len() {
                    longest.order = order.iter().map(|&(index, _)| index).collect();
                    longest.next = list.candidates();
                }
                at = list.head();
            } else {
                taken.flip(event.operation);
                at = place;
            }
        } else {
            let Some((last, before)) = order.pop() else {
                return Err(longest);
            };
            list.put_back(last);
            taken.flip(last);
            left += usize::from(operations[last].ended.is_some());
            (state, at) = (before, list.places[last].0);
        }
    }
    Ok(())
}
