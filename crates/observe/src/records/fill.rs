//! `Fill`: how full a channel is and how many ends it has, and `Filled`, a channel that says so.

/// How full a channel is, and how many ends it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The values that have not been received, and the room that senders have reserved.
    pub used: usize,
    /// The room in all; `None` for a channel without a limit.
    pub capacity: Option<usize>,
    /// Number of senders.
    pub senders: usize,
    /// Number of receivers.
    pub receivers: usize,
}

/// A channel that says how full it is.
pub trait Filled {
    /// Returns how full the channel is, and how many ends it has. It does not wait, and any thread may
    /// call it, also if the values of the channel must not leave their thread.
    fn fill(&self) -> Fill;
}
