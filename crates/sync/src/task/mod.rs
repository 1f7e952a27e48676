//! Primitives whose waiters are tasks.
