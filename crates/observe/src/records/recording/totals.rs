//! `Totals`: how long threads and tasks have waited for an object, by kind of wait.
//!
//! They are written only when a wait ends that really slept. An object gets them with its first such
//! wait of a kind, and its block has a list of them (`kind_list.rs`), which has one or two elements.
//! When the object is dropped, its totals are added to those of all dropped objects of the kind, and
//! are used again for another object.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Kind;
use super::source_file::is_of_library;
use crate::records::kernel::kind_list::{KindList, KindNode};
use blitz_io_futex::per_process::PerProcess;

/// Number of ranges of the histogram of waits. Range 0 is below one microsecond, range `i` is from
/// 2^(i-1) to 2^i microseconds, and the last one has no upper end.
pub const WAIT_BUCKETS: usize = 28;

/// The totals of one kind of wait; see the module documentation.
pub(super) struct Totals {
    nanos: AtomicU64,
    buckets: [AtomicU64; WAIT_BUCKETS],
    /// The location of the last wait.
    location: AtomicPtr<Location<'static>>,
}

/// A copy of the time that was spent waiting for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The kind of the waits.
    pub kind: Kind,
    /// Nanoseconds in all.
    pub nanos: u64,
    /// Numbers of waits by duration; see [`WAIT_BUCKETS`].
    pub buckets: [u64; WAIT_BUCKETS],
    /// The location of the last wait.
    pub location: Option<&'static Location<'static>>,
}

/// Totals that no object has.
static FREE: PerProcess<Mutex<Vec<&'static KindNode<Totals>>>> = PerProcess::new(Mutex::default);
/// The totals of dropped objects.
static DROPPED: [Totals; Kind::ALL.len()] = [const { Totals::new() }; Kind::ALL.len()];

impl Default for Totals {
    fn default() -> Self {
        Self::new()
    }
}

impl Totals {
    const fn new() -> Self {
        Self {
            nanos: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; WAIT_BUCKETS],
            location: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Counts `weight` waits that took this long.
    pub(super) fn add(
        &self,
        nanos: u64,
        weight: u64,
        location: Option<&'static Location<'static>>,
    ) {
        self.nanos
            .fetch_add(nanos.saturating_mul(weight), Ordering::Relaxed);
        self.buckets[bucket(nanos)].fetch_add(weight, Ordering::Relaxed);
        if let Some(location) = location {
            let location = ptr::from_ref(location).cast_mut();
            self.location.store(location, Ordering::Relaxed);
        }
    }

    /// Moves the counts to `other`.
    fn move_to(&self, other: &Self) {
        let moved = self.nanos.swap(0, Ordering::Relaxed);
        other.nanos.fetch_add(moved, Ordering::Relaxed);
        for (from, to) in self.buckets.iter().zip(&other.buckets) {
            to.fetch_add(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
        self.location.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Copies the counts; `None` if no wait has been counted, or if the object is a lock of this library's own, of which the
    /// program knows nothing.
    fn copy(&self, kind: Kind) -> Option<Contention> {
        let location = self.location.load(Ordering::Relaxed);
        // SAFETY: null, or from a `&'static`.
        let location: Option<&'static Location<'static>> = unsafe { location.as_ref() };
        if location.is_some_and(|location| is_of_library(location.file())) {
            return None;
        }
        let buckets = self
            .buckets
            .each_ref()
            .map(|count| count.load(Ordering::Relaxed));
        let contention = Contention {
            kind,
            nanos: self.nanos.load(Ordering::Relaxed),
            buckets,
            location,
        };
        buckets
            .iter()
            .any(|&count| count != 0)
            .then_some(contention)
    }
}

/// Returns the range of a wait.
fn bucket(nanos: u64) -> usize {
    let micros = nanos / 1_000;
    let bits = (u64::BITS - micros.leading_zeros()) as usize;
    bits.min(WAIT_BUCKETS - 1)
}

/// Returns the totals of a kind.
pub(super) fn of(list: &KindList<Totals>, kind: Kind) -> &'static Totals {
    list.find(kind as usize)
        .unwrap_or_else(|| insert(list, kind))
}

#[cold]
fn insert(list: &KindList<Totals>, kind: Kind) -> &'static Totals {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    list.insert(kind as usize, &mut free)
}

/// The object of the list is dropped. A reader may still walk the list, and then misses some totals
/// or sees those of another object; it compares the block's generation afterwards.
pub(super) fn retire(list: &KindList<Totals>) {
    if list.is_empty() {
        return;
    }
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    list.retire(&mut free, |kind, totals| totals.move_to(&DROPPED[kind]));
}

/// Copies the totals of a list.
pub(super) fn read(list: &KindList<Totals>) -> Vec<Contention> {
    // The list may change during the walk, so take no more elements than there are kinds.
    let all = list.iter().take(Kind::ALL.len());
    all.filter_map(|(kind, totals)| totals.copy(*Kind::ALL.get(kind)?))
        .collect()
}

/// Copies the totals of the objects that were dropped, by kind.
pub(super) fn dropped() -> Vec<Contention> {
    let all = Kind::ALL.iter().zip(&DROPPED);
    all.filter_map(|(&kind, totals)| totals.copy(kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_powers_of_two_of_microseconds() {
        for (nanos, expected) in [
            (0, 0),
            (999, 0),
            (1_000, 1),
            (1_999, 1),
            (2_000, 2),
            (4_000, 3),
        ] {
            assert_eq!(bucket(nanos), expected, "{nanos}");
        }
        assert_eq!(bucket(u64::MAX), WAIT_BUCKETS - 1);
    }

    /// Returns a location outside of this library: that of the code of std which calls the function.
    fn elsewhere() -> &'static Location<'static> {
        std::iter::repeat_with(Location::caller).next().unwrap()
    }

    #[test]
    fn a_lock_of_this_library_has_no_totals() {
        let list = KindList::new();
        of(&list, Kind::ThreadMutex).add(5_000, 1, Some(Location::caller()));
        assert_eq!(read(&list), []);
        of(&list, Kind::ThreadMutex).add(5_000, 1, Some(elsewhere()));
        assert_eq!(read(&list).len(), 1);
    }

    #[test]
    fn totals_are_kept_by_kind_and_outlive_their_object() {
        let list = KindList::new();
        of(&list, Kind::Mutex).add(5_000, 1, None);
        of(&list, Kind::Read).add(500, 1, Some(elsewhere()));
        of(&list, Kind::Mutex).add(5_000, 1, None);
        let found = read(&list);
        assert_eq!(found.len(), 2);
        let mutex = found.iter().find(|c| c.kind == Kind::Mutex).unwrap();
        assert_eq!((mutex.nanos, mutex.buckets[3]), (10_000, 2));
        let read_lock = found.iter().find(|c| c.kind == Kind::Read).unwrap();
        assert_eq!(read_lock.buckets[0], 1);
        assert!(read_lock.location.is_some());
        retire(&list);
        assert_eq!(read(&list), []);
        let dropped = dropped();
        let mutex = dropped.iter().find(|c| c.kind == Kind::Mutex).unwrap();
        assert!(mutex.nanos >= 10_000 && mutex.buckets[3] >= 2, "{mutex:?}");
    }
}
