//! TCP: the halves of streams. The streams themselves are one level up.

pub(crate) mod listener;
pub(crate) mod socket;
mod split;
mod split_owned;
pub(crate) mod stream;

pub use split::{ReadHalf, WriteHalf};
pub use split_owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
