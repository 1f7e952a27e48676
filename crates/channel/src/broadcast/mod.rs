//! A channel from several senders to several receivers, each of which gets every
//! value that is sent while it exists. Values are cloned for them.
//!
//! It is made for receivers that keep up. The channel keeps the last `capacity` values, rounded
//! up to a power of two, and a sender never waits for room. A receiver that is slower than that
//! gets an error with the number of values that it has missed
//! ([`RecvError::Lagged`](error::RecvError::Lagged)). It goes on with the oldest value that is
//! left. A value is dropped when the last receiver has got it, or when it is overwritten.
//!
//! Names and semantics are those of `tokio::sync::broadcast`. Additions:
//! [`Receiver::blocking_recv_timeout`], and [`Sender::blocking_closed`] with and without a
//! time-out. Differences:
//!
//! * The last receiver of a value gets the value itself instead of a clone.
//! * `len` and `is_empty` take no lock.
//! * No value's `Drop` runs under a lock.
//!
//! # Restrictions on a value's `Clone`
//!
//! Receivers clone a value one after the other, as `T` need not be `Sync`. No sender waits for a
//! clone: a sender that overwrites the value leaves it to the receiver that clones it. So a
//! value's `Clone` may use the channel, and send into it. Only other receivers of that very value
//! wait. Hence two exceptions, which are deadlocks: a `Clone` must neither receive its own value
//! again, nor drop a receiver that has yet to get it. Nor may it wait for another thread that
//! does so.
//!
//! ```
//! use blitz_io::sync::broadcast;
//!
//! # pollster::block_on(async {
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//!
//! tx.send(10).unwrap();
//! tx.send(20).unwrap();
//! drop(tx);
//!
//! assert_eq!(first.recv().await, Ok(10));
//! assert_eq!(first.recv().await, Ok(20));
//! assert!(first.recv().await.is_err());
//! assert_eq!(second.recv().await, Ok(10));
//! assert_eq!(second.recv().await, Ok(20));
//! # });
//! ```

// # The ring
//
// Values are numbered in the order of sending; a value's *position* is its number.
// `tail` holds the position of the next value. The value of position `p` is in the cell
// of place `p % capacity`, whose `stamp` is `p`, and whose `unread` counts the receivers
// that have yet to get it. With `unread` zero the cell is *spent* and holds nothing.
//
//                     fill, announce (stamp = p, unread = receivers)
//        spent ------------------------------------------------------> unread
//          ^                                                            |  |
//          |     get / renounce by the last one: unread = 0             |  |
//          +------------------------------------------------------------+  |
//          |          overwritten, not in use: evict, fill, announce       |
//        unread, of a later position <-------------------------------------+
//          |                                                               |
//          |   overwritten, in use: another cell takes the place           |
//          +--- free <--- retired by the last that uses it <--- replaced <-+
//
// A receiver is *entitled* to the value of position `p` if `unread` counts it: it subscribed
// before `p` was sent, and has neither got the value nor given it up. It knows this from `next`,
// which is then not above `p`. It loses the right when the value is overwritten.
//
// # Locks
//
// The tail's lock is the lock of the queue `waiting`. Under it `tail` and `receivers`
// change, values and cells are put into places, and receivers join the queue.
//
// A cell's lock is held by the thread that uses an unread value: a receiver that clones it
// or takes it out, a sender that overwrites it. It is a real mutex and not a count of
// readers: a clone may change the value through a `Cell`, and `T` need not be `Sync`.
// It is the only lock under which user code runs, a clone; so only those receivers
// wait for it that need exactly that clone to be over: those of the same value.
// A thread that needs both takes the cell's lock first.
//
// A *spent* cell is filled without its lock:
//
// 1. A receiver that gets a value has found the stamp equal to its `next`, under the cell's lock.
//    So it is entitled, and the cell is not spent until this receiver has counted `unread` down.
// 2. That store (release) is the last use of the value, and the sender has seen it (acquire). So
//    no entitled receiver is at work in a spent cell.
// 3. A receiver that has found its stamp, and then lost its right, may still lock the cell. It
//    looks at the stamp again. Its value was overwritten, or the cell retired, under that lock,
//    so it sees another stamp and touches nothing. Positions are never used again.
//
// The last receiver moves the value out. Others clone it, and a clone that panics is
// caught under the lock and goes on after it, when the receiver has been counted.
//
// # Overwriting a value that is in use
//
// A sender that overwrites does not wait. If it cannot lock the cell at once, it puts a free cell
// in its place, under the tail's lock, unless the tail has moved on. So one sender replaces a
// cell once, and a cell that is in a place is not *replaced*. Receivers entitled to the old value
// that have found its cell may still get it. Others find a later stamp, and lag.
//
// A replaced cell is *retired*, under its lock. Its value, if it has one, is taken out to be
// dropped, `unread` and the stamp are cleared, and it is free for another place. The sender sets
// `replaced`, passes the heavy fence, and then tries the lock. Each thread that has released the
// lock passes the light fence, then looks at `replaced`, and tries the lock if it is set. By the
// two fences, a look that sees `replaced` follows every sender that finds the lock taken. If the
// thread of that look finds the lock taken, its holder will look as well. So the last one to
// release it retires the cell, and the value is dropped then, and only once, as `replaced` is
// cleared under the lock.
//
// No replaced cell is missed:
//
// 1. If the sender finds the lock taken after the heavy fence, that section is released after the
//    fence. So its look, and that of every later section, sees `replaced`.
// 2. The thread of the last section, in the order of the lock's changes, reads its own release,
//    finds the lock free, and retires the cell.
// 3. Without either fence the sender may see an old lock, and the receiver an old `replaced`. The
//    value then stays until the ring is dropped, which frees its memory only.
//
// No model shows the sender's part: its look at the lock is a read-modify-write, which reads the
// newest value as far as the model goes. The sender needs the fence because the receiver's own
// may be light, so that its release may not be visible yet.
//
// Cells are allocated where none is free, and live as long as the channel: a receiver may
// look at a cell that is not in its place any more. There are no more of them beside the
// capacity than were in use at one time.
//
// # Taking without a lock
//
// As long as no value has ever been overwritten in a channel (`Lag`), the last receiver of a
// value does without the cell's lock. It sets `taker`, looks whether there still is no lag, moves
// the value out, and clears `unread`. While it is entitled, no other receiver is, and only an
// overwriting sender could disturb it:
//
// 1. The first sender that has to overwrite announces lag and passes the heavy fence. Then, like
//    all that overwrite after it, it looks at `taker` before it locks the cell.
// 2. By the fence (`fences` in blitz-io-core) every receiver is one of two kinds. Either the sender
//    sees its `taker`: the cell is in use, and replaced. Or the receiver sees the lag, and goes
//    to the lock.
// 3. Lag counts as known only after the fence, so that another sender may rely on it.
// 4. Lag is never forgotten. A receiver may have found its stamp, and sleep, while its value is
//    overwritten and the cell goes round. When it then sets `taker` on top of another's, that
//    other receiver cannot be a taker without a lock any more. Before the first lag there are no
//    such receivers.
//
// A replaced cell whose `taker` is set is left alone. Either the taker moves the value out, and
// the cell is never used again; that happens at most once to each receiver. Or it has seen the
// lag, clears `taker`, locks the cell, and afterwards retires it.
//
// # Cost
//
// A send is one read-modify-write (the lock of the tail; releasing is a plain store). A receive
// is one (the lock of the cell), for the last receiver none before there was lag. An attempt that
// finds no value is two loads. A send that overwrites an unread value is three
// read-modify-writes. The first of these in a channel also pays the heavy fence, and so does one
// that finds the value in use. Tokio's send has four, and its receive two.
//
// # Empty, closed, lagging, or unread
//
// A receiver that does not find its stamp looks at the tail:
//
// - Equal to `next`: there is no value, and if the channel is closed, there will be none.
// - More than the capacity ahead: the receiver lags.
// - In between: there is a value. But a sender may be between the tail and the stamp, or another
//   may just have overwritten it. So the receiver looks at the tail again under the lock, with no
//   sender at work.
//
// The tail is written before the stamp, so no receiver is ever ahead of it.
//
// # No wake-up is lost
//
// A receiver joins the queue under the tail's lock and only if the tail says there
// that nothing has come and the channel is open. A send changes the tail under that
// lock and sees there whether the queue is empty. So either the receiver sees the value, or
// the send sees the receiver, and then wakes all receivers in the queue. It is the same with
// the last sender, which closes the tail.
//
// A sender that waits for the last receiver's end looks at the number of receivers
// under the lock of `close_waiters`; the last receiver empties that queue after it has
// written the zero. So either the sender sees the zero, or it is found in the queue.
//
// # A receiver that goes
//
// It is taken out of `receivers` under the tail's lock, so that values sent later do not count
// it, and then gives up, one after the other, those sent before. When a value's drop panics, it
// still goes on with the others.
//
// When all ends have gone, all cells are spent, so nothing is left to drop.
//
// # Sources
//
// The ring with a stamp per place is Dmitry Vyukov's bounded queue; a count of readers
// per place is how Tokio's channel does it.

mod cell;
pub mod error;
mod receiver;
mod ring;
mod sender;
mod shared;

pub use receiver::Receiver;
pub use sender::{Sender, WeakSender};

/// Creates a channel that keeps `capacity` values, rounded up to a power of two.
///
/// All memory is allocated here, except where a value is overwritten while a receiver
/// clones it: that receiver keeps its place in memory, and the channel takes another.
///
/// # Panics
///
/// If the capacity is zero or exceeds `usize::MAX / 2`.
///
/// ```
/// use blitz_io::sync::broadcast;
///
/// let (tx, mut rx) = broadcast::channel(16);
/// tx.send("hello").unwrap();
/// assert_eq!(rx.try_recv(), Ok("hello"));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::with_receivers(capacity, 1);
    let rx = Receiver::new(tx.shared.clone(), 0);
    (tx, rx)
}
