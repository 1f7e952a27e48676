//! hyper's executor and timer, for programs that use hyper on this runtime.
//!
//! hyper brings no runtime of its own. It asks for something that starts tasks, and, where
//! it has time-outs, for something that sleeps: [`BlitzExecutor`] and [`BlitzTimer`].
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
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Executor, Sleep, Timer};
use pin_project_lite::pin_project;

use crate::runtime::Handle;
use crate::task::{self, LocalSet};
use crate::time;

/// Starts hyper's tasks on the current runtime.
///
/// It panics outside of a runtime. A [`Handle`] is an executor, too, for that one runtime
/// and from anywhere.
///
/// ```
/// use blitz_io::hyper::BlitzExecutor;
/// use hyper::rt::Executor;
///
/// # blitz_io::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// BlitzExecutor::new().execute(async {});
/// # });
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Default, Debug)]
pub struct BlitzExecutor {}

impl BlitzExecutor {
    /// Creates one; there is nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}

impl<F> Executor<F> for BlitzExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(task::spawn(future));
    }
}

impl<F> Executor<F> for Handle
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(self.spawn(future));
    }
}

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
#[non_exhaustive]
#[derive(Clone, Copy, Default, Debug)]
pub struct BlitzLocalExecutor {}

impl BlitzLocalExecutor {
    /// Creates one; there is nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}

impl<F> Executor<F> for BlitzLocalExecutor
where
    F: Future + 'static,
    F::Output: 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(task::spawn_local(future));
    }
}

impl<F> Executor<F> for LocalSet
where
    F: Future + 'static,
    F::Output: 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(self.spawn_local(future));
    }
}

/// Sleeps for hyper, by the timers of the current runtime.
///
/// It panics outside of a runtime, or if that has no timers
/// ([`enable_time`](crate::runtime::Builder::enable_time)). Its time is that of
/// [`time::Instant`], which tests can stop.
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
#[non_exhaustive]
#[derive(Clone, Copy, Default, Debug)]
pub struct BlitzTimer {}

impl BlitzTimer {
    /// Creates one; there is nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}

pin_project! {
    /// What [`BlitzTimer`] gives to hyper.
    struct BlitzSleep {
        #[pin]
        sleep: time::Sleep,
    }
}

impl Future for BlitzSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(cx)
    }
}

impl Sleep for BlitzSleep {}

impl Timer for BlitzTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        let sleep = time::sleep(duration);
        Box::pin(BlitzSleep { sleep })
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let sleep = time::sleep_until(deadline.into());
        Box::pin(BlitzSleep { sleep })
    }

    fn now(&self) -> Instant {
        time::Instant::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<BlitzSleep>() {
            Some(ours) => ours.project().sleep.reset(new_deadline.into()),
            // Another's.
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}
