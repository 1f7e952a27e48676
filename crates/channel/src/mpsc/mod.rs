//! Many senders, one receiver: bounded and unbounded.
//!
//! The names, errors and rules are those of `tokio::sync::mpsc`. It works under any
//! runtime, between threads, and between the two: every operation that waits has a
//! `blocking_` form.
//!
//! ```
//! # pollster::block_on(async {
//! use blitz_io::sync::mpsc;
//!
//! let (tx, mut rx) = mpsc::channel(100);
//! let sender = std::thread::spawn(move || {
//!     for n in 0..10 {
//!         tx.blocking_send(n).unwrap();
//!     }
//! });
//! let mut sum = 0;
//! while let Some(n) = rx.recv().await {
//!     sum += n;
//! }
//! assert_eq!(sum, 45);
//! # sender.join().unwrap();
//! # });
//! ```
//!
//! **Order.** The values of one sender are received in the order in which it sent
//! them.
//!
//! **Capacity.** A bounded channel has room for as many values as it was made for,
//! including those for which permits are out. Senders that wait for room are served
//! in the order of their arrival, and no other sender overtakes them. A channel
//! allocates memory in blocks as it fills, and uses blocks again: in steady use it
//! allocates nothing.
//!
//! **The end.** When all senders have been dropped, or the receiver has
//! [closed](Receiver::close) the channel and no permit is out, the receiver gets
//! the values that are left, and then `None`. When the receiver is dropped, the values
//! that are left are dropped, and senders get their values back.
//!
//! **Futures.** A future of `recv` holds no value; one of `send` or `reserve` that is
//! kept without being polled keeps its turn, and the room it has been given, from
//! the senders behind it. Drop futures that you do not poll any more.
//
// # How it works
//
// The queue is a list of blocks of slots (`block.rs`). Senders claim slots by counting up a
// position. One word (`word.rs`) holds the position and the other conditions of a claim: how many
// permits are out, whether senders wait, whether the channel is closed. So sending is one
// read-modify-write, the claim, and one store, which says that the slot is filled. The receiver
// looks at the next slot until it is filled; receiving is plain loads and stores (`rx.rs`). The
// room is the capacity, minus the claims in the word, plus the receiver's count in `head`.
//
// ## Blocks
//
// A thread claims the last slot of a block under a lock, after it has linked the next block. So:
//
// 1. A claimed slot is always in the last block or in one before it. A sender finds its block
//    from the last one, backwards. It looks *after* claiming.
// 2. The receiver cannot pass a slot that is not filled, so the blocks that the sender looks at
//    stay.
// 3. When the receiver has read a block to its end, no sender uses it: a sender's last step in a
//    block is to fill its slot. The next block was linked before that. So the block can be used
//    again.
//
// The address of the last block is stored with release and loaded with acquire. A
// sender that claimed a slot before the next block was linked may find that one
// first, and reads its header; nothing else orders that after the link.
//
// ## The receiver sleeps
//
// It registers (`rx_waiter.rs`), sets `RX_WAITS` in the word, and sees in the same step whether
// all claimed slots have been read. If so, it sleeps. The next sender to claim a slot clears the
// flag in the same step, and wakes the receiver when the slot is filled. No other sender can do
// better, as the receiver has to wait for that slot.
//
// If not, some sender is between claiming and filling. It runs no code of the user's there, but the
// system may have preempted it. It claimed the slot before the receiver announced itself, so it
// wakes nothing. Hence:
//
// 1. A thread looks for the value some times, and then yields its processor between two looks. It
//    does not sleep, so it needs no wake-up.
// 2. A poll looks some times and yields once. If the slot is still not filled, the receiver wakes
//    its own task before it returns `Pending`. So the task is polled again after the other tasks of
//    its scheduler, and needs no wake-up of the sender. No poll waits for a preempted thread.
//
// The last sender to be dropped, and the last permit to come back to a closed channel, wake the
// receiver through the same registration. If they take its lock before the receiver does, the
// receiver sees after that that they have left.
//
// ## Senders sleep
//
// For room: see `wait.rs`. For the lock under which blocks are linked: as for any
// lock.
//
// ## Sources
//
// Linked blocks that are used again and a receiver that never writes into the
// senders' counter: Tokio's channel. New here are the word with all conditions, finding
// the block after the claim, clearing its stamps when it is linked, and the fences that
// only waiting ends pay for.

mod block;
mod chan;
pub mod error;
mod permit;
#[cfg(feature = "sink")]
mod poll_sender;
mod receiver;
mod request;
mod rx;
mod rx_waiter;
#[cfg(feature = "time")]
mod send_timeout;
mod sender;
mod tx;
mod wait;
mod word;

use chan::Chan;
use rx::Rx;
use tx::Tx;

pub use permit::{OwnedPermit, Permit, PermitIterator};
#[cfg(feature = "sink")]
pub use poll_sender::{PollSendError, PollSender};
pub use receiver::{Receiver, UnboundedReceiver};
pub use sender::{Sender, UnboundedSender, WeakSender, WeakUnboundedSender};

/// The largest capacity of a bounded channel, as in Tokio.
const MAX_CAPACITY: usize = usize::MAX >> 3;

/// Creates a bounded channel with room for `buffer` values.
///
/// Memory is allocated as the channel fills. It never holds more than 2^31 - 1 values,
/// however large `buffer` is.
///
/// # Panics
///
/// Panics if `buffer` is 0, or larger than `usize::MAX >> 3`.
///
/// ```
/// # pollster::block_on(async {
/// use blitz_io::sync::mpsc;
///
/// let (tx, mut rx) = mpsc::channel(100);
/// tx.send(7).await.unwrap();
/// assert_eq!(rx.recv().await, Some(7));
/// # });
/// ```
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(
        buffer <= MAX_CAPACITY,
        "a semaphore may not have more than MAX_PERMITS permits ({MAX_CAPACITY})"
    );
    let (chan, cursor) = Chan::new(Some(buffer), 0);
    (
        Sender::new(Tx::new(chan.clone())),
        Receiver::new(Rx::new(chan, cursor)),
    )
}

/// Creates an unbounded channel: sending never waits.
///
/// If the receiver is slower than the senders, memory use grows. The channel holds at most
/// 2^31 - 1 values: then a send fails, and returns the value.
///
/// ```
/// # pollster::block_on(async {
/// use blitz_io::sync::mpsc;
///
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send(7).unwrap();
/// assert_eq!(rx.recv().await, Some(7));
/// # });
/// ```
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (chan, cursor) = Chan::new(None, 0);
    (
        UnboundedSender::new(Tx::new(chan.clone())),
        UnboundedReceiver::new(Rx::new(chan, cursor)),
    )
}
