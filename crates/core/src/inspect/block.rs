//! `Object`: the facts about a primitive, in memory that is never freed.
//!
//! A record may outlive its object (a future may be leaked, and the object moved or dropped), so
//! it has no pointer to it. It points to the object's [`Block`], which comes from a pool and
//! returns there. The generation of a block tells its objects apart.

use std::panic::{Location, UnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use super::kind_list::KindList;
use super::polled;
use super::slot::{Reader, Reading, Slot};
use super::totals::{self, Totals};
use super::{Contention, Fill, Filled, Kind, Waiter};
use crate::{PerProcess, debug_is_name};

/// How many readers, or members of a set, a block names.
pub const NAMES: usize = 8;

/// See `slot.rs`.
pub(super) static READER: Reader = Reader::new();

/// In `holder`: the guard may have moved to another task since.
const MOVABLE: u64 = 1 << 63;
/// In `holder`, with `MOVABLE`: the holder keeps writers out, but not readers.
const BESIDE_READERS: u64 = 1 << 61;
/// In `holder`, with the address in a waker: a release has handed the object to the future that kept this
/// waker, and that has not been polled since.
const HANDED: u64 = 1 << 62;

/// The word of `holder` while the future with this waker has the object.
fn handed(waker: usize) -> u64 {
    HANDED | waker as u64 & (HANDED - 1)
}

/// A field of a primitive.
pub struct Object {
    block: AtomicPtr<Block>,
}

/// The facts about one object.
pub struct Block {
    generation: AtomicU32,
    /// How many readers are not among `readers`; a reader that another task has released is
    /// counted until the lock has no readers.
    unnamed: AtomicU32,
    holder: AtomicU64,
    /// Each task or thread has a place of its own, which it shares with one in eight others, and
    /// writes without a read-modify-write operation. If two of these race, the name of one is lost
    /// until it releases the lock; a name that is there is that of a reader.
    readers: [AtomicU64; NAMES],
    sender: AtomicU64,
    receiver: AtomicU64,
    name: AtomicPtr<&'static str>,
    /// See `totals.rs`.
    totals: KindList<Totals>,
    /// Set while a channel can be asked how full it is. Its last receiver, or its last sender, owns the slot.
    fill: Slot<Probe>,
    /// The block that was made before this one.
    older: *const Block,
}

debug_is_name!(impl Object);

// A primitive of threads must not lose the trait by this field. The facts are words of their own: a panic
// breaks no invariant of them.
impl UnwindSafe for Object {}

// SAFETY: `older` is written before the block is shared, and leads to a block that is never freed.
unsafe impl Sync for Block {}
// SAFETY: `older` leads to a block that is never freed, which any thread may read.
unsafe impl Send for Block {}

/// Reads how full a channel is.
#[derive(Clone, Copy)]
struct Probe {
    channel: *const (),
    read: unsafe fn(*const ()) -> Fill,
}

// SAFETY: the owner of the slot, which the pointer's target outlives, promises that any thread may read
// it.
unsafe impl Send for Probe {}

/// # Safety
///
/// The pointer is to a `C` that exists.
unsafe fn fill_of<C: Filled>(channel: *const ()) -> Fill {
    // SAFETY: as the caller promises. `fill` may be called by any thread.
    unsafe { &*channel.cast::<C>() }.fill()
}

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
    /// Identifies the waker of the future that a release has handed the object to; 0 if there is none.
    handed: u64,
    /// The readers that are known; of a `JoinSet`, its tasks.
    pub readers: Vec<Waiter>,
    /// How many readers are not known; of a `JoinSet`, whether its tasks are not known.
    pub unnamed: u32,
    /// The last one to send.
    pub sender: Option<Waiter>,
    /// The last one to receive.
    pub receiver: Option<Waiter>,
}

impl Facts {
    /// Whether a release has handed the object to a future that keeps the waker with this address.
    #[must_use]
    pub fn is_handed_to(&self, waker: usize) -> bool {
        waker != 0 && self.handed == handed(waker)
    }
}

/// All blocks, from the youngest on. They are added under the lock of `POOL`.
static BLOCKS: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());
static POOL: PerProcess<Mutex<Vec<&'static Block>>> = PerProcess::new(Mutex::default);

impl Object {
    /// Creates an object without facts.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            block: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the block.
    #[inline]
    pub(super) fn block(&self) -> &'static Block {
        let block = self.block.load(Ordering::Acquire);
        if block.is_null() {
            return self.first_block();
        }
        // SAFETY: blocks are never freed.
        unsafe { &*block }
    }

    /// Returns the block, and the current task or thread.
    #[inline]
    fn block_and_waiter(&self) -> (&'static Block, Waiter) {
        let block = self.block.load(Ordering::Acquire);
        // SAFETY: null, or that of a block. Blocks are never freed.
        match (unsafe { block.as_ref() }, Waiter::if_known()) {
            (Some(block), Some(waiter)) => (block, waiter),
            _ => self.first_use(),
        }
    }

    /// The word of the current task or thread, and its place among the readers, unless it is the first use
    /// of the object, or of any object in this thread.
    #[inline]
    fn own_place(&self) -> Option<(&'static AtomicU64, u64)> {
        let block = self.block.load(Ordering::Acquire);
        // SAFETY: null, or that of a block. Blocks are never freed.
        let (block, waiter) = (unsafe { block.as_ref() }?, Waiter::if_known()?);
        Some((block.place_of(waiter), waiter.word()))
    }

    /// The block and the waiter in the first use of the object, or of any object in this thread.
    #[cold]
    #[inline(never)]
    fn first_use(&self) -> (&'static Block, Waiter) {
        (self.block(), Waiter::current())
    }

    #[cold]
    fn first_block(&self) -> &'static Block {
        let new = Block::take();
        let place = ptr::from_ref(new).cast_mut();
        match self.block.compare_exchange(
            ptr::null_mut(),
            place,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => new,
            Err(other) => {
                new.put_back();
                // SAFETY: blocks are never freed.
                unsafe { &*other }
            }
        }
    }

    /// Returns the number that identifies the object while it exists: [`Facts::id`].
    #[must_use]
    pub fn id(&self) -> u64 {
        self.block().id()
    }

    /// The current task or thread has the object exclusively.
    #[inline]
    pub fn acquired(&self) {
        let (block, waiter) = self.block_and_waiter();
        block.holder.store(waiter.word(), Ordering::Relaxed);
    }

    /// The same, with a guard that may move to another task.
    #[inline]
    pub fn acquired_movable(&self) {
        let (block, waiter) = self.block_and_waiter();
        let holder = waiter.word() | MOVABLE;
        block.holder.store(holder, Ordering::Relaxed);
    }

    /// The holder of `other` has this object exclusively, too.
    #[inline]
    pub fn acquired_by_holder_of(&self, other: &Self) {
        let holder = other.block().holder.load(Ordering::Relaxed);
        self.block().holder.store(holder, Ordering::Relaxed);
    }

    /// The current task or thread has the object, and keeps only some of the waiters out.
    #[inline]
    pub fn acquired_beside_readers(&self) {
        let (block, waiter) = self.block_and_waiter();
        let holder = waiter.word() | MOVABLE | BESIDE_READERS;
        block.holder.store(holder, Ordering::Relaxed);
    }

    /// The object is about to be released.
    #[inline]
    pub fn released(&self) {
        self.block().holder.store(0, Ordering::Relaxed);
    }

    /// The current task or thread has the object beside others.
    #[inline]
    pub fn acquired_shared(&self) {
        match self.own_place() {
            Some((own, word)) if own.load(Ordering::Relaxed) == 0 => {
                own.store(word, Ordering::Relaxed);
            }
            _ => self.acquired_shared_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn acquired_shared_slowly(&self) {
        let (block, waiter) = self.first_use();
        let own = block.place_of(waiter);
        if own.load(Ordering::Relaxed) == 0 {
            own.store(waiter.word(), Ordering::Relaxed);
        } else {
            block.add_reader(waiter.word());
        }
    }

    /// The object is about to be released by one of those that share it.
    #[inline]
    pub fn released_shared(&self) {
        match self.own_place() {
            Some((own, word)) if own.load(Ordering::Relaxed) == word => {
                own.store(0, Ordering::Relaxed);
            }
            _ => self.released_shared_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn released_shared_slowly(&self) {
        let (block, waiter) = self.first_use();
        let own = block.place_of(waiter);
        if own.load(Ordering::Relaxed) == waiter.word() {
            own.store(0, Ordering::Relaxed);
        } else {
            block.remove_reader(waiter.word());
        }
    }

    /// The object has one more reader, whose guard may move to another task.
    #[inline]
    pub fn acquired_shared_movable(&self) {
        self.block().unnamed.fetch_add(1, Ordering::Relaxed);
    }

    /// The current task has the object beside others. Outside of a task, the thread is only counted: it may
    /// poll a task of another library.
    pub fn acquired_shared_by_task(&self) {
        if Waiter::current().is_task() {
            self.acquired_shared();
        } else {
            self.acquired_shared_movable();
        }
    }

    /// The object, which has no exclusive holder, is about to be handed to the future that keeps this
    /// waker. The lock of the queue orders this before the future's next poll.
    pub fn handed_over(&self, waker: &Waker) {
        let holder = &self.block().holder;
        let word = holder.load(Ordering::Relaxed);
        if word == 0 || word & HANDED != 0 {
            holder.store(handed(waker.data().addr()), Ordering::Relaxed);
        }
    }

    /// A future to which the object was handed is polled, or dropped.
    pub fn hand_over_ended(&self) {
        let holder = &self.block().holder;
        let word = holder.load(Ordering::Relaxed);
        if word & HANDED != 0 {
            // If this fails, another future has the object.
            _ = holder.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The object is about to be released by its exclusive holder, or else by a reader.
    #[inline]
    pub fn released_by_any(&self) {
        let holder = self.block().holder.load(Ordering::Relaxed);
        if holder == 0 || holder & HANDED != 0 {
            self.released_shared();
        } else {
            self.released();
        }
    }

    /// The exclusive holder shares the object from now on.
    #[inline]
    pub fn downgraded(&self) {
        self.released();
        self.acquired_shared();
    }

    /// The object is a set of tasks that waits for one of these to end. 0 is no task; `None`: they are
    /// too many.
    pub fn set_members(&self, tasks: Option<[u64; NAMES]>) {
        let block = self.block();
        block
            .unnamed
            .store(u32::from(tasks.is_none()), Ordering::Relaxed);
        for (place, id) in block.readers.iter().zip(tasks.unwrap_or_default()) {
            let word = if id == 0 { 0 } else { Waiter::task(id).word() };
            place.store(word, Ordering::Relaxed);
        }
    }

    /// The current task or thread has sent.
    ///
    /// # Safety
    ///
    /// [`set_fill`](Self::set_fill) was called before.
    #[inline]
    pub unsafe fn used_by_sender(&self) {
        // SAFETY: as the caller promises.
        note_user(&unsafe { self.known_block() }.sender);
    }

    /// The current task or thread has received.
    ///
    /// # Safety
    ///
    /// [`set_fill`](Self::set_fill) was called before.
    #[inline]
    pub unsafe fn used_by_receiver(&self) {
        // SAFETY: as the caller promises.
        note_user(&unsafe { self.known_block() }.receiver);
    }

    /// # Safety
    ///
    /// The object has a block.
    #[inline]
    unsafe fn known_block(&self) -> &'static Block {
        // SAFETY: as the caller promises. Blocks are never freed.
        unsafe { &*self.block.load(Ordering::Acquire) }
    }

    /// Gives the object a name for reports. The name is kept until the process ends.
    pub fn set_name(&self, name: &'static str) {
        let name = Box::into_raw(Box::new(name));
        self.block().name.store(name, Ordering::Release);
    }

    /// From now on, reports show how full the channel is.
    ///
    /// # Safety
    ///
    /// The channel exists until [`clear_fill`](Self::clear_fill). The caller owns the fill of this object,
    /// which is not set.
    #[inline]
    pub unsafe fn set_fill<C: Filled>(&self, channel: *const C) {
        let probe = Probe {
            channel: channel.cast(),
            read: fill_of::<C>,
        };
        // SAFETY: the caller owns the slot, which is not set.
        unsafe { self.block().fill.set(probe) };
    }

    /// Undoes [`set_fill`](Self::set_fill), if it was called.
    ///
    /// # Safety
    ///
    /// The caller owns the fill of this object.
    #[inline]
    pub unsafe fn clear_fill(&self) {
        let fill = &self.block().fill;
        if fill.is_set() {
            // SAFETY: the caller owns the slot, which is set.
            unsafe { fill.clear(&READER) };
        }
    }
}

/// Writes only a change: the ends of a channel are often in two threads, and share the cache line.
#[inline]
fn note_user(place: &AtomicU64) {
    // The word of a thread that has never asked for its own is not stored, and so differs.
    if place.load(Ordering::Relaxed) != polled::current() {
        note_new_user(place);
    }
}

#[inline(never)]
fn note_new_user(place: &AtomicU64) {
    place.store(Waiter::current().word(), Ordering::Relaxed);
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let block = *self.block.get_mut();
        if !block.is_null() {
            // SAFETY: blocks are never freed.
            unsafe { &*block }.put_back();
        }
    }
}

impl Block {
    fn take() -> &'static Self {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_else(|| {
            let new: &'static Self = Box::leak(Box::new(Self {
                generation: AtomicU32::new(0),
                unnamed: AtomicU32::new(0),
                holder: AtomicU64::new(0),
                readers: [const { AtomicU64::new(0) }; NAMES],
                sender: AtomicU64::new(0),
                receiver: AtomicU64::new(0),
                name: AtomicPtr::new(ptr::null_mut()),
                totals: KindList::new(),
                fill: Slot::new(),
                older: BLOCKS.load(Ordering::Relaxed),
            }));
            BLOCKS.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
            new
        })
    }

    /// A wait for the object, which really slept and stands for `weight` waits, has ended after some
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

    fn put_back(&'static self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.unnamed.store(0, Ordering::Relaxed);
        let words = [&self.holder, &self.sender, &self.receiver];
        for word in words.into_iter().chain(&self.readers) {
            word.store(0, Ordering::Relaxed);
        }
        self.name.store(ptr::null_mut(), Ordering::Relaxed);
        totals::retire(&self.totals);
        POOL.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    /// The place that a reader tries first.
    #[inline]
    fn place_of(&self, reader: Waiter) -> &AtomicU64 {
        &self.readers[reader.number() as usize % NAMES]
    }

    /// Names a reader whose own place is taken, or else counts it.
    #[cold]
    fn add_reader(&self, word: u64) {
        if !self.replace_reader(0, word) {
            self.unnamed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A reader leaves that is not named in its own place.
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

    /// A reader whose name is not there leaves. If it was named under another task, that name
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

    fn id(&'static self) -> u64 {
        ptr::from_ref(self).addr() as u64
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
        let name = self.name.load(Ordering::Acquire);
        Facts {
            id: self.id(),
            // SAFETY: names are never freed.
            name: unsafe { name.as_ref() }.copied(),
            holder: Waiter::from_word(holder & !(MOVABLE | BESIDE_READERS))
                .filter(|_| holder & HANDED == 0),
            is_movable: holder & (MOVABLE | HANDED) == MOVABLE,
            is_beside_readers: holder & (BESIDE_READERS | HANDED) == BESIDE_READERS,
            handed: if holder & HANDED == 0 { 0 } else { holder },
            readers: self.readers.iter().filter_map(waiter).collect(),
            unnamed: self.unnamed.load(Ordering::Relaxed),
            sender: waiter(&self.sender),
            receiver: waiter(&self.receiver),
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

/// Copies the objects for which a wait has ended, and the channels.
pub(super) fn objects(reading: &Reading<'_>) -> Vec<ObjectRecord> {
    let mut found = Vec::new();
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
            found.push(ObjectRecord {
                facts,
                contention,
                fill,
            });
        }
    }
    found
}
