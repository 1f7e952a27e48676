//! The profile of a program, from a recorded run: the objects that several threads use, and the number of calls
//! on them that each thread has.

use std::collections::{BTreeMap, BTreeSet};

use crate::shared::region::{Event, NOTHING, READS, SHARED, WEIGHTS, happening};

/// A thread's use of an object.
#[derive(Default)]
struct Use {
    /// The last event that may have changed it.
    last_change: Option<usize>,
}

/// Numbers for the strategies SURW and PCT, and for threads that change between two calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Calls while there are several threads, also if the others wait: in another order, they may run then. At least one.
    pub(crate) length: u64,
    /// By thread: calls that count, with those of the threads that it starts.
    pub(crate) weights: Vec<u32>,
    /// Calls that count while another thread could run.
    pub(crate) choices: u64,
    /// Objects that several threads use at the same time, and one of them changes, ascending. If there is none, all
    /// calls count.
    pub(crate) shared: Vec<u64>,
}

impl Profile {
    pub(crate) fn new(events: &[Event]) -> Profile {
        let mut starts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut uses: BTreeMap<u64, BTreeMap<u32, Use>> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            match event.what {
                happening::START => {
                    starts.insert(event.thread, at);
                }
                happening::CALL if event.object != NOTHING => {
                    let users = uses.entry(event.object).or_default();
                    let mine = users.entry(event.thread).or_default();
                    if event.class != READS {
                        mine.last_change = Some(at);
                    }
                }
                _ => {}
            }
        }
        let start = |thread: &u32| starts.get(thread).copied().unwrap_or(0);
        let is_shared = |users: &BTreeMap<u32, Use>| {
            users.iter().any(|(writer, of_writer)| {
                let others = users.keys().filter(|thread| *thread != writer);
                of_writer
                    .last_change
                    .is_some_and(|at| others.into_iter().any(|other| start(other) <= at))
            })
        };
        let several = uses.iter().filter(|(_, users)| is_shared(users));
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
        let mut ready = BTreeSet::from([0]);
        let mut choices = 0;
        for event in events {
            match event.what {
                happening::WAIT | happening::END => ready.remove(&event.thread),
                happening::READY | happening::START => ready.insert(event.thread),
                _ => {
                    choices += u64::from(ready.len() > 1 && counts(event));
                    false
                }
            };
        }
        // Later threads first: a thread starts only later ones.
        let starts = events.iter().filter(|event| event.what == happening::START);
        for start in starts.rev() {
            let of_child = weights.get(start.thread as usize).copied().unwrap_or(0);
            if let Some(of_parent) = weights.get_mut(start.other as usize) {
                *of_parent += of_child;
            }
        }
        Profile {
            length: length(events),
            weights,
            choices,
            shared,
        }
    }
}

fn length(events: &[Event]) -> u64 {
    let (mut threads, mut calls) = (1_usize, 0);
    for event in events {
        match event.what {
            happening::START => threads += 1,
            happening::END => threads = threads.saturating_sub(1),
            happening::CALL if threads > 1 => calls += 1,
            _ => {}
        }
    }
    calls.max(1)
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
                length: 6,
                weights: vec![4, 3, 2],
                choices: 4,
                shared: vec![7]
            }
        );
    }

    #[test]
    fn what_is_only_read_or_changed_before_another_thread_begins_is_not_shared() {
        let call = |thread, object| event(happening::CALL, thread, 0, object);
        let read = |thread, object| Event {
            class: READS,
            ..call(thread, object)
        };
        let events = [
            call(0, 5),
            event(happening::START, 1, 0, NOTHING),
            read(0, 6),
            read(1, 5),
            read(1, 6),
            call(1, 7),
            call(1, 8),
            read(0, 8),
            call(0, 7),
        ];
        assert_eq!(Profile::new(&events).shared, [7, 8]);
    }

    #[test]
    fn the_length_is_of_the_part_with_several_threads() {
        let call = |thread| event(happening::CALL, thread, 0, 7);
        let begin = [call(0), call(0), event(happening::START, 1, 0, NOTHING)];
        let both = [call(0), event(happening::WAIT, 0, 0, 1), call(1), call(1)];
        let end = [event(happening::END, 1, 0, NOTHING), call(0)];
        let events = [&begin[..], &both, &end].concat();
        assert_eq!(Profile::new(&events).length, 3);
        assert_eq!(Profile::new(&begin[..2]).length, 1);
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
