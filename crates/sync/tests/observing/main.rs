//! How evenly the locks treat their waiters, and how many of them they wake: both depend on the
//! scheduler. `.ci/observe` runs these tests.

mod fairness;
mod late_readers;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod wakes;
