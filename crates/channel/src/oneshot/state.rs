//! The bits of a channel's state. What they mean together is in `core.rs`.

use std::fmt;

/// Nothing has happened yet.
pub const NEW: u32 = 0;
/// The sender has made up its mind: it has sent, or never will.
pub const COMPLETE: u32 = 1;
/// It has sent: the value is in its place. Only with `COMPLETE`.
pub const VALUE: u32 = 1 << 1;
/// The receiver wants nothing any more. Never set after `COMPLETE`, and keeps
/// `COMPLETE` from being set.
pub const CLOSED: u32 = 1 << 2;
/// A waker of the receiver is in its place, and belongs to whoever clears this.
pub const RX_TASK: u32 = 1 << 3;
/// A waker of the sender is in its place, and belongs to whoever clears this.
pub const TX_TASK: u32 = 1 << 4;
/// A thread sleeps on the state, to receive.
pub const RX_THREAD: u32 = 1 << 5;
/// A thread sleeps on the state, until the receiver closes.
pub const TX_THREAD: u32 = 1 << 6;
/// The receiver will not look at the cell again.
pub const RX_GONE: u32 = 1 << 7;
/// The sender will not look at the cell again.
pub const TX_GONE: u32 = 1 << 8;

pub const TASKS: u32 = RX_TASK | TX_TASK;
pub const THREADS: u32 = RX_THREAD | TX_THREAD;

/// One end of the channel, as the other sees it.
pub struct Side {
    /// Its waker is there.
    pub task: u32,
    /// Its thread sleeps.
    pub thread: u32,
    /// It has left.
    pub gone: u32,
    /// What it waits for.
    pub until: u32,
}

pub const RECEIVER: Side = Side {
    task: RX_TASK,
    thread: RX_THREAD,
    gone: RX_GONE,
    until: COMPLETE | CLOSED,
};

pub const SENDER: Side = Side {
    task: TX_TASK,
    thread: TX_THREAD,
    gone: TX_GONE,
    until: CLOSED,
};

/// A state, to be shown.
pub struct State(pub u32);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("is_complete", &(self.0 & COMPLETE != 0))
            .field("is_closed", &(self.0 & CLOSED != 0))
            .field("is_rx_task_set", &(self.0 & RX_TASK != 0))
            .field("is_tx_task_set", &(self.0 & TX_TASK != 0))
            .finish()
    }
}
