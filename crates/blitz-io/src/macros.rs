//! The attributes, and the macros for several futures in one task.

#[cfg(feature = "rt")]
pub use blitz_macros::{main, test};
// They say that there is no runtime which they could start.
#[cfg(not(feature = "rt"))]
#[doc(hidden)]
pub use blitz_macros::{main_without_runtime as main, test_without_runtime as test};

#[cfg(feature = "rt")]
#[doc(inline)]
pub use blitz_runtime::{join, pin, select, try_join};
// The same ones, from where the runtime has them.
#[cfg(not(feature = "rt"))]
#[doc(inline)]
pub use tokio::{join, pin, select, try_join};
