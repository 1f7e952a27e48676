//! Many senders, one receiver: bounded and unbounded.
//!
//! A drop-in for `tokio::sync::mpsc`, with the same names, errors and rules, for
//! any runtime, for threads, and for both at once: every operation that waits has
//! a `blocking_` form.
//!
//! ```
//! # pollster::block_on(async {
//! use blitz_channel::mpsc;
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
//! **Order.** What one sender sends is received in the order in which it was sent.
//!
//! **Room.** A bounded channel has room for as many values as it was made for,
//! including those for which there are permits. Who waits for room is served in
//! turn, and nobody overtakes those who wait. A channel allocates room in blocks
//! as it fills, and uses blocks again: in steady use it allocates nothing.
//!
//! **The end.** When all senders are gone, or the receiver has
//! [closed](Receiver::close) the channel and no permit is out, the receiver gets
//! what is left, and then `None`. When the receiver is gone, what is left is
//! dropped, and senders get their values back.
//
// # How it works
//
// The queue is a list of blocks of slots (`block.rs`). Senders claim slots by
// counting up a position; one word (`word.rs`) holds it together with all that
// decides whether a sender may claim: how many permits are out, whether senders
// wait, whether the channel is closed. So to send is one read-modify-write, to
// claim, and one store, to say that the slot is filled (`chan.rs`). A thread that
// sends all the time does without the read-modify-write (`bias.rs`). The receiver
// looks at the next slot until it is filled; to receive is plain loads and stores
// (`rx.rs`). Room is what the word says minus what the receiver has counted in
// `head`.
//
// ## Blocks
//
// Who claims the last slot of a block links the next one, and keeps others from
// claiming meanwhile (`INSTALLING`). So a claimed slot is always in the last block
// or in one before it, and a sender finds its block from the last one, backwards.
// It looks *after* claiming. As the receiver cannot pass a slot that is not filled,
// the blocks it looks at cannot go away. When the receiver has read a block to its
// end nobody else uses it: a sender's last step in a block is to fill its slot,
// and the one that links the next block does so before. So the block can be used
// again (`spares.rs`).
//
// ## The receiver sleeps
//
// It sits down (`seat.rs`), sets `RX_WAITS` in the word, and sees in the same step
// whether all claimed slots have been read. If so it sleeps: the next one to claim
// a slot clears the flag in the same step, and has the duty to wake it when the
// slot is filled; nobody else can do better, as the receiver has to wait for that
// slot. If not, some sender is between claiming and filling. It may not have seen
// the flag, so the receiver does not sleep: it looks some more times, and then
// lets other threads or tasks run and looks again.
//
// The last sender to leave, and the last permit to come back to a closed channel,
// wake the receiver through its seat. If the lock of the seat is theirs before it
// is the receiver's, the receiver sees, after that, that they have left.
//
// ## Senders sleep
//
// See `wait.rs`.
//
// ## Sources
//
// Linked blocks with a gate at the last slot: crossbeam's `SegQueue`. Blocks that
// are used again and a receiver that never writes into the senders' counter:
// Tokio's channel. The word with all conditions, stamps by turns, finding the
// block after the claim, and the fence that only waiting senders pay for are ours;
// `bias.rs` names its own.

#[cfg(not(loom))]
mod bias;
#[cfg(loom)]
#[doc(hidden)]
pub mod bias;
mod block;
mod chan;
mod closed;
pub mod error;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
#[doc(hidden)]
pub mod mutant;
mod permit;
mod receiver;
mod rx;
mod seat;
#[cfg(feature = "time")]
mod send_timeout;
mod sender;
mod spares;
mod tx;
mod unbounded;
mod wait;
mod weak;
mod word;

pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};
pub use sender::Sender;
pub use unbounded::UnboundedSender;
pub use weak::{WeakSender, WeakUnboundedSender};

/// The most that a bounded channel can be made for, as in Tokio.
const MAX_CAPACITY: usize = usize::MAX >> 3;

/// Makes a channel with room for `buffer` values.
///
/// Nothing is allocated for room that is not used. There are never more than
/// 2^31 - 1 values in a channel, however large `buffer` is.
///
/// # Panics
///
/// If `buffer` is 0, or larger than `usize::MAX >> 3`.
///
/// ```
/// # pollster::block_on(async {
/// use blitz_channel::mpsc;
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
    let (tx, rx) = chan::channel(Some(buffer));
    (Sender::new(tx), Receiver::new(rx))
}

/// Makes a channel that always has room: to send never waits.
///
/// If the receiver is slower than the senders, memory fills up.
///
/// ```
/// # pollster::block_on(async {
/// use blitz_channel::mpsc;
///
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send(7).unwrap();
/// assert_eq!(rx.recv().await, Some(7));
/// # });
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = chan::channel(None);
    (UnboundedSender::new(tx), UnboundedReceiver::new(rx))
}
