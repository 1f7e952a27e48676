//! `Trace`: where one task waits.

use std::fmt;
use std::future::Future;

use blitz_io_inspect::{Snapshot, Waiter, tree};

use super::capture::{Root, trace_with};
use super::stack::{self, Backtrace, Captured};

/// The wait of a task: the chain of its waits in a [`Dump`](super::Dump), or stacks from
/// [`capture`](Trace::capture).
///
/// `Display` writes it as a tree. For stacks it reads debug information, which may take long.
#[derive(Debug)]
pub struct Trace(Kind);

#[derive(Debug)]
enum Kind {
    Waits {
        text: String,
        locations: Vec<Backtrace>,
    },
    Stacks(Vec<Captured>),
}

impl Trace {
    pub(super) fn of_waits(snapshot: &Snapshot, waiter: Waiter) -> Self {
        let waits = snapshot.waits.iter().filter(|wait| wait.waiter == waiter);
        Self(Kind::Waits {
            text: tree(snapshot, waiter),
            locations: waits
                .map(|wait| Backtrace::of_location(&wait.kind, &wait.location))
                .collect(),
        })
    }

    /// Returns the stacks. A capture has one for each operation that it reached. A dump has one for
    /// each wait of the task: a single frame, with the location of the wait.
    ///
    /// Reading debug information for a capture may take long; call it where a thread may block.
    #[must_use]
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        match &self.0 {
            Kind::Waits { locations, .. } => locations.clone(),
            Kind::Stacks(stacks) => stacks.iter().map(Captured::resolve).collect(),
        }
    }

    /// Runs `f`, which polls a future, and captures the stack of each operation of this library that
    /// it reaches.
    ///
    /// Each of these operations returns `Pending` instead of doing its work, and is woken when the
    /// capture ends. So the future has to be polled again, outside of a capture; to capture it in
    /// each poll would never end. Operations within [`unconstrained`](crate::task::unconstrained)
    /// do their work, and are not captured. In a nested call the inner capture has the operations.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::runtime::dump::Trace;
    /// use std::future::poll_fn;
    /// use std::pin::pin;
    /// use std::task::Poll;
    ///
    /// # blitz_io::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut future = pin!(async { blitz_io::task::yield_now().await });
    /// let trace = Trace::root(poll_fn(|cx| {
    ///     let (result, trace) = Trace::capture(|| future.as_mut().poll(cx));
    ///     assert!(result.is_pending());
    ///     Poll::Ready(trace)
    /// }))
    /// .await;
    /// assert_eq!(trace.resolve_backtraces().len(), 1);
    /// future.await;
    /// # });
    /// ```
    pub fn capture<F, R>(f: F) -> (R, Self)
    where
        F: FnOnce() -> R,
    {
        let mut stacks = Vec::new();
        let result = trace_with(f, |meta| stacks.push(Captured::new(meta)));
        (result, Self(Kind::Stacks(stacks)))
    }

    /// Wraps a future, whose stacks in captures end at this wrapper.
    pub fn root<F: Future>(f: F) -> Root<F> {
        Root::new(f)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Waits { text, .. } => f.write_str(text),
            Kind::Stacks(_) => f.write_str(&stack::tree(&self.resolve_backtraces())),
        }
    }
}
