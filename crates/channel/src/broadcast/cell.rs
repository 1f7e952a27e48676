//! A value, and how many receivers have yet to get it. `mod.rs` has the rules for its use.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use blitz_io_core::{Lock, LockGuard, Watched, fences};
use blitz_io_futex::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::ring::{Lag, Ring};

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

/// The stamp of a cell that holds no value for any receiver.
const NEVER: u64 = u64::MAX;

const IDLE: u8 = 0;
const TAKING: u8 = 1;

pub(super) struct ValueCell<T> {
    /// Which value it is: its position in the order of sending.
    stamp: AtomicU64,
    /// How many receivers have yet to get it. Zero: there is no value.
    unread: AtomicU32,
    /// Held by the thread that uses an unread value: to clone it, to take it out, or to
    /// put another in its place.
    lock: Lock,
    /// The last receiver takes the value out without the lock, or is about to:
    /// [`IDLE`] or [`TAKING`].
    taker: AtomicU8,
    /// Another cell has taken its place in the ring. The last thread that uses this one retires
    /// it.
    replaced: AtomicBool,
    value: Watched<MaybeUninit<T>>,
}

/// A cell that its owner may overwrite. Empty only in a deliberate mistake.
pub(super) type InUse<'a> = Option<LockGuard<'a, ()>>;

impl<T> ValueCell<T> {
    pub(super) fn new() -> Self {
        Self {
            stamp: AtomicU64::new(NEVER),
            unread: AtomicU32::new(0),
            lock: Lock::new(()),
            taker: AtomicU8::new(IDLE),
            replaced: AtomicBool::new(false),
            value: Watched::new(MaybeUninit::uninit()),
        }
    }

    /// Whether the value of this position has been put in, and no later one.
    #[inline]
    pub(super) fn holds(&self, position: u64) -> bool {
        self.stamp.load(Ordering::Acquire) == position
    }

    /// Whether no receiver has yet to get the value. Those that have got it are done with it.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.unread.load(Ordering::Acquire) == 0
    }

    /// Locks the cell, unless another thread uses it. That there is lag must have
    /// been announced.
    pub(super) fn try_lock(&self) -> Option<InUse<'_>> {
        if self.taker.load(Ordering::SeqCst) != IDLE {
            return None;
        }
        self.lock.try_lock().map(Some)
    }

    /// Says that another cell has taken this one's place.
    pub(super) fn set_replaced(&self) {
        self.replaced.store(true, Ordering::SeqCst);
        fences::heavy();
    }

    /// Whether the cell is to be retired. A thread that has unlocked it looks.
    #[inline]
    pub(super) fn is_replaced(&self) -> bool {
        fences::light();
        self.replaced.load(Ordering::SeqCst)
    }

    /// Makes a replaced cell free. Returns the value that no receiver will get, if there is one;
    /// the outer `None` if another thread was first.
    ///
    /// # Safety
    ///
    /// The cell is locked.
    pub(super) unsafe fn retire(&self) -> Option<Option<T>> {
        // Acquire: since the caller looked, another thread may have retired the cell, filled it
        // without its lock, and replaced it again. The lock does not order us after that fill.
        if !self.replaced.load(Ordering::Acquire) {
            return None;
        }
        self.replaced.store(false, Ordering::Relaxed);
        // SAFETY: the cell is locked, and spent from here on.
        let value = unsafe { self.evict() };
        self.stamp.store(NEVER, Ordering::Relaxed);
        self.unread.store(0, Ordering::Relaxed);
        Some(value)
    }

    /// Takes the value out, if there still is one.
    ///
    /// # Safety
    ///
    /// The cell is locked, and is filled or made spent before it is unlocked.
    pub(super) unsafe fn evict(&self) -> Option<T> {
        // SAFETY: there is a value as long as a receiver has yet to get it, and the
        // lock keeps others away. The caller sees to it that it is read out once.
        (!self.is_spent()).then(|| unsafe { self.read_out() })
    }

    /// Puts a value in. It can be received after [`announce`](Slot::announce).
    ///
    /// # Safety
    ///
    /// The caller holds the tail's lock. The cell is spent, or it is locked and
    /// its value has been evicted.
    #[inline]
    pub(super) unsafe fn fill(&self, value: T, receivers: u32) {
        self.value.with_mut(|place| {
            // SAFETY: no receiver reads a value that is spent. Where one has just been
            // evicted, we have the lock, and no receiver goes without it any more.
            unsafe { (*place).write(value) };
        });
        self.taker.store(IDLE, Ordering::Relaxed);
        self.unread.store(receivers, Ordering::Relaxed);
    }

    /// Lets receivers see the value that has been put in.
    #[inline]
    pub(super) fn announce(&self, position: u64) {
        self.stamp.store(position, Ordering::Release);
    }

    /// Gets the value of this position for one of the receivers that have yet to
    /// get it: the last one takes it, the others clone it. `None` if it has been
    /// overwritten. If the clone panics, so does this; the value counts as got.
    ///
    /// The cell, which is the ring's, has been seen to hold the value of this position.
    #[inline(always)]
    pub(super) fn get(&self, position: u64, ring: &Ring<T>, count: impl FnOnce()) -> Option<T>
    where
        T: Clone,
    {
        if self.unread.load(Ordering::Acquire) == 1 && ring.lag.is_unheard_of() {
            if let Some(value) = self.take(&ring.lag) {
                count();
                return Some(value);
            }
        }
        self.get_locked(position, ring, count)
    }

    /// Takes the value out without the lock, if no value has ever been overwritten
    /// in this channel. The caller was the last that had yet to get it.
    #[inline]
    fn take(&self, lag: &Lag) -> Option<T> {
        if !lag.is_unheard_of_after(&self.taker, TAKING) {
            self.taker.store(IDLE, Ordering::Release);
            return None;
        }
        // SAFETY: nothing has been overwritten, so we still have yet to get this
        // value, and no other receiver has. A sender that wants to overwrite it has seen,
        // or will see, that we are here, and leaves the cell to us.
        let value = unsafe { self.read_out() };
        self.leave(1);
        Some(value)
    }

    #[inline(always)]
    fn get_locked(&self, position: u64, ring: &Ring<T>, count: impl FnOnce()) -> Option<T>
    where
        T: Clone,
    {
        // Apart from each other, they stay in registers.
        let (mut value, mut panic) = (None, None);
        let lock = self.lock.lock();
        let unread = self.unread_of(position);
        if let Some(unread) = unread {
            if unread == 1 {
                // SAFETY: we are the last that may use it, hold the lock, and say
                // below that it has gone.
                value = Some(unsafe { self.read_out() });
            } else {
                match self.clone_value() {
                    Ok(clone) => value = Some(clone),
                    Err(payload) => panic = Some(payload),
                }
            }
            self.leave(unread);
        }
        drop(lock);
        if unread.is_some() {
            count();
        }
        ring.after_use(self);
        if let Some(payload) = panic {
            go_on(payload);
        }
        value
    }

    /// Gives up the value of this position, if it has not been overwritten. The
    /// last one returns it, to be dropped where no lock is held.
    pub(super) fn renounce(&self, position: u64) -> Option<T> {
        let _lock = self.lock.lock();
        let unread = self.unread_of(position)?;
        // SAFETY: we hold the lock, the value is unread, and this is the last receiver entitled
        // to it.
        let value = (unread == 1).then(|| unsafe { self.read_out() });
        self.leave(unread);
        value
    }

    /// How many have yet to get the value of this position, when the cell is
    /// locked. `None` if it has been overwritten.
    #[inline]
    fn unread_of(&self, position: u64) -> Option<u32> {
        // The lock orders us after a sender that overwrites an unread value. One
        // that fills a spent cell is seen by the stamp, which then is not ours.
        let same = self.stamp.load(Ordering::Relaxed) == position;
        same.then(|| self.unread.load(Ordering::Relaxed))
    }

    /// One of the receivers that had yet to get the value is done with it. Once the last one
    /// has said so, a sender may fill the cell without its lock.
    #[inline]
    fn leave(&self, unread: u32) {
        self.unread.store(unread - 1, Ordering::Release);
    }

    #[inline]
    fn clone_value(&self) -> Result<T, Panic>
    where
        T: Clone,
    {
        self.value.with(|place| {
            // SAFETY: it is unread, so it is initialised, and we hold the lock.
            let value = unsafe { (*place).assume_init_ref() };
            catch_unwind(AssertUnwindSafe(|| value.clone()))
        })
    }

    /// # Safety
    ///
    /// There is a value, no other thread uses it, and it is not read again.
    #[inline]
    unsafe fn read_out(&self) -> T {
        self.value.with_mut(|place| {
            // SAFETY: by this function's contract, the value is initialised, ours alone, and read
            // once.
            unsafe { (*place).assume_init_read() }
        })
    }
}

#[cold]
fn go_on(panic: Panic) -> ! {
    resume_unwind(panic)
}
