//! Maps and sets whose order and cost depend on no random number.
//!
//! The standard library's usual ones take keys from a variable of the thread, which draws random numbers of the system. Each
//! further map changes that variable. So in a simulation, the order of the program's own maps would depend on the maps that
//! these libraries have made on the thread. The keys here are numbers of this library, so an attacker cannot choose them.

use std::collections;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A `HashMap` without random keys.
pub type HashMap<K, V> = collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A `HashSet` without random keys.
pub type HashSet<T> = collections::HashSet<T, BuildHasherDefault<DefaultHasher>>;
