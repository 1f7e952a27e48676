//! `Fill`: how full a channel is.

/// How full a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The values that have not been received, and the room that senders have reserved.
    pub used: usize,
    /// The room in all; `None` for a channel without a limit.
    pub capacity: Option<usize>,
}
