//! `Block`: the facts about a primitive, in memory that is never freed.
//!
//! A record may outlive its object (a future may be leaked, and the object moved or dropped), so
//! it has no pointer to it. It points to the object's block, which comes from a pool and
//! returns there. The generation of a block tells its objects apart.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use super::given::has_given;
use super::totals::{self, Totals};
use super::{Contention, Fill, Kind, Origin, Waiter};
use crate::records::kernel::kind_list::KindList;
use crate::records::kernel::slot::{Reader, Reading, Slot};
use blitz_io_futex::per_process::PerProcess;

/// The greatest number of readers, or members of a set, that a block names.
pub const NAMES: usize = 8;

/// See `slot.rs`.
pub(super) static READER: Reader = Reader::new();

/// Set in `holder`, or in the word of one of `readers` that has permits, if the guard may have moved to another task since.
pub(super) const MOVABLE: u64 = 1 << 63;
/// Set in `holder`, beside `MOVABLE`, if the holder keeps writers out, but not readers.
pub(super) const BESIDE_READERS: u64 = 1 << 61;
/// Set in `owner` if the children of a scope may borrow from it.
pub(super) const LENDS: u64 = 1 << 63;

/// The facts about one object.
pub struct Block {
    generation: AtomicU32,
    /// Number of readers that are not among `readers`. A reader that another task has released is
    /// counted until the lock has no readers.
    pub(super) unnamed: AtomicU32,
    pub(super) holder: AtomicU64,
    /// An address in a waker, or 0. The object, or one of its permits, notifications or places, was handed to
    /// the future that kept this waker, and that has not been polled since. Of several such futures, it
    /// is the last one.
    pub(super) handed: AtomicUsize,
    /// Each task or thread has a place of its own, which it shares with one in eight others, and
    /// writes without a read-modify-write operation. If two of these race, the name of one is lost
    /// until it releases the lock. A name in the array is always that of a reader.
    pub(super) readers: [AtomicU64; NAMES],
    pub(super) sender: AtomicU64,
    pub(super) receiver: AtomicU64,
    /// The words of the object's [`Origin`].
    pub(super) maker: AtomicU64,
    pub(super) made: AtomicU64,
    /// The word of the task or thread that awaits a scope (`scope.rs`), or 0.
    pub(super) owner: AtomicU64,
    /// Number of tasks or threads that meet at a barrier, or 0.
    pub(super) parties: AtomicU32,
    pub(super) name: AtomicPtr<&'static str>,
    /// The location at which the object was taken last, or null.
    pub(super) taken_at: AtomicPtr<Location<'static>>,
    /// The location at which the object was created, or null.
    pub(super) created_at: AtomicPtr<Location<'static>>,
    /// See `totals.rs`.
    totals: KindList<Totals>,
    /// Set while reports can read the fill of a channel. The last receiver or the last sender owns the slot.
    pub(super) fill: Slot<Probe>,
    /// The block that was made before this one.
    older: *const Block,
}

// SAFETY: `older` is written before the block is shared, and leads to a block that is never freed.
unsafe impl Sync for Block {}
// SAFETY: `older` leads to a block that is never freed, which any thread may read.
unsafe impl Send for Block {}

/// Reads how full a channel is.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    pub(super) channel: *const (),
    pub(super) read: unsafe fn(*const ()) -> Fill,
}

// SAFETY: the owner of the slot, which the pointer's target outlives, promises that any thread may read
// it.
unsafe impl Send for Probe {}

/// A copy of a [`Block`].
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// Identifies the object, as long as it lives.
    pub id: u64,
    /// The name that the program gave it.
    pub name: Option<&'static str>,
    /// The thread or task that has it exclusively.
    pub holder: Option<Waiter>,
    /// The guard may have moved away from the holder.
    pub is_movable: bool,
    /// The holder keeps writers out, but not readers.
    pub is_beside_readers: bool,
    /// The holder has ended, with a value that may have the guard.
    pub is_given: bool,
    /// The location at which the object was taken last, if it is known.
    pub taken_at: Option<&'static Location<'static>>,
    /// The location at which the object was created, if it is known.
    pub created_at: Option<&'static Location<'static>>,
    /// The address in the waker of the future that the object was handed to; 0 if there is none.
    handed: usize,
    /// The readers that are known; of a set of tasks, its members; of a semaphore, a waiter for each guard with permits.
    pub readers: Vec<Waiter>,
    /// Each of them keeps its guard, if it is a semaphore's: a guard with permits that may have moved is not among them.
    pub are_kept: bool,
    /// Number of readers, or members of a set, that are not known.
    pub unnamed: u32,
    /// Number of tasks or threads that meet at a barrier, or 0.
    pub parties: u32,
    /// The task or thread that has sent last.
    pub sender: Option<Waiter>,
    /// The last one to receive.
    pub receiver: Option<Waiter>,
    /// The origin, if it is known.
    pub origin: Option<Origin>,
}

impl Facts {
    /// Returns `true` if the object was handed to a future that keeps the waker with this address.
    #[must_use]
    pub fn is_handed_to(&self, waker: usize) -> bool {
        waker != 0 && self.handed == waker
    }
}

/// All blocks, from the youngest on. They are added under the lock of `POOL`.
static BLOCKS: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());
static POOL: PerProcess<Mutex<Vec<&'static Block>>> = PerProcess::new(Mutex::default);

impl Block {
    /// Returns a block without facts.
    pub(super) fn take() -> &'static Self {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_else(|| {
            let new: &'static Self = Box::leak(Box::new(Self {
                generation: AtomicU32::new(0),
                unnamed: AtomicU32::new(0),
                holder: AtomicU64::new(0),
                handed: AtomicUsize::new(0),
                readers: [const { AtomicU64::new(0) }; NAMES],
                sender: AtomicU64::new(0),
                receiver: AtomicU64::new(0),
                maker: AtomicU64::new(0),
                made: AtomicU64::new(0),
                owner: AtomicU64::new(0),
                parties: AtomicU32::new(0),
                name: AtomicPtr::new(ptr::null_mut()),
                taken_at: AtomicPtr::new(ptr::null_mut()),
                created_at: AtomicPtr::new(ptr::null_mut()),
                totals: KindList::new(),
                fill: Slot::new(),
                older: BLOCKS.load(Ordering::Relaxed),
            }));
            BLOCKS.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
            new
        })
    }

    /// Counts a wait for the object that really slept, stands for `weight` waits, and has ended after some
    /// nanoseconds.
    pub(super) fn waited(
        &self,
        kind: Kind,
        nanos: u64,
        weight: u64,
        location: Option<&'static Location<'static>>,
    ) {
        totals::of(&self.totals, kind).add(nanos, weight, location);
    }

    /// Makes the block free: the object does not exist any more.
    pub(super) fn put_back(&'static self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.unnamed.store(0, Ordering::Relaxed);
        self.parties.store(0, Ordering::Relaxed);
        let words = [
            &self.holder,
            &self.sender,
            &self.receiver,
            &self.maker,
            &self.owner,
        ];
        for word in words.into_iter().chain(&self.readers) {
            word.store(0, Ordering::Relaxed);
        }
        self.handed.store(0, Ordering::Relaxed);
        self.name.store(ptr::null_mut(), Ordering::Relaxed);
        self.taken_at.store(ptr::null_mut(), Ordering::Relaxed);
        self.created_at.store(ptr::null_mut(), Ordering::Relaxed);
        totals::retire(&self.totals);
        POOL.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    /// Returns the place that a reader tries first.
    #[inline]
    pub(super) fn place_of(&self, reader: Waiter) -> &AtomicU64 {
        &self.readers[reader.number() as usize % NAMES]
    }

    /// Names a reader by this word, in its own place if that is free.
    #[inline]
    pub(super) fn add(&self, reader: Waiter, word: u64) {
        let own = self.place_of(reader);
        if own.load(Ordering::Relaxed) == 0 {
            own.store(word, Ordering::Relaxed);
        } else {
            self.add_reader(word);
        }
    }

    /// Removes a reader that [`add`](Self::add) has named by this word.
    #[inline]
    pub(super) fn remove(&self, reader: Waiter, word: u64) {
        let own = self.place_of(reader);
        if own.load(Ordering::Relaxed) == word {
            own.store(0, Ordering::Relaxed);
        } else {
            self.remove_reader(word);
        }
    }

    /// Names a reader whose own place is taken, or else counts it.
    #[cold]
    fn add_reader(&self, word: u64) {
        if !self.replace_reader(0, word) {
            self.unnamed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes a reader that is not named in its own place.
    #[cold]
    fn remove_reader(&self, word: u64) {
        if !self.replace_reader(word, 0) {
            self.forget_reader();
        }
    }

    /// Replaces one word of `readers`, and returns whether there was one.
    fn replace_reader(&self, old: u64, new: u64) -> bool {
        self.readers.iter().any(|place| {
            place.load(Ordering::Relaxed) == old
                && place
                    .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
        })
    }

    /// Removes a reader whose name is not in `readers`. If it was named under another task, that name
    /// would stay, so all names are given up: the count alone is right.
    #[cold]
    fn forget_reader(&self) {
        let fewer = |count: u32| count.checked_sub(1);
        let counted = self
            .unnamed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        if counted.is_err() {
            let mut named = 0;
            for place in &self.readers {
                named += u32::from(place.swap(0, Ordering::Relaxed) != 0);
            }
            self.unnamed
                .fetch_add(named.saturating_sub(1), Ordering::Relaxed);
        }
    }

    /// Returns [`Facts::id`].
    pub(super) fn id(&'static self) -> u64 {
        ptr::from_ref(self).addr() as u64
    }

    /// Returns the word of the exclusive holder, or 0.
    pub(super) fn holder_word(&self) -> u64 {
        self.holder.load(Ordering::Relaxed) & !(MOVABLE | BESIDE_READERS)
    }

    /// Returns the location at which the object was taken last, if it is known.
    pub(super) fn taken_at(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or from a `&'static`.
        unsafe { self.taken_at.load(Ordering::Relaxed).as_ref() }
    }

    /// Returns the location at which the object was created, if it is known.
    pub(super) fn created_at(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or from a `&'static`.
        unsafe { self.created_at.load(Ordering::Relaxed).as_ref() }
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns whether the facts and totals that were copied before are those of the object with this
    /// generation.
    pub(super) fn is_still(&self, generation: u32) -> bool {
        // Keeps the loads of the facts before that of the generation.
        fence(Ordering::Acquire);
        self.generation() == generation
    }

    /// Copies the facts.
    #[must_use]
    pub(super) fn facts(&'static self) -> Facts {
        let holder = self.holder.load(Ordering::Relaxed);
        let waiter = |word: &AtomicU64| Waiter::from_word(word.load(Ordering::Relaxed));
        let readers = self.readers.iter();
        let readers: Vec<u64> = readers.map(|word| word.load(Ordering::Relaxed)).collect();
        let reader = |word: &u64| Waiter::from_word(word & !MOVABLE);
        let name = self.name.load(Ordering::Acquire);
        // Orders the number, which is written first.
        let maker = self.maker.load(Ordering::Acquire);
        Facts {
            id: self.id(),
            // SAFETY: names are never freed.
            name: unsafe { name.as_ref() }.copied(),
            holder: Waiter::from_word(holder & !(MOVABLE | BESIDE_READERS)),
            is_given: has_given(holder & !(MOVABLE | BESIDE_READERS)),
            is_movable: holder & MOVABLE != 0,
            is_beside_readers: holder & BESIDE_READERS != 0,
            taken_at: self.taken_at(),
            created_at: self.created_at(),
            handed: self.handed.load(Ordering::Relaxed),
            are_kept: readers.iter().all(|word| word & MOVABLE == 0),
            readers: readers.iter().filter_map(reader).collect(),
            unnamed: self.unnamed.load(Ordering::Relaxed),
            parties: self.parties.load(Ordering::Relaxed),
            sender: waiter(&self.sender),
            receiver: waiter(&self.receiver),
            origin: Some(Origin::of_words(maker, self.made.load(Ordering::Relaxed)))
                .filter(|_| maker != 0),
        }
    }
}

/// A copy of the facts and figures of an object, with or without waiters.
#[derive(Clone, Debug)]
pub struct ObjectRecord {
    /// Its holders and its name.
    pub facts: Facts,
    /// The time that was spent waiting for it.
    pub contention: Vec<Contention>,
    /// How full it is, for a channel.
    pub fill: Option<Fill>,
}

/// Copies the objects for which a wait has ended, and the channels, one after another.
pub(super) fn for_each_object(reading: &Reading<'_>, mut f: impl FnMut(ObjectRecord)) {
    let mut next: *const Block = BLOCKS.load(Ordering::Acquire);
    // SAFETY: blocks are never freed.
    while let Some(block) = unsafe { next.as_ref() } {
        next = block.older;
        let generation = block.generation();
        // SAFETY: the promise of the slot's owner holds while the slot is read.
        let read = |probe: &Probe| unsafe { (probe.read)(probe.channel) };
        let fill = reading.read(&block.fill, read);
        let contention = totals::read(&block.totals);
        if fill.is_none() && contention.is_empty() {
            continue;
        }
        let facts = block.facts();
        if block.is_still(generation) {
            f(ObjectRecord {
                facts,
                contention,
                fill,
            });
        }
    }
}
