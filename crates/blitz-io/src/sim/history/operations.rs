//! The effects of operations that do not overlap: on a register, a set, and a queue.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

/// An operation on an object, and its effect if no other one overlaps it.
///
/// # Examples
///
/// A counter:
///
/// ```
/// use blitz_io::sim::history::{History, Operation};
///
/// /// Adds a number, and returns the sum.
/// #[derive(Debug)]
/// struct Add(u32);
///
/// impl Operation for Add {
///     type Key = ();
///     type State = u32;
///     type Output = u32;
///
///     fn key(&self) {}
///
///     fn apply(&self, sum: &mut u32) -> u32 {
///         *sum += self.0;
///         *sum
///     }
/// }
///
/// let history = History::new();
/// let (one, other) = (history.begin(Add(1)), history.begin(Add(2)));
/// one.end(1);
/// // The other addition is lost.
/// other.end(2);
/// let error = history.check().unwrap_err().to_string();
/// assert!(error.contains("Add(2) returned 2 and not 3"), "{error}");
/// ```
pub trait Operation: Debug {
    /// The part of the object that the operation concerns. Operations on different keys have no effect on each other. `()` if
    /// there is only one part.
    type Key: Ord;

    /// The state of one part. Its default is the one at the beginning.
    type State: Clone + Eq + Hash + Default;

    /// The result of the operation.
    type Output: PartialEq + Debug;

    /// Returns the key.
    fn key(&self) -> Self::Key;

    /// Changes the state as the operation does, and returns its result.
    fn apply(&self, state: &mut Self::State) -> Self::Output;
}

/// An operation on a register, or on a map of registers: a key-value store. The key of a single one is `()`.
///
/// `Write` returns `None`. `Read` returns the value that was written last, and `None` if there is none.
///
/// # Examples
///
/// The results of both have one type, so the future of a write is one of an `Option`, too:
///
/// ```
/// use std::collections::HashMap;
///
/// use blitz_io::sim::history::{History, Register};
/// use blitz_io::sync::Mutex;
///
/// blitz_io::sim::run(|| async {
///     let (map, history) = (Mutex::new(HashMap::new()), History::new());
///     let write = async {
///         map.lock().await.insert("ada", 7);
///         None
///     };
///     let read = async { map.lock().await.get("ada").copied() };
///     blitz_io::join!(
///         history.record(Register::Write("ada", 7), write),
///         history.record(Register::Read("ada"), read),
///     );
///     history.check().unwrap();
/// });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Register<K, V> {
    /// Reads the register of a key.
    Read(K),
    /// Writes a value into the register of a key.
    Write(K, V),
}

impl<K, V> Operation for Register<K, V>
where
    K: Ord + Clone + Debug,
    V: Clone + Eq + Hash + Debug,
{
    type Key = K;
    type State = Option<V>;
    type Output = Option<V>;

    fn key(&self) -> K {
        let (Self::Read(key) | Self::Write(key, _)) = self;
        key.clone()
    }

    fn apply(&self, state: &mut Option<V>) -> Option<V> {
        match self {
            Self::Read(_) => state.clone(),
            Self::Write(_, value) => {
                *state = Some(value.clone());
                None
            }
        }
    }
}

/// An operation on a set. Each element has a key of its own.
///
/// All return a `bool`: `Insert` whether the element was not in the set, `Remove` and `Contains` whether it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Set<T> {
    /// Adds an element.
    Insert(T),
    /// Removes an element.
    Remove(T),
    /// Asks for an element.
    Contains(T),
}

impl<T: Ord + Clone + Debug> Operation for Set<T> {
    type Key = T;
    /// The element is in the set.
    type State = bool;
    type Output = bool;

    fn key(&self) -> T {
        let (Self::Insert(element) | Self::Remove(element) | Self::Contains(element)) = self;
        element.clone()
    }

    fn apply(&self, is_in: &mut bool) -> bool {
        match self {
            Self::Insert(_) => !std::mem::replace(is_in, true),
            Self::Remove(_) => std::mem::replace(is_in, false),
            Self::Contains(_) => *is_in,
        }
    }
}

/// An operation on a queue: first in, first out.
///
/// `Push` returns `None`. `Pop` returns the oldest value, and `None` if the queue is empty. An operation that waits until
/// there is a value returns `Some`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Queue<T> {
    /// Adds a value at the end.
    Push(T),
    /// Removes the first value.
    Pop,
}

impl<T: Clone + Eq + Hash + Debug> Operation for Queue<T> {
    /// The order of all values matters.
    type Key = ();
    type State = VecDeque<T>;
    type Output = Option<T>;

    fn key(&self) {}

    fn apply(&self, values: &mut VecDeque<T>) -> Option<T> {
        match self {
            Self::Push(value) => {
                values.push_back(value.clone());
                None
            }
            Self::Pop => values.pop_front(),
        }
    }
}
