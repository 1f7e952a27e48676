//! The profile of a program, from a recorded run: the objects that several threads use, and the number of calls
//! on them that each thread has.

use std::collections::BTreeMap;

use crate::shared::region::{Event, NOTHING, SHARED, WEIGHTS, happening};

/// Numbers for the strategy SURW.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    /// By thread: calls that count, with those of the threads that it starts.
    pub(crate) weights: Vec<u32>,
    /// Objects that several threads use, ascending. If there is none, all calls count.
    pub(crate) shared: Vec<u64>,
}

impl Profile {
    pub(crate) fn new(events: &[Event]) -> Profile {
        let calls = || events.iter().filter(|event| event.what == happening::CALL);
        // The first thread that used an object, and whether another one did.
        let mut users = BTreeMap::new();
        for call in calls().filter(|call| call.object != NOTHING) {
            let (first, several) = users.entry(call.object).or_insert((call.thread, false));
            *several |= *first != call.thread;
        }
        let several = users.iter().filter(|(_, (_, several))| *several);
        let shared: Vec<u64> = several.map(|(object, _)| *object).take(SHARED).collect();
        let counts = |event: &Event| match event.what {
            happening::CALL => shared.is_empty() || shared.binary_search(&event.object).is_ok(),
            // A thread runs up to its first call, which is a step if all steps count.
            happening::START => shared.is_empty(),
            _ => false,
        };
        let mut weights: Vec<u32> = vec![];
        for event in events.iter().filter(|event| counts(event)) {
            let at = event.thread as usize;
            if at < WEIGHTS {
                weights.resize(weights.len().max(at + 1), 0);
                weights[at] += 1;
            }
        }
        // Later threads first: a thread starts only later ones.
        let starts = events.iter().filter(|event| event.what == happening::START);
        for start in starts.rev() {
            let of_child = weights.get(start.thread as usize).copied().unwrap_or(0);
            if let Some(of_parent) = weights.get_mut(start.other as usize) {
                *of_parent += of_child;
            }
        }
        Profile { weights, shared }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(what: u16, thread: u32, other: u32, object: u64) -> Event {
        Event {
            what,
            thread,
            other,
            object,
            ..Event::default()
        }
    }

    #[test]
    fn calls_on_shared_objects_count_for_the_thread_and_its_ancestors() {
        let call = |thread, object| event(happening::CALL, thread, 0, object);
        let start = |thread, by| event(happening::START, thread, by, NOTHING);
        let events = [
            call(0, NOTHING),
            start(1, 0),
            start(2, 1),
            call(0, 7),
            call(1, 8),
            call(1, 7),
            call(2, 7),
            call(2, 7),
            call(2, 9),
        ];
        let profile = Profile::new(&events);
        assert_eq!(
            profile,
            Profile {
                weights: vec![4, 3, 2],
                shared: vec![7]
            }
        );
    }

    #[test]
    fn without_shared_objects_all_steps_count() {
        let call = |thread, object| event(happening::CALL, thread, 0, object);
        let events = [
            call(0, NOTHING),
            event(happening::START, 1, 0, NOTHING),
            call(1, 5),
        ];
        let profile = Profile::new(&events);
        assert_eq!((profile.weights, profile.shared), (vec![3, 2], vec![]));
    }
}
