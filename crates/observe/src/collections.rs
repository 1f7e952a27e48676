//! Maps and sets whose order and cost depend on no random number.
//!
//! The standard library's usual ones take keys from a variable of the thread, which draws random numbers of the system. In a
//! simulation that would be a difference between a thread on which these libraries have made a map and one on which they
//! have not: the program's own maps would have another order. The keys here are no foreign data, so nothing else is lost.

use std::collections;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A `HashMap` without random keys.
pub type HashMap<K, V> = collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A `HashSet` without random keys.
pub type HashSet<T> = collections::HashSet<T, BuildHasherDefault<DefaultHasher>>;
