//! hyper's executor and timer, for programs that use hyper on this runtime.
//!
//! hyper has no runtime of its own. It takes an executor, which starts tasks, and a timer
//! for its timeouts: [`BlitzExecutor`] and [`BlitzTimer`].
//!
//! ```
//! use std::time::Duration;
//! use blitz_io::hyper::{BlitzExecutor, BlitzTimer};
//! use blitz_io::runtime::Builder;
//! use hyper::rt::{Executor, Timer};
//!
//! let runtime = Builder::new_current_thread().enable_time().build().unwrap();
//! runtime.block_on(async {
//!     let (sender, receiver) = blitz_io::sync::oneshot::channel();
//!     BlitzExecutor::new().execute(async {
//!         BlitzTimer::new().sleep(Duration::from_millis(1)).await;
//!         sender.send("slept").unwrap();
//!     });
//!     assert_eq!(receiver.await, Ok("slept"));
//! });
//! ```

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use hyper::rt::{Executor, Sleep, Timer};

use crate::api::runtime::Handle;
use crate::api::task::{self, LocalSet};
use crate::api::time;

/// Defines a type without fields.
macro_rules! empty {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[non_exhaustive]
        #[derive(Clone, Copy, Default, Debug)]
        pub struct $name {}

        impl $name {
            /// Creates one. It has no state.
            #[must_use]
            pub fn new() -> Self {
                Self {}
            }
        }
    };
}

/// Lets hyper start tasks with `$spawn`; with `Send`, only those that are.
macro_rules! executor {
    ($executor:ty, |$this:ident, $future:ident| $spawn:expr $(, $send:ident)?) => {
        impl<F> Executor<F> for $executor
        where
            F: Future + 'static $(+ $send)?,
            F::Output: 'static $(+ $send)?,
        {
            #[track_caller]
            fn execute(&$this, $future: F) {
                drop($spawn);
            }
        }
    };
}

empty! {
    /// Starts hyper's tasks on the current runtime.
    ///
    /// It panics outside of a runtime. A [`Handle`] is an executor, too: it starts tasks on
    /// its runtime from any thread.
    ///
    /// ```
    /// use blitz_io::hyper::BlitzExecutor;
    /// use hyper::rt::Executor;
    ///
    /// # blitz_io::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// BlitzExecutor::new().execute(async {});
    /// # });
    /// ```
    BlitzExecutor
}

executor!(BlitzExecutor, |self, future| task::spawn(future), Send);

executor!(Handle, |self, future| self.spawn(future), Send);

empty! {
    /// Starts hyper's tasks on the current [`LocalSet`], where they need not be `Send`.
    ///
    /// It panics outside of a set. A `LocalSet` is an executor, too.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use blitz_io::hyper::BlitzLocalExecutor;
    /// use blitz_io::{runtime::Builder, task::LocalSet};
    /// use hyper::rt::Executor;
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// LocalSet::new().block_on(&runtime, async {
    ///     let here = Rc::new(1);
    ///     BlitzLocalExecutor::new().execute(async move { drop(here) });
    /// });
    /// ```
    BlitzLocalExecutor
}

executor!(BlitzLocalExecutor, |self, future| task::spawn_local(future));

executor!(LocalSet, |self, future| self.spawn_local(future));

empty! {
    /// Sleeps for hyper with the timers of the current runtime.
    ///
    /// It panics outside of a runtime, or if the runtime has no timers
    /// ([`enable_time`](crate::runtime::Builder::enable_time)). Its clock is that of
    /// [`time::Instant`], which tests can pause.
    ///
    /// ```
    /// use std::time::Duration;
    /// use blitz_io::hyper::BlitzTimer;
    /// use blitz_io::runtime::Builder;
    /// use hyper::rt::Timer;
    ///
    /// let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    /// runtime.block_on(async {
    ///     let timer = BlitzTimer::new();
    ///     let mut sleep = timer.sleep(Duration::from_secs(3600));
    ///     let soon = timer.now() + Duration::from_millis(1);
    ///     timer.reset(&mut sleep, soon);
    ///     sleep.await;
    ///     assert!(timer.now() >= soon);
    /// });
    /// ```
    BlitzTimer
}

impl Sleep for time::Sleep {}

impl Timer for BlitzTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep_until(deadline.into()))
    }

    fn now(&self) -> Instant {
        time::Instant::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<time::Sleep>() {
            Some(ours) => ours.reset(new_deadline.into()),
            // Another timer has made it.
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}
