//! The stacks of fibers, and the pool that keeps them.
//!
//! Stacks come in classes: the size with its guard is a power of two. A second set of classes has a
//! guard that is [`MAX_GUARD_SIZE`] larger, for code that does not probe its stack. A function in C
//! touches the guard only if its frame is smaller than the guard, unless it was compiled with
//! `-fstack-clash-protection`. A thread keeps the last
//! [`KEPT`] stacks of each class that it has freed, with their memory. It moves surplus stacks to a
//! list that all threads share, half of its own at once, after it has returned their memory to the
//! system. That list holds addresses only; it is as long as the most fibers that there were at
//! once.
//!
//! A stack is of the pool, or of one fiber, which has the only [`Stack`] for its addresses.

#[cfg_attr(not(unix), path = "system.rs")]
mod slab;

use std::cell::RefCell;
use std::io;
use std::num::NonZeroUsize;

use blitz_io_core::PerProcess;
use blitz_io_sync::thread::Mutex;

use self::slab::Region;
use crate::builder::{MAX_GUARD_SIZE, MAX_STACK_SIZE};
use crate::running::Addresses;

/// The addresses below a stack that cannot be used, if the user wants no more.
const GUARD: usize = slab::GUARD;
/// Bytes of a class beyond the requested size.
const EXTRA: usize = GUARD + 4 * 1024;
/// Number of free stacks of a class that a thread keeps.
const KEPT: usize = 64;
/// The class of the smallest stack is 0.
const SMALLEST: u32 = (16 * 1024 + EXTRA).next_power_of_two().trailing_zeros();
const LARGEST: u32 = (MAX_STACK_SIZE + EXTRA)
    .next_power_of_two()
    .trailing_zeros();
const SIZES: usize = (LARGEST - SMALLEST + 1) as usize;
/// Each size, with either guard.
const CLASSES: usize = 2 * SIZES;

/// Free stacks of each class.
type Free = [Vec<Region>; CLASSES];

static SHARED: PerProcess<Mutex<Free>> = PerProcess::new(Mutex::default);

thread_local! {
    static KEPT_HERE: RefCell<Kept> = const { RefCell::new(Kept([const { Vec::new() }; CLASSES])) };
}

/// The free stacks of a thread.
struct Kept(Free);

impl Drop for Kept {
    fn drop(&mut self) {
        for (class, stacks) in self.0.iter_mut().enumerate() {
            share(class, stacks.drain(..));
        }
    }
}

/// Gives the memory of free stacks back to the system, and the stacks to all threads.
#[cold]
fn share(class: usize, stacks: impl Iterator<Item = Region>) {
    let stacks: Vec<Region> = stacks.inspect(Region::forget_contents).collect();
    if !stacks.is_empty() {
        SHARED.lock()[class].extend(stacks);
    }
}

/// A stack for a fiber. The drop gives it to the pool.
pub(crate) struct Stack {
    /// Taken by the drop.
    region: Option<Region>,
    class: usize,
}

impl Stack {
    /// Takes a stack of at least `size` bytes, with a guard of at least `guard` bytes.
    #[inline]
    pub(crate) fn take(size: usize, guard: usize) -> io::Result<Self> {
        let log = (size + EXTRA).next_power_of_two().trailing_zeros();
        let size = (log.max(SMALLEST) - SMALLEST) as usize;
        let class = if guard > GUARD { SIZES + size } else { size };
        let kept = KEPT_HERE.try_with(|kept| kept.borrow_mut().0[class].pop());
        let region = match kept.ok().flatten() {
            Some(region) => region,
            None => take_shared(class)?,
        };
        Ok(Self {
            region: Some(region),
            class,
        })
    }

    fn region(&self) -> &Region {
        match &self.region {
            Some(region) => region,
            None => unreachable!("only the drop takes the region"),
        }
    }

    pub(crate) fn addresses(&self) -> Addresses {
        let low = self.region().limit().get();
        Addresses {
            low,
            guard: self.region().guard(),
            size: self.region().base().get() - low - self.region().guard(),
        }
    }
}

/// Takes stacks that all threads share, or makes new ones. One is returned, and the thread keeps
/// the others.
#[cold]
fn take_shared(class: usize) -> io::Result<Region> {
    let mut shared = SHARED.lock();
    let free = &mut shared[class];
    if free.is_empty() {
        let (size, beyond) = match class.checked_sub(SIZES) {
            Some(size) => (size, MAX_GUARD_SIZE),
            None => (class, 0),
        };
        slab::map(1 << (size as u32 + SMALLEST), beyond, free)?;
    }
    let first = free.len() - free.len().min(KEPT / 2);
    let mut taken: Vec<Region> = free.drain(first..).collect();
    drop(shared);
    let Some(region) = taken.pop() else {
        return Err(io::ErrorKind::OutOfMemory.into());
    };
    // A thread that ends keeps none.
    let mut rest = Some(taken);
    _ = KEPT_HERE
        .try_with(|kept| kept.borrow_mut().0[class].extend(rest.take().unwrap_or_default()));
    if let Some(rest) = rest {
        share(class, rest.into_iter());
    }
    Ok(region)
}

impl Drop for Stack {
    #[inline]
    fn drop(&mut self) {
        let Some(region) = self.region.take() else {
            return;
        };
        let class = self.class;
        let mut freed = Some(region);
        _ = KEPT_HERE.try_with(|kept| {
            let stacks = &mut kept.borrow_mut().0[class];
            stacks.extend(freed.take());
            if stacks.len() > KEPT {
                share(class, stacks.drain(..KEPT / 2));
            }
        });
        if let Some(freed) = freed {
            share(class, std::iter::once(freed));
        }
    }
}

// SAFETY: a region has a guard at its low end, and 16 KiB above it that are the caller's alone.
unsafe impl corosensei::stack::Stack for Stack {
    #[inline]
    fn base(&self) -> NonZeroUsize {
        self.region().base()
    }

    #[inline]
    fn limit(&self) -> NonZeroUsize {
        self.region().limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.region().teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        if let Some(region) = &mut self.region {
            region.update_teb_fields(stack_limit, guaranteed_stack_bytes);
        }
    }
}
