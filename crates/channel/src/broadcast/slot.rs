//! One place of the ring. What may be done with it when is said in `mod.rs`.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use blitz_futex::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use blitz_sync::internals::{EventSpin, ListLock, fences, yield_now};

use super::mutant::{Mutant, active};
use blitz_sync::internals::Watched;

/// What a panic said.
type Panic = Box<dyn Any + Send>;

/// The stamp of a slot that has not been written yet.
const NEVER: u64 = u64::MAX;

const IDLE: u8 = 0;
const TAKING: u8 = 1;

/// Whether a value has ever been overwritten before all had got it. From then on
/// the last receiver takes its value under the lock, like everybody else.
pub(super) struct Lag(AtomicU8);

const NEVER_LAGGED: u8 = 0;
/// Somebody is about to overwrite a value. Receivers may not know yet.
const SAID: u8 = 1;
/// Everybody knows: no one takes a value without the lock any more, except those
/// who said before that they do.
const KNOWN: u8 = 2;

impl Lag {
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(NEVER_LAGGED))
    }

    #[inline]
    fn is_unheard_of(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NEVER_LAGGED
    }

    /// Lets everybody know, once in the life of a channel.
    pub(super) fn announce(&self) {
        if self.0.load(Ordering::Acquire) != KNOWN {
            self.0.store(SAID, Ordering::SeqCst);
            if !active(Mutant::LagsWithoutFence) {
                fences::heavy();
            }
            self.0.store(KNOWN, Ordering::Release);
        }
    }
}

pub(super) struct Slot<T> {
    /// Which value it is: its position in the order of sending.
    stamp: AtomicU64,
    /// How many receivers have yet to get it. Zero: there is no value.
    unread: AtomicU32,
    /// Held by whoever uses an unread value: to clone it, to take it out, or to
    /// put another in its place.
    lock: ListLock,
    /// The last receiver takes the value out without the lock, or is about to:
    /// [`IDLE`] or [`TAKING`].
    taker: AtomicU8,
    value: Watched<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Self {
        Self {
            stamp: AtomicU64::new(NEVER),
            unread: AtomicU32::new(0),
            lock: ListLock::new(),
            taker: AtomicU8::new(IDLE),
            value: Watched::new(MaybeUninit::uninit()),
        }
    }

    /// Whether the value of this position has been put in, and no later one.
    #[inline]
    pub(super) fn holds(&self, position: u64) -> bool {
        self.stamp.load(Ordering::Acquire) == position
    }

    /// Whether nobody has yet to get the value. Whoever has got it is done with it.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.unread.load(Ordering::Acquire) == 0
    }

    /// Runs `with` while no receiver uses the value. That there is lag must have
    /// been announced.
    pub(super) fn locked<R>(&self, with: impl FnOnce() -> R) -> R {
        self.await_taker();
        if active(Mutant::OverwritesUnlocked) {
            return with();
        }
        self.lock.locked(with)
    }

    /// Waits for a receiver that takes the value out without the lock. It copies a
    /// few bytes, or notices the lag and changes its mind, and runs no code but ours.
    #[inline]
    fn await_taker(&self) {
        if self.taker.load(Ordering::SeqCst) != IDLE && !active(Mutant::IgnoresTaker) {
            self.await_taker_slow();
        }
    }

    #[cold]
    fn await_taker_slow(&self) {
        let mut spin = EventSpin::new();
        while self.taker.load(Ordering::Acquire) != IDLE && !self.is_spent() {
            if !spin.turn() {
                yield_now();
            }
        }
    }

    /// Takes the value out, if there still is one.
    ///
    /// # Safety
    ///
    /// The slot is locked, and is filled before it is unlocked.
    pub(super) unsafe fn evict(&self) -> Option<T> {
        // SAFETY: there is a value as long as somebody has yet to get it, and the
        // lock keeps others away. `fill` follows, so it is read out once.
        (!self.is_spent()).then(|| unsafe { self.read_out() })
    }

    /// Puts a value in. It can be received after [`announce`](Slot::announce).
    ///
    /// # Safety
    ///
    /// The caller holds the tail's lock. The slot is spent, or it is locked and
    /// its value has been evicted.
    #[inline]
    pub(super) unsafe fn fill(&self, value: T, receivers: u32) {
        self.value.with_mut(|place| {
            // SAFETY: nobody reads a value that is spent. Where one has just been
            // evicted, we have the lock, and no receiver goes without it any more.
            unsafe { (*place).write(value) };
        });
        self.taker.store(IDLE, Ordering::Relaxed);
        self.unread.store(receivers, Ordering::Relaxed);
    }

    /// Lets receivers see the value that has been put in.
    #[inline]
    pub(super) fn announce(&self, position: u64) {
        let order = match active(Mutant::RelaxedStamp) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.stamp.store(position, order);
    }

    /// Gets the value of this position for one of the receivers that have yet to
    /// get it: the last one takes it, the others clone it. `None` if it has been
    /// overwritten. If the clone panics, so does this; the value counts as got.
    ///
    /// The slot has been seen to hold the value of this position.
    #[inline]
    pub(super) fn get(&self, position: u64, lag: &Lag, count: impl FnOnce()) -> Option<T>
    where
        T: Clone,
    {
        if self.unread.load(Ordering::Acquire) == 1 && lag.is_unheard_of() {
            if let Some(value) = self.take(lag) {
                count();
                return Some(value);
            }
        }
        self.get_locked(position, count)
    }

    /// Takes the value out without the lock, if no value has ever been overwritten
    /// in this channel. The caller was the last who had yet to get it.
    #[inline]
    fn take(&self, lag: &Lag) -> Option<T> {
        let lagged = fences::publish(&self.taker, TAKING, &lag.0);
        if lagged != NEVER_LAGGED && !active(Mutant::TakesInSpiteOfLag) {
            self.taker.store(IDLE, Ordering::Release);
            return None;
        }
        // SAFETY: nothing has been overwritten, so we still have yet to get this
        // value, and nobody else has. A sender that wants to overwrite it has seen,
        // or will see, that we are here, and waits for the farewell.
        let value = unsafe { self.read_out() };
        self.leave(1);
        Some(value)
    }

    #[inline]
    fn get_locked(&self, position: u64, count: impl FnOnce()) -> Option<T>
    where
        T: Clone,
    {
        // Apart from each other, they stay in registers.
        let (mut value, mut panic) = (None, None);
        let is_there = self.lock.locked(|| {
            let Some(unread) = self.unread_of(position) else {
                return false;
            };
            if unread == 1 {
                // SAFETY: we are the last who may use it, hold the lock, and say
                // below that it has gone.
                value = Some(unsafe { self.read_out() });
            } else {
                match self.clone_value() {
                    Ok(clone) => value = Some(clone),
                    Err(payload) => panic = Some(payload),
                }
            }
            self.leave(unread);
            true
        });
        if is_there {
            count();
        }
        if let Some(payload) = panic {
            go_on(payload);
        }
        value
    }

    /// Gives up the value of this position, if it has not been overwritten. The
    /// last one returns it, to be dropped where no lock is held.
    pub(super) fn renounce(&self, position: u64) -> Option<T> {
        self.lock.locked(|| {
            let unread = self.unread_of(position)?;
            // SAFETY: as above.
            let value = (unread == 1).then(|| unsafe { self.read_out() });
            self.leave(unread);
            value
        })
    }

    /// How many have yet to get the value of this position, when the slot is
    /// locked. `None` if it has been overwritten.
    #[inline]
    fn unread_of(&self, position: u64) -> Option<u32> {
        // The lock orders us after a sender that overwrites an unread value. One
        // that fills a spent slot is seen by the stamp, which then is not ours.
        let same = self.stamp.load(Ordering::Relaxed) == position;
        let same = same || active(Mutant::TrustsFirstLook);
        same.then(|| self.unread.load(Ordering::Relaxed))
    }

    /// One of those who had yet to get the value is done with it. From the last
    /// farewell on, a sender may fill the slot without its lock.
    #[inline]
    fn leave(&self, unread: u32) {
        let order = match active(Mutant::RelaxedFarewell) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.unread.store(unread - 1, order);
    }

    #[inline]
    fn clone_value(&self) -> Result<T, Panic>
    where
        T: Clone,
    {
        self.value.with(|place| {
            // SAFETY: it is unread, so it is there, and we hold the lock.
            let value = unsafe { (*place).assume_init_ref() };
            catch_unwind(AssertUnwindSafe(|| value.clone()))
        })
    }

    /// # Safety
    ///
    /// There is a value, nobody else uses it, and it is not read again.
    #[inline]
    unsafe fn read_out(&self) -> T {
        self.value.with_mut(|place| {
            // SAFETY: see above.
            unsafe { (*place).assume_init_read() }
        })
    }
}

#[cold]
fn go_on(panic: Panic) -> ! {
    resume_unwind(panic)
}
