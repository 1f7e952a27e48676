//! `Totals`: how long threads and tasks have waited for an object, by kind of wait.
//!
//! They are written only when a wait ends that really slept. An object gets them with its first such
//! wait of a kind, and its block has a list of them, which has one or two elements. Their memory is
//! never freed, so a reader needs no reference to the object. When the object is dropped, its totals
//! are added to those of all dropped objects of the kind, and are used again for another object.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Kind;
use crate::PerProcess;

/// How many ranges the histogram of waits has. Range 0 is below one microsecond, range `i` is from
/// 2^(i-1) to 2^i microseconds, and the last one has no upper end.
pub const WAIT_BUCKETS: usize = 28;

/// See the head of this file.
pub(super) struct Totals {
    /// Its index in `Kind::ALL`.
    kind: AtomicUsize,
    nanos: AtomicU64,
    buckets: [AtomicU64; WAIT_BUCKETS],
    /// Where the last wait was.
    location: AtomicPtr<Location<'static>>,
    next: AtomicPtr<Totals>,
}

/// A copy of the time that was spent waiting for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The kind of the waits.
    pub kind: Kind,
    /// Nanoseconds in all.
    pub nanos: u64,
    /// How many waits took how long; see [`WAIT_BUCKETS`].
    pub buckets: [u64; WAIT_BUCKETS],
    /// Where the last wait was.
    pub location: Option<&'static Location<'static>>,
}

/// Totals that no object has.
static FREE: PerProcess<Mutex<Vec<&'static Totals>>> = PerProcess::new(Mutex::default);
/// The totals of dropped objects.
static DROPPED: [Totals; Kind::ALL.len()] = [const { Totals::new() }; Kind::ALL.len()];

impl Totals {
    const fn new() -> Self {
        Self {
            kind: AtomicUsize::new(0),
            nanos: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; WAIT_BUCKETS],
            location: AtomicPtr::new(ptr::null_mut()),
            next: AtomicPtr::new(ptr::null_mut()),
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

    /// Copies the counts; `None` if no wait has been counted.
    fn copy(&self, kind: Kind) -> Option<Contention> {
        let buckets = self
            .buckets
            .each_ref()
            .map(|count| count.load(Ordering::Relaxed));
        let location = self.location.load(Ordering::Relaxed);
        let contention = Contention {
            kind,
            nanos: self.nanos.load(Ordering::Relaxed),
            buckets,
            // SAFETY: null, or from a `&'static`.
            location: unsafe { location.as_ref() },
        };
        buckets
            .iter()
            .any(|&count| count != 0)
            .then_some(contention)
    }
}

/// The range of a wait.
fn bucket(nanos: u64) -> usize {
    let micros = nanos / 1_000;
    let bits = (u64::BITS - micros.leading_zeros()) as usize;
    bits.min(WAIT_BUCKETS - 1)
}

/// The totals of a kind in the list that begins with `first`.
pub(super) fn of(first: &AtomicPtr<Totals>, kind: Kind) -> &'static Totals {
    find(first, kind).unwrap_or_else(|| insert(first, kind))
}

fn find(first: &AtomicPtr<Totals>, kind: Kind) -> Option<&'static Totals> {
    list(first).find(|totals| totals.kind.load(Ordering::Relaxed) == kind as usize)
}

fn list(first: &AtomicPtr<Totals>) -> impl Iterator<Item = &'static Totals> {
    // SAFETY: totals are never freed.
    let get = |at: &AtomicPtr<Totals>| unsafe { at.load(Ordering::Acquire).as_ref::<'static>() };
    std::iter::successors(get(first), move |totals| get(&totals.next))
}

#[cold]
fn insert(first: &AtomicPtr<Totals>, kind: Kind) -> &'static Totals {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have inserted it; each list is changed under this lock.
    if let Some(totals) = find(first, kind) {
        return totals;
    }
    let totals = free
        .pop()
        .unwrap_or_else(|| Box::leak(Box::new(Totals::new())));
    totals.kind.store(kind as usize, Ordering::Relaxed);
    totals
        .next
        .store(first.load(Ordering::Relaxed), Ordering::Relaxed);
    first.store(ptr::from_ref(totals).cast_mut(), Ordering::Release);
    totals
}

/// The object of the list is dropped. A reader may still walk the list, and then misses some totals
/// or sees those of another object; it compares the block's generation afterwards.
pub(super) fn retire(first: &AtomicPtr<Totals>) {
    if first.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let retired: Vec<_> = list(first).collect();
    first.store(ptr::null_mut(), Ordering::Relaxed);
    for totals in retired {
        totals.move_to(&DROPPED[totals.kind.load(Ordering::Relaxed)]);
        totals.next.store(ptr::null_mut(), Ordering::Relaxed);
        free.push(totals);
    }
}

/// Copies the totals of a list.
pub(super) fn read(first: &AtomicPtr<Totals>) -> Vec<Contention> {
    // Within a list that changes meanwhile, no more than each kind.
    let all = list(first).take(Kind::ALL.len());
    all.filter_map(|totals| {
        let kind = Kind::ALL.get(totals.kind.load(Ordering::Relaxed))?;
        totals.copy(*kind)
    })
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

    #[test]
    fn totals_are_kept_by_kind_and_outlive_their_object() {
        let first = AtomicPtr::new(ptr::null_mut());
        of(&first, Kind::Mutex).add(5_000, 1, None);
        of(&first, Kind::Read).add(500, 1, Some(Location::caller()));
        of(&first, Kind::Mutex).add(5_000, 1, None);
        let found = read(&first);
        assert_eq!(found.len(), 2);
        let mutex = found.iter().find(|c| c.kind == Kind::Mutex).unwrap();
        assert_eq!((mutex.nanos, mutex.buckets[3]), (10_000, 2));
        let read_lock = found.iter().find(|c| c.kind == Kind::Read).unwrap();
        assert_eq!(read_lock.buckets[0], 1);
        assert!(read_lock.location.is_some());
        retire(&first);
        assert_eq!(read(&first), []);
        let dropped = dropped();
        let mutex = dropped.iter().find(|c| c.kind == Kind::Mutex).unwrap();
        assert!(mutex.nanos >= 10_000 && mutex.buckets[3] >= 2, "{mutex:?}");
    }
}
