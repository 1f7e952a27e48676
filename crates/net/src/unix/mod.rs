//! Items that only Unix has: addresses and halves of Unix sockets, credentials, pipes. The
//! sockets themselves are one level up.

pub(crate) mod datagram;
pub(crate) mod listener;
pub mod pipe;
pub(crate) mod socket;
mod socketaddr;
mod split;
mod split_owned;
pub(crate) mod stream;
mod ucred;

pub use socketaddr::SocketAddr;
pub use split::{ReadHalf, WriteHalf};
pub use split_owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use ucred::UCred;

/// The ID of a user.
#[allow(non_camel_case_types)]
pub type uid_t = u32;

/// The ID of a group.
#[allow(non_camel_case_types)]
pub type gid_t = u32;

/// The ID of a process.
#[allow(non_camel_case_types)]
pub type pid_t = i32;
