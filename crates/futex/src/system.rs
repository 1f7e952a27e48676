//! Features of the running system.

use crate::sys;

/// Returns the name of the mechanism that puts threads to sleep, for display.
///
/// ```
/// println!("threads sleep with {}", blitz_io::futex::system::backend());
/// ```
pub fn backend() -> &'static str {
    sys::name()
}

/// Returns whether [`Scope::Shared`](crate::Scope::Shared) works on this system.
///
/// ```
/// if cfg!(all(target_os = "linux", not(feature = "portable"))) {
///     assert!(blitz_io::futex::system::supports_shared());
/// }
/// ```
pub fn supports_shared() -> bool {
    sys::supports_shared()
}

/// Returns whether the wake functions return exact counts. If not, their result is a lower
/// bound.
///
/// ```
/// if cfg!(windows) && !cfg!(feature = "portable") {
///     assert!(!blitz_io::futex::system::counts_wakes());
/// }
/// ```
pub fn counts_wakes() -> bool {
    sys::COUNTS_WAKES
}

/// Returns whether the system itself can wait on many words at once: `futex_waitv`, in
/// Linux since version 5.16, if no sandbox forbids it. If not,
/// [`wait_any`](crate::wait_any()) uses its fallback.
///
/// ```
/// println!("futex_waitv works: {}", blitz_io::futex::system::has_wait_any());
/// ```
pub fn has_wait_any() -> bool {
    sys::has_wait_any()
}
