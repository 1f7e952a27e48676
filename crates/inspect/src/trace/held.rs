//! `Held`: how long a lock, or the permits of a semaphore, were held, and the limit that follows.
//!
//! By Little's law: with `most` places, each of which is held for `mean` at a time, `most / mean` is the greatest rate.
//! No pairs of events are looked for. The integral of the number that is held over time is the sum of all times.
//!
//! A lock is one place, which is taken while anyone has it: readers at the same time count once. So the limit of a lock of
//! readers and writers is that of the readers and writers that the recording has, in these proportions.
//!
//! A semaphore has as many places as were taken while others waited. No event says how many it has, and the program may change
//! that. A forgotten permit counts as held until as many are added: see `forgotten.rs`. If more are added, the semaphore has more
//! places from then on, and the count begins anew.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::forgotten::Forgotten;
use super::recording::{For, Recording, Target, What};
use crate::snapshot::Waiter;

/// From this part of its time on, in percent, an object is *saturated*: more work waits, whatever else is free.
const SATURATED: u64 = 95;
const SECOND: u128 = 1_000_000_000;
/// A number of permits that are taken for less than `1 / SHORT` of the time in which others waited is more than there are. The
/// processor may read its clock early for the event of a taken permit, before another thread has given the permit back. That
/// takes a hundred nanoseconds, and waits take thousands.
const SHORT: u128 = 100;

/// How a lock, or a semaphore, was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The number of times that it was taken.
    pub times: u64,
    /// The average time for which it was held, in nanoseconds.
    pub mean: u64,
    /// The most owners, or permits, at once. As others waited, there were no more.
    pub most: u64,
    /// The greatest number of times in a second that follows from these two.
    pub limit: u64,
    /// The part of the time in which it was held, for each owner or permit, in percent.
    pub used: u64,
    /// Permits were forgotten; each counts as held until another one was added.
    pub until_added: bool,
}

impl Held {
    /// Returns `true` if the limit is reached.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.used >= SATURATED
    }
}

/// The state of one object at the current event.
struct Use {
    from: u64,
    at: u64,
    held: u64,
    most: u64,
    times: u64,
    /// The sum of the times, in nanoseconds.
    sum: u128,
    is_lock: bool,
    waiting: HashSet<Waiter>,
    /// The time in which others waited, by the number that was held.
    waited: BTreeMap<u64, u128>,
    until_added: bool,
    /// An event had no room for the number of permits.
    is_unknown: bool,
}

impl Use {
    fn new(at: u64, is_lock: bool) -> Self {
        Self {
            is_lock,
            from: at,
            at,
            held: 0,
            most: 0,
            times: 0,
            sum: 0,
            waiting: HashSet::new(),
            waited: BTreeMap::new(),
            until_added: false,
            is_unknown: false,
        }
    }

    fn pass(&mut self, at: u64) {
        let nanos = u128::from(at.saturating_sub(self.at));
        self.sum += u128::from(self.places()) * nanos;
        if !self.waiting.is_empty() {
            *self.waited.entry(self.places()).or_default() += nanos;
        }
        self.at = at;
    }

    fn places(&self) -> u64 {
        if self.is_lock {
            self.held.min(1)
        } else {
            self.held
        }
    }

    fn take(&mut self, at: u64, count: u64) {
        self.pass(at);
        self.held += count;
        self.most = self.most.max(self.places());
        self.times += 1;
    }

    fn release(&mut self, at: u64, count: u64) {
        self.pass(at);
        // It may have been taken before the recording began.
        self.held = self.held.saturating_sub(count);
    }

    /// Counts from here on, as the number of places has changed.
    fn begin_anew(&mut self, at: u64) {
        *self = Self {
            held: self.held,
            most: self.held,
            waiting: std::mem::take(&mut self.waiting),
            until_added: self.until_added,
            is_unknown: self.is_unknown,
            ..Self::new(at, self.is_lock)
        };
    }

    /// Returns the number of places.
    fn capacity(&self) -> u64 {
        let all: u128 = self.waited.values().sum();
        let mut above = 0;
        for (&held, &nanos) in self.waited.iter().rev() {
            above += nanos;
            if above * SHORT > all {
                return held;
            }
        }
        self.most
    }

    fn judge(&self) -> Option<Held> {
        let most = self.capacity();
        let whole = u128::from(most) * u128::from(self.at - self.from);
        if self.times < 2 || self.sum == 0 || whole == 0 || self.is_unknown {
            return None;
        }
        let number = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Some(Held {
            times: self.times,
            mean: number(self.sum / u128::from(self.times)),
            most,
            limit: number(u128::from(most) * u128::from(self.times) * SECOND / self.sum),
            used: number(self.sum * 100 / whole).min(100),
            until_added: self.until_added,
        })
    }
}

/// Returns how each lock and each semaphore was used.
pub(super) fn held(recording: &Recording) -> HashMap<usize, Held> {
    let mut uses = Uses::default();
    let events = recording.events.iter();
    for event in events.filter(|event| recording.is_whole_at(event)) {
        uses.note(event.at, event.waiter, event.what);
    }
    let known = uses.of.into_iter();
    known
        .filter_map(|(object, one)| Some((object, one.judge()?)))
        .collect()
}

#[derive(Default)]
struct Uses {
    of: HashMap<usize, Use>,
    forgotten: Forgotten,
}

impl Uses {
    fn note(&mut self, at: u64, waiter: Waiter, what: What) {
        match what {
            What::Acquired { object, .. } => self.of(object, at, true).take(at, 1),
            What::Released { object } => {
                if let Some(known) = self.of.get_mut(&object) {
                    known.release(at, 1);
                }
            }
            What::Permits { object, count, .. } => {
                self.permits(object, at, count).take(at, count.into())
            }
            What::PermitsBack { object, count } => {
                self.permits(object, at, count).release(at, count.into());
            }
            What::PermitsForgotten { object, count } => {
                self.forgotten.forget(object, count);
                self.permits(object, at, count).until_added = true;
            }
            What::PermitsAdded { object, count } => {
                let replaced = self.forgotten.added(object, count);
                let of = self.permits(object, at, count);
                of.release(at, replaced);
                if replaced < count.into() {
                    of.begin_anew(at);
                }
            }
            What::Wait(For {
                target: Target::Object(object),
                ..
            })
            | What::Block(For {
                target: Target::Object(object),
                ..
            }) => {
                self.wait(object, at, |waiting| waiting.insert(waiter));
            }
            What::WaitEnd(For {
                target: Target::Object(object),
                ..
            }) => {
                self.wait(object, at, |waiting| waiting.remove(&waiter));
            }
            _ => {}
        }
    }

    fn of(&mut self, object: usize, at: u64, is_lock: bool) -> &mut Use {
        self.of
            .entry(object)
            .or_insert_with(|| Use::new(at, is_lock))
    }

    /// Returns the use of a semaphore of which so many permits are taken, given back, forgotten or added.
    fn permits(&mut self, object: usize, at: u64, count: u8) -> &mut Use {
        let of = self.of(object, at, false);
        of.is_unknown |= count == u8::MAX;
        of
    }

    fn wait(&mut self, object: usize, at: u64, change: impl FnOnce(&mut HashSet<Waiter>) -> bool) {
        // A wait for an object that nobody has taken yet is for one that was taken before.
        if let Some(of) = self.of.get_mut(&object) {
            of.pass(at);
            change(&mut of.waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn task(id: u64) -> u64 {
        id << 1 | 1
    }

    fn recording(kinds: &str, events: &str) -> Recording {
        let text =
            format!(r#"{{"format":1,"kinds":[{kinds}],"objects":[null],"events":[{events}]}}"#);
        Recording::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_lock_that_is_always_held_is_saturated() {
        let one = task(1);
        let events = format!(
            "[11,0,0,1,{one},0,0],[12,2000000,0,1,{one},0,0],[11,2000000,0,1,{one},0,0],[12,4000000,0,1,{one},0,0]"
        );
        let found = held(&recording(r#""Mutex""#, &events));
        let held = found[&1];
        assert_eq!((held.times, held.mean, held.most), (2, 2_000_000, 1));
        assert_eq!((held.limit, held.used), (500, 100));
        assert!(held.is_saturated());
    }

    /// A writer for one millisecond, and two readers for two milliseconds at the same time, up to the end.
    #[test]
    fn readers_at_the_same_time_count_once() {
        let (one, two) = (task(1), task(2));
        let events = format!(
            "[11,0,0,1,{one},0,0],[12,1000000,0,1,{one},0,0],[11,2000000,1,1,{one},0,0],[11,2000000,1,1,{two},0,0],
            [12,4000000,0,1,{one},0,0],[12,4000000,0,1,{two},0,0]"
        );
        let found = held(&recording(r#""RwLock (write)","RwLock (read)""#, &events));
        let held = found[&1];
        assert_eq!((held.times, held.mean, held.most), (3, 1_000_000, 1));
        assert_eq!((held.limit, held.used), (1_000, 75));
    }

    #[test]
    fn permits_count_together() {
        let (one, two) = (task(1), task(2));
        // Two permits for five milliseconds, half of the time.
        let events = format!(
            "[17,0,1,1,{one},0,0],[17,0,1,1,{two},0,0],[18,5000000,1,1,{one},0,0],[18,5000000,1,1,{two},0,0],
            [17,10000000,1,1,{one},0,0],[18,15000000,1,1,{one},0,0],[18,20000000,0,1,{one},0,0]"
        );
        let found = held(&recording(r#""Semaphore""#, &events));
        let held = found[&1];
        assert_eq!((held.times, held.mean, held.most), (3, 5_000_000, 2));
        assert_eq!((held.limit, held.used), (400, 37));
        assert!(!held.is_saturated());
    }

    /// Four permits of which each is forgotten, and given back by an addition a millisecond later.
    #[test]
    fn a_forgotten_permit_is_held_until_another_one_is_added() {
        let mut events = vec![];
        for round in 0..5 {
            for task in (1..=4).map(task) {
                let (from, to) = (round * 1_000_000, (round + 1) * 1_000_000);
                events.push(format!(
                    "[17,{from},1,1,{task},0,0],[37,{from},1,1,{task},0,0]"
                ));
                events.push(format!("[38,{to},1,1,{task},0,0]"));
            }
        }
        let found = held(&recording(r#""Semaphore""#, &events.join(",")));
        let held = found[&1];
        assert_eq!((held.times, held.mean, held.most), (20, 1_000_000, 4));
        assert_eq!((held.limit, held.used), (4_000, 100));
        assert!(held.until_added);
    }

    /// One permit, then another one is added while the first is held.
    #[test]
    fn with_more_permits_the_count_begins_anew() {
        let (one, two) = (task(1), task(2));
        let events = format!(
            "[17,0,1,1,{one},0,0],[38,9000000,1,1,{two},0,0],[17,9000000,1,1,{two},0,0],[18,10000000,1,1,{one},0,0],
            [17,10000000,1,1,{one},0,0],[18,11000000,1,1,{one},0,0],[18,11000000,1,1,{two},0,0]"
        );
        let found = held(&recording(r#""Semaphore""#, &events));
        let held = found[&1];
        assert_eq!((held.times, held.most, held.used), (2, 2, 100));
        assert!(!held.until_added);
    }

    /// The clock of the second task is 50 nanoseconds early, while a third one waits.
    #[test]
    fn a_clock_that_is_read_early_adds_no_permit() {
        let (one, two, three) = (task(1), task(2), task(3));
        let events = format!(
            "[17,0,1,1,{one},0,0],[3,1000,0,1,{two},0,0],[3,1000,0,1,{three},0,0],[17,9950,1,1,{two},0,0],
            [7,9950,0,1,{two},0,0],[18,10000,1,1,{one},0,0],[18,20000,1,1,{two},0,0],[7,20000,0,1,{three},0,0]"
        );
        let found = held(&recording(r#""Semaphore""#, &events));
        assert_eq!((found[&1].most, found[&1].used), (1, 100));
    }

    /// One thread has lost its events up to the moment 10, and the events were read at the moment 40. A permit that was
    /// given back before or after that may look as if it were still held.
    #[test]
    fn permits_count_only_while_no_event_is_missing() {
        let (one, two) = (task(1), task(2));
        let events = format!(
            "[17,5,1,1,{one},0,0],[17,10,1,1,{two},0,0],[18,20,1,1,{two},0,0],[17,20,1,1,{two},0,0],
            [18,30,1,1,{two},0,0],[17,30,1,1,{two},0,0],[17,50,1,1,{one},0,0],[18,60,1,1,{one},0,0]"
        );
        let text = format!(
            r#"{{"format":1,"whole_from":10,"now":40,"kinds":["Semaphore"],"objects":[null],"events":[{events}]}}"#
        );
        let found = held(&Recording::parse(text.as_bytes()).unwrap());
        assert_eq!((found[&1].most, found[&1].times), (1, 3));
    }

    /// An event says at most 255.
    #[test]
    fn a_number_that_no_event_has_room_for_is_not_judged() {
        let one = task(1);
        let events = format!(
            "[17,0,255,1,{one},0,0],[18,5,255,1,{one},0,0],[17,5,1,1,{one},0,0],[18,9,1,1,{one},0,0]"
        );
        assert!(held(&recording(r#""Semaphore""#, &events)).is_empty());
    }

    #[test]
    fn what_was_taken_before_counts_from_its_release() {
        let one = task(1);
        let events = format!("[12,7,0,1,{one},0,0],[18,9,3,1,{one},0,0]");
        assert!(held(&recording(r#""Mutex""#, &events)).is_empty());
    }
}
