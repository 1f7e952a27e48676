//! The I/O driver, in which a thread waits for the operating system.
//!
//! A runtime has one or a few [`Driver`]s. Its workers wait in them when they have nothing
//! to do, and poll them from time to time while they are busy. An event that the system
//! reports wakes the tasks that wait for it. A driver knows only wakers, not tasks.
//!
//! A socket, a pipe or anything else that the system can poll is registered with one driver
//! for as long as it lives: a [`Registration`]. Any thread may wait for it, and any thread
//! may poll a driver.
//!
//! On Linux a driver may have a ring of completions (io_uring) as well, for operations that
//! own their buffers: `Driver::start`. The first such operation sets it up.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> std::io::Result<()> {
//! use std::io::{Read, Write};
//!
//! use blitz_io_driver::{Driver, Registration, Wakers, bits};
//! use mio::Interest;
//! use mio::net::UnixStream;
//!
//! let driver = Driver::new(1024, None)?;
//! let (mut here, mut there) = UnixStream::pair()?;
//! let registration = Registration::new(&mut here, Interest::READABLE, &driver)?;
//! assert_eq!(registration.ready(bits::READABLE).bits, 0);
//!
//! there.write_all(b"ping")?;
//! driver.park(None, &mut Wakers::new());
//! assert_eq!(registration.ready(bits::READABLE).bits, bits::READABLE);
//!
//! let mut read = [0; 8];
//! assert_eq!(here.read(&mut read)?, 4);
//! registration.deregister(&mut here)?;
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

mod kernel;
#[cfg(not(loom))]
mod sources;

/// The ring of completions: io_uring.
#[cfg(io_uring)]
pub mod io_uring {
    pub use io_uring::{opcode, squeue::Entry, types};

    pub use crate::kernel::completion::Finish;
    pub use crate::kernel::ring::{InFlight, Operation, is_given_up, probe, to_result};
}

pub use kernel::bits::Direction;
pub use kernel::driver::{Driver, Reports};
pub use kernel::metrics::Metrics;
pub use kernel::readiness::Event;
pub use kernel::registration::{Registration, is_shut_down_error, shut_down_error};
pub use kernel::wakers::{Wakers, waking};
pub use kernel::{bits, current};
#[cfg(not(loom))]
pub use sources::*;

/// The system's poll, as the models see it.
#[cfg(loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::kernel::completion::{Finish, Shared, cancelled, complete};
    pub use crate::kernel::selector::Source;

    /// Makes an event happen at a source of this driver.
    pub fn happen(driver: &crate::Driver, source: &Source, bits: crate::kernel::bits::Bits) {
        driver.selector.happen(source, bits);
    }

    /// Makes the timer of this driver expire. Returns `false` if it is not set.
    pub fn expire(driver: &crate::Driver) -> bool {
        driver.selector.expire()
    }
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
