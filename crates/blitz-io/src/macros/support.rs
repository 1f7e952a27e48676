//! The functions and types that the generated code of the macros uses. Not part of the
//! public interface.

use std::task::Context;

use blitz_io_core::coop;

pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::option::Option::Some;
pub use std::pin::Pin;
pub use std::result::Result;
pub use std::task::Poll;

pub use blitz_io_macros::{join_branches, select_branches, try_join_branches};
#[cfg(feature = "rt")]
pub use blitz_io_runtime::thread_rng_n;

pub use maybe_done::MaybeDone;
#[cfg(not(feature = "rt"))]
pub use random::thread_rng_n;

/// Returns ready if the task may continue; otherwise the task is woken, to be polled again
/// after the others.
#[inline]
pub fn poll_budget_available(context: &mut Context<'_>) -> Poll<()> {
    if coop::has_budget_remaining() {
        Poll::Ready(())
    } else {
        coop::poll_proceed(context).map(drop)
    }
}

/// Chooses which of `COUNT` branches is polled first: each time the next one.
#[derive(Debug, Default)]
pub struct Rotation<const COUNT: u32> {
    next: u32,
}

impl<const COUNT: u32> Rotation<COUNT> {
    /// Creates a rotation that starts with the first branch.
    #[inline]
    pub fn new() -> Self {
        Self { next: 0 }
    }

    /// Returns the branch to begin with now.
    // Not an iterator: it never ends.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> u32 {
        let first = self.next;
        self.next = (first + 1) % COUNT;
        first
    }
}

mod maybe_done {
    use std::future::{Future, IntoFuture};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// A branch of `join!`: a future, or its output.
    // The layout has no niche in the future: a future that refers to itself must not be
    // read to find out which variant this is.
    #[repr(C)]
    #[derive(Debug)]
    pub enum MaybeDone<F: Future> {
        /// Still to be polled.
        Pending(F),
        /// Ready, and not yet taken.
        Done(F::Output),
        /// Taken.
        Taken,
    }

    impl<F: Future> MaybeDone<F> {
        /// Creates a branch that is still to be polled.
        #[inline]
        pub fn new<I: IntoFuture<IntoFuture = F>>(future: I) -> Self {
            Self::Pending(future.into_future())
        }

        /// Polls the future unless it is done.
        ///
        /// # Safety
        ///
        /// `self` is never moved from the first call on.
        #[inline]
        pub unsafe fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
            if let Self::Pending(future) = self {
                // SAFETY: the caller does not move `self` any more, and the future leaves
                // its place only by being dropped there, in the assignment below.
                let future = unsafe { Pin::new_unchecked(future) };
                match future.poll(context) {
                    Poll::Ready(output) => *self = Self::Done(output),
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(())
        }

        /// Takes the output of a branch that is done.
        ///
        /// # Panics
        ///
        /// Panics if the branch is not done, or its output was taken.
        #[inline]
        pub fn take(&mut self) -> F::Output {
            if let Self::Pending(_) = self {
                panic!("a branch is not done");
            }
            match std::mem::replace(self, Self::Taken) {
                Self::Done(output) => output,
                _ => panic!("a branch was polled after its output was taken"),
            }
        }
    }

    impl<T, E, F: Future<Output = Result<T, E>>> MaybeDone<F> {
        /// Returns the error of a branch that has failed. The result may have any value
        /// type, because an error whose value type is uninhabited would make the code
        /// behind it unreachable.
        #[inline]
        pub fn take_error<U>(&mut self) -> Option<Result<U, E>> {
            match self {
                Self::Done(Err(_)) => self.take().err().map(Err),
                _ => None,
            }
        }

        /// Takes the value of a branch that has not failed.
        ///
        /// # Panics
        ///
        /// Same as for [`take`](Self::take); also panics if the branch has failed.
        #[inline]
        pub fn take_ok(&mut self) -> T {
            match self.take() {
                Ok(value) => value,
                Err(_) => panic!("a branch has failed"),
            }
        }
    }
}

/// The random numbers without the runtime, whose threads each have a sequence (which the
/// user may seed).
#[cfg(not(feature = "rt"))]
mod random {
    use std::cell::Cell;
    use std::hash::{BuildHasher, RandomState};

    thread_local! {
        /// 0 before the first number.
        static STATE: Cell<u64> = const { Cell::new(0) };
    }

    /// Returns a number below `n`, from a xorshift sequence of this thread.
    #[inline]
    pub fn thread_rng_n(n: u32) -> u32 {
        let mut state = STATE.get();
        if state == 0 {
            state = RandomState::new().hash_one(0_u8) | 1;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        STATE.set(state);
        (((state >> 32) * u64::from(n)) >> 32) as u32
    }
}
