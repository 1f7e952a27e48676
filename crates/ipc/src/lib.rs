//! Messages between processes of one machine, through shared memory.
//!
//! * [`Route`]: one sender; every receiver gets every message.
//! * [`Channel`]: many senders; every receiver gets every message, all in one order.
//! * [`Queue`]: many senders; each message goes to one receiver.
//!
//! And, without data: [`Event`], [`Semaphore`] and [`Barrier`].
//!
//! ```
//! use blitz_io::ipc::Route;
//!
//! # if blitz_io::ipc::is_supported() {
//! # let name = &format!("prices-lib-{}", std::process::id());
//! # let _ = r#"
//! let name = "prices"; // the same in all processes
//! # "#;
//! let mut receiver = Route::receiver(name)?; // in one process
//! let mut sender = Route::sender(name)?; // in another
//!
//! sender.send(b"ACME 12.50")?;
//! assert_eq!(*receiver.recv()?, *b"ACME 12.50");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The participants share a ring of messages in memory. The first one makes it, and the
//! last one to leave removes it. Sending and receiving enter the kernel only to sleep, or
//! to wake a sleeper.
//!
//! Values of plain types can be sent as they are:
//!
//! * types with `#[derive(PlainData)]` (feature `derive`, which `macros` of `blitz-io`
//!   enables);
//! * types declared by [`plain_data!`];
//! * with the features `bytemuck` and `zerocopy`, the types that these crates consider
//!   plain.
//!
//! Large messages can be written and read in place: [`Sender::loan`], [`Message`].
//!
//! # Waiting
//!
//! Every operation can be tried (`try_…`) or block the thread, with or without a deadline.
//! It can also be awaited, without a helper thread:
//!
//! * in the runtime of blitz-io (`…_async`, with the feature `async`, which `net` of
//!   `blitz-io` enables);
//! * in any other runtime (`…_when`, see [`Receiver::recv_when`]).
//!
//! An operation that blocks does so in a task too, as those of `std::net` and `std::fs` do: nothing
//! panics, and the other tasks of that thread wait.
//!
//! # When a process dies
//!
//! There is no lock in the shared memory, and the kernel decides which processes are alive.
//! So a process can be killed at any instruction, and
//!
//! * a message that it was sending is whole or absent, and a message that was reported as
//!   sent arrives;
//! * senders stop waiting for a killed receiver, and receivers for a killed sender, after a
//!   twentieth of a second at the latest;
//! * a message that it had taken from a queue goes to another receiver, also if no sender is
//!   left;
//! * its permits come back, and a barrier in which it takes part is reported as broken;
//! * its place among the participants can be used again, and the next participant that
//!   opens the segment, or [`clean`], removes the remains of a killed group.
//!
//! A *stopped* process (`SIGSTOP`) is alive: if it is stopped while it sends, receivers
//! wait for it, and senders wait for a stopped receiver when the ring is full.
//!
//! # Permissions and trust
//!
//! By default only processes of the same user can take part: see [`Builder::mode`] and
//! [`Builder::allow_owner`].
//!
//! A user that may write to the file of a segment with a name can make the file shorter,
//! and so end all processes that take part. The size of a segment without a name is sealed.
//!
//! A participant can write anything to the segment. The others check every word that they
//! read: they report [`Corrupt`](RecvError::Corrupt), and never read outside of the
//! segment. They cannot check whether the bytes of a message are those that a sender meant.
//!
//! A receiver that may be overtaken (with [`WhenFull::DropOldest`], with history, or as an
//! [observer](Builder::observer)) copies messages by atomic words, and throws a copy away if
//! it is not whole.
//!
//! After a `fork`, the child cannot use the ends that its parent has opened, and gets an
//! error.
//!
//! # Systems
//!
//! | | with a name | without a name ([`Anonymous`]) | awaited |
//! |---|---|---|---|
//! | Linux, Android | yes | yes | yes |
//! | macOS, FreeBSD | yes | no | yes |
//!
//! On Linux an awaited end is woken at once by participants in the same network namespace;
//! for others it looks again every twentieth of a second.
//!
//! On other systems every attempt returns [`Error::Unsupported`]; see [`is_supported`]. The
//! code for macOS and FreeBSD is compiled against their libraries, but has not run there.

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

#[cfg(not(loom))]
mod api;
// The models use the kernel as it stands.
#[cfg(not(loom))]
mod kernel;
#[cfg(loom)]
#[doc(hidden)]
pub mod kernel;

#[cfg(not(loom))]
pub use api::*;
#[doc(hidden)]
pub use kernel::step;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
