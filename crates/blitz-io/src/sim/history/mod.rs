//! Histories of concurrent operations, and whether they are linearizable.
//!
//! A history is *linearizable* if each operation seems to happen at one moment between its begin and its end (Herlihy and
//! Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990). Then there is an order of all
//! operations with two properties:
//!
//! 1. Each operation has the result that it would have in this order without any overlap.
//! 2. An operation that ended before another one began comes before it.
//!
//! A test records what its tasks do with an object, and [`History::check`] looks for such an order. There are operations
//! of a [`Register`], a [`Set`] and a [`Queue`]; others implement [`Operation`].
//!
//! # Examples
//!
//! ```
//! use blitz_io::sim::Builder;
//! use blitz_io::sim::history::{History, Queue};
//! use blitz_io::sync::mpmc;
//!
//! Builder::new().seeds(100).run(|| async {
//!     let (sender, receiver) = mpmc::bounded(2);
//!     let history = History::new();
//!     let same = history.clone();
//!     let producer = blitz_io::spawn(async move {
//!         for number in 0..4 {
//!             let sent = async {
//!                 _ = sender.send(number).await;
//!                 None
//!             };
//!             same.record(Queue::Push(number), sent).await;
//!         }
//!     });
//!     let (receiver, same) = (receiver.clone(), history.clone());
//!     let consumer = blitz_io::spawn(async move {
//!         for _ in 0..4 {
//!             same.record(Queue::Pop, async { receiver.recv().await.ok() }).await;
//!         }
//!     });
//!     producer.await.unwrap();
//!     consumer.await.unwrap();
//!     history.check().unwrap();
//! });
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `operations.rs` | the effects of operations that do not overlap |
//! | `recorded.rs` | what is kept of an operation |
//! | `linearize.rs` | the search for an order |
//! | `describe.rs` | the text about the operations that have none |

mod describe;
mod linearize;
mod operations;
mod recorded;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blitz_io_observe::ThreadId;
use blitz_io_observe::decisions::{self, Note};
use describe::describe;
use linearize::linearize;
use recorded::{By, Event, Recorded};

pub use operations::{Operation, Queue, Register, Set};

use super::system;

struct Log<O: Operation> {
    /// Number of begins and ends.
    events: u64,
    operations: Vec<Recorded<O>>,
}

impl<O: Operation> Log<O> {
    fn event(&mut self) -> Event {
        self.events += 1;
        Event {
            number: self.events,
            moment: system::with(|run| Some(run.moment())),
        }
    }
}

/// The operations of all tasks on one object. Clones are the same history.
///
/// See the [module](self) for an example. A history may also be used outside of a simulation, by threads.
pub struct History<O: Operation>(Arc<Mutex<Log<O>>>);

impl<O: Operation> History<O> {
    /// Creates a history without operations.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Log {
            events: 0,
            operations: Vec::new(),
        })))
    }

    fn log(&self) -> MutexGuard<'_, Log<O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that an operation begins. It ends with [`Call::end`].
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::sim::history::{History, Set};
    ///
    /// let history = History::new();
    /// let call = history.begin(Set::Insert(7));
    /// call.end(true);
    /// history.begin(Set::Insert(7)).end(true);
    /// assert!(history.check().is_err());
    /// ```
    #[must_use = "an operation that does not end is one that may have happened, or not"]
    pub fn begin(&self, operation: O) -> Call<O> {
        note(|| format!("begins {operation:?}"));
        let mut log = self.log();
        let began = log.event();
        let task = system::with(|run| run.current_task());
        log.operations.push(Recorded {
            operation,
            by: task.map_or_else(|| By::Thread(ThreadId::current()), By::Task),
            began,
            ended: None,
        });
        Call {
            index: log.operations.len() - 1,
            history: self.clone(),
        }
    }

    /// Records an operation that the future makes: from the future's first poll until it is ready.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before, the operation may have happened, or not.
    pub async fn record<F>(&self, operation: O, future: F) -> O::Output
    where
        F: Future<Output = O::Output>,
        O::Output: Clone,
    {
        let call = self.begin(operation);
        let output = future.await;
        call.end(output.clone());
        output
    }

    /// Returns the number of operations that have begun.
    #[must_use]
    pub fn len(&self) -> usize {
        self.log().operations.len()
    }

    /// Returns `true` if no operation has begun.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks for an order in which each operation has the result that it would have alone.
    ///
    /// Operations on different [keys](Operation::key) are looked at on their own. The time for those of one key is
    /// exponential in how many of them overlap, and linear in their number.
    ///
    /// # Errors
    ///
    /// There is no such order. The text of the error says how far the longest one goes, and why it does not go on. The
    /// operations follow, each with its task, its begin and its end: in a simulation in the text of the [`Failure`](super::Failure).
    pub fn check(&self) -> Result<(), NotLinearizable> {
        let log = self.log();
        let mut keys: BTreeMap<O::Key, Vec<&Recorded<O>>> = BTreeMap::new();
        for recorded in &log.operations {
            let key = recorded.operation.key();
            keys.entry(key).or_default().push(recorded);
        }
        for operations in keys.values() {
            let found = linearize(operations);
            found.map_err(|longest| NotLinearizable(describe(operations, &longest, keys.len())))?;
        }
        Ok(())
    }
}

impl<O: Operation> Clone for History<O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<O: Operation> Default for History<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Operation> fmt::Debug for History<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("operations", &self.len())
            .finish()
    }
}

/// An operation that has begun. If this is dropped, the operation may have happened, or not: as a request whose answer was
/// lost.
pub struct Call<O: Operation> {
    history: History<O>,
    index: usize,
}

impl<O: Operation> Call<O> {
    /// Records that the operation has ended, with this result.
    pub fn end(self, output: O::Output) {
        let mut log = self.history.log();
        let ended = log.event();
        if let Some(recorded) = log.operations.get_mut(self.index) {
            note(|| format!("{:?} returns {output:?}", recorded.operation));
            recorded.ended = Some((ended, output));
        }
    }
}

impl<O: Operation> fmt::Debug for Call<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("index", &self.index).finish()
    }
}

/// The error of [`History::check`]: no order of the operations gives their results.
///
/// The text shows the longest order that was found, and outside of a simulation the operations. In a simulation the text of the
/// [`Failure`](super::Failure) has these.
#[derive(Clone, PartialEq, Eq)]
pub struct NotLinearizable(String);

impl fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows the same text as `Display`, because `unwrap` uses this.
impl fmt::Debug for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotLinearizable {}

/// Says in the report of a simulation what an operation of the current task does.
fn note(text: impl FnOnce() -> String) {
    decisions::note(|| Note::Task(text()));
}

#[cfg(test)]
mod tests;
