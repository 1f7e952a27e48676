//! A channel from several senders to several receivers, each of which gets every
//! value that is sent while it exists. Values are cloned for them.
//!
//! It is made for receivers that keep up. The channel keeps the last `capacity`
//! values, rounded up to a power of two; a sender never waits for room, and a receiver that
//! is slower than that is told how many values it has missed
//! ([`RecvError::Lagged`](error::RecvError::Lagged)) and goes on with the oldest
//! one that is left. A value is dropped when the last receiver has got it, or when
//! it is overwritten.
//!
//! Names and semantics are those of `tokio::sync::broadcast`. What is added:
//! [`Receiver::blocking_recv_timeout`], and [`Sender::blocking_closed`] with and
//! without a time-out. What differs: the last receiver of a value gets the value
//! itself instead of a clone; asking how much there is, or whether there is anything,
//! takes no lock; no value's `Drop` runs under a lock.
//!
//! # What a value's `Clone` may do
//!
//! A value is cloned by one receiver at a time, as `T` need not be `Sync`. Meanwhile no
//! sender waits for it, also not one that overwrites it: that one leaves the value to the
//! receiver that clones it. So a value's `Clone` may use the channel, and send into it. Only
//! other receivers of that very value wait. Hence two exceptions, which are deadlocks: a
//! `Clone` must neither receive its own value once more, nor drop a receiver that has
//! yet to get it. Nor may it wait for another thread that does so.
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
// A receiver is *entitled* to the value of position `p` if it is one of those that
// `unread` counts: it had subscribed before `p` was sent, and has neither got it nor
// given it up. It knows itself by `next`, which is then not above `p`. It loses the
// right when the value is overwritten.
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
// A *spent* cell is filled without its lock. No receiver can be at work in it: one that
// gets a value has found the stamp equal to its `next`, under the cell's lock, so it is
// entitled, and the cell is not spent until this receiver has counted `unread` down. That
// store (release) is the last use of the value, and the sender has seen it (acquire). A
// receiver that has found its stamp, and then lost its right, may come and lock the cell at
// any time, but looks at the stamp again and touches nothing: its value was overwritten, or
// the cell retired, under that lock, so it sees another stamp. Positions are never used
// again.
//
// The last receiver moves the value out. Others clone it, and a clone that panics is
// caught under the lock and goes on after it, when the receiver has been counted.
//
// # Overwriting a value that is in use
//
// A sender that overwrites does not wait. If it cannot lock the cell at once, it puts
// a free one in its place, under the tail's lock, and only then, and only if the tail has
// not moved on; so one sender replaces a cell once, and a cell that is in a place is not
// *replaced*. Receivers entitled to the old value that have found its cell may still get it;
// others find a later stamp, and lag.
//
// A replaced cell is *retired*, under its lock: its value, if it has one, goes to be
// dropped, `unread` and the stamp are cleared, and it is free for another place. The
// sender sets `replaced`, passes the heavy fence, and then tries the lock. Each
// thread that has released the lock passes the light fence, then looks at `replaced`, and
// tries the lock if it is set. By the two fences, a sender that finds the lock taken is
// followed by a look that sees `replaced`. If that look's thread in turn finds the lock
// taken, its holder will look as well. So the last one to release it retires the cell,
// and the value is dropped then, and only once, as `replaced` is cleared under the lock.
//
// Why none is missed: if the sender finds the lock taken after the heavy fence, that
// section is released after the fence, so its look, and that of every later section, sees
// `replaced`. Take the last section in the order of the lock's changes: its thread reads
// its own release, finds the lock free, and retires the cell. Without either fence the
// sender may see an old lock, and the receiver an old `replaced`: the value then stays
// until the ring is dropped, which frees its memory only. (No model shows the sender's part:
// its look at the lock is a read-modify-write, which reads the newest value as far as the
// model goes. The fence is there because the receiver's own may be light, and then its
// release can be on its way still.)
//
// Cells are allocated where none is free, and live as long as the channel: a receiver may
// look at a cell that is not in its place any more. There are no more of them beside the
// capacity than were in use at one time.
//
// # The last receiver, without a lock
//
// As long as no value has ever been overwritten in a channel (`Lag`), the last
// receiver of a value does without the cell's lock: it sets `taker`, looks whether
// there still is no lag, moves the value out, and clears `unread`. While it is entitled,
// no other receiver is, and only an overwriting sender could disturb it. The first sender
// that has to overwrite says that there is lag, passes the heavy fence, and then,
// like all that overwrite after it, looks at `taker` before it locks the cell. By the
// fence (`fences` in blitz-sync) every receiver is one of two kinds. Either its `taker`
// is seen: the cell is in use, and replaced. Or it sees the lag, and goes to the lock.
// That lag is known is said after the fence, so that another sender may rely on it.
// Lag is never forgotten: a receiver may have found its stamp, and sleep,
// while its value is overwritten and the cell goes round; when it sets `taker` then, on
// top of another's, that other one cannot be a taker without a lock any more. Before
// the first lag there are no such receivers.
//
// A replaced cell whose `taker` is set is left alone. The taker either moves the value
// out, and the cell is never used again, which happens at most once to each receiver; or
// it has seen the lag, clears `taker`, locks the cell, and afterwards retires it.
//
// # What it costs
//
// A send is one read-modify-write (the lock of the tail; releasing is a plain store).
// A receive is one (the lock of the cell), for the last receiver none before there
// was lag. An attempt that finds nothing is two loads, and a send that overwrites an
// unread value is three read-modify-writes; the first one in a channel also pays the
// heavy fence, and so does one that finds the value in use. Tokio's send has four, and its receive two.
//
// # Empty, closed, lagging, or there
//
// A receiver that does not find its stamp looks at the tail, which says it all: equal
// to `next`, there is nothing (and will not be, if it is closed); more than the
// capacity ahead, the receiver lags. In between, the value is there, except that a
// sender may be between the tail and the stamp, or another may just have overwritten
// it; then the receiver looks at the tail again under the lock, with no sender at work.
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
// It is taken out of `receivers` under the tail's lock, so that values sent later do
// not count it, and then gives up, one after the other, those sent before. When a
// value's drop panics, it goes on with the others all the same.
//
// When all ends have gone, all cells are spent, so nothing is left to drop.
//
// # Sources
//
// The ring with a stamp per place is Dmitry Vyukov's bounded queue; a count of readers
// per place is how Tokio's channel does it.

mod cell;
pub mod error;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
#[doc(hidden)]
pub mod mutant;
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
