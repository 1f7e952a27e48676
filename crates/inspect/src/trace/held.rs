//! `Held`: how long a lock, or the permits of a semaphore, were held, and the limit that follows.
//!
//! By Little's law: with `most` places, each of which is held for `mean` at a time, `most / mean` is the greatest rate.
//! No pairs of events are looked for. The integral of the number that is held over time is the sum of all times.
//!
//! A lock of readers and writers is one place, which is taken while anyone has it: readers at the same time count once.
//! So its limit is that of the readers and writers that the recording has, in these proportions.

use std::collections::HashMap;

use blitz_io_observe::Mode;
use serde::Serialize;

use super::recording::{Recording, What};

/// From this part of its time on, in percent, an object is *saturated*: more work waits, whatever else is free.
const SATURATED: u64 = 95;
const SECOND: u128 = 1_000_000_000;

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
    /// All owners at once count as one.
    is_shared: bool,
}

impl Use {
    const fn new(at: u64, is_shared: bool) -> Self {
        Self {
            is_shared,
            from: at,
            at,
            held: 0,
            most: 0,
            times: 0,
            sum: 0,
        }
    }

    fn pass(&mut self, at: u64) {
        self.sum += u128::from(self.places()) * u128::from(at.saturating_sub(self.at));
        self.at = at;
    }

    fn places(&self) -> u64 {
        if self.is_shared {
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

    fn judge(&self) -> Option<Held> {
        let whole = u128::from(self.most) * u128::from(self.at - self.from);
        if self.times < 2 || self.sum == 0 {
            return None;
        }
        let number = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Some(Held {
            times: self.times,
            mean: number(self.sum / u128::from(self.times)),
            most: self.most,
            limit: number(u128::from(self.most) * u128::from(self.times) * SECOND / self.sum),
            used: number(self.sum * 100 / whole),
        })
    }
}

/// Returns how each lock and each semaphore was used.
pub(super) fn held(recording: &Recording) -> HashMap<usize, Held> {
    let mut uses: HashMap<usize, Use> = HashMap::new();
    for event in &recording.events {
        let at = event.at;
        match event.what {
            What::Acquired { kind, object, .. } => {
                let is_shared = !is_exclusive(recording, kind);
                of(&mut uses, object, at, is_shared).take(at, 1);
            }
            What::Permits { object, count, .. } => {
                of(&mut uses, object, at, false).take(at, count.into());
            }
            What::Released { object } => {
                if let Some(known) = uses.get_mut(&object) {
                    known.release(at, 1);
                }
            }
            What::PermitsBack { object, count } => {
                of(&mut uses, object, at, false).release(at, count.into());
            }
            _ => {}
        }
    }
    let known = uses.into_iter();
    known
        .filter_map(|(object, one)| Some((object, one.judge()?)))
        .collect()
}

fn of(uses: &mut HashMap<usize, Use>, object: usize, at: u64, is_shared: bool) -> &mut Use {
    uses.entry(object).or_insert(Use::new(at, is_shared))
}

fn is_exclusive(recording: &Recording, kind: u8) -> bool {
    let (kind, _) = recording.kind(kind);
    kind.is_some_and(|kind| kind.semantics().mode == Mode::Lock)
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

    #[test]
    fn what_was_taken_before_counts_from_its_release() {
        let one = task(1);
        let events = format!("[12,7,0,1,{one},0,0],[18,9,3,1,{one},0,0]");
        assert!(held(&recording(r#""Mutex""#, &events)).is_empty());
    }
}
