//! One value that changes, and many receivers that watch it.
//!
//! A [`Sender`] replaces or changes the value; each [`Receiver`] sees the latest one and can wait
//! for the next. It is no queue: a receiver that looks late does not see the values before. Use
//! it for settings, states, and progress.
//!
//! * [`Receiver::changed`] waits until there is a value that this receiver has not
//!   seen. The value that a channel or a receiver begins with counts as seen.
//! * [`Receiver::borrow_and_update`] looks at the value and lets it count as seen;
//!   [`Receiver::borrow`] only looks.
//! * [`Receiver::wait_for`] waits until the value is as wanted.
//! * When all senders have been dropped, `changed` fails, after the last value has been seen.
//!   When all receivers have been dropped, `send` fails, and [`Sender::closed`] is ready.
//!   The value lives as long as any end.
//!
//! Names and behaviour are those of `tokio::sync::watch`. No runtime is needed, and a wait can
//! also block its thread ([`Receiver::blocking_changed`]).
//!
//! ```
//! use blitz_io::sync::watch;
//!
//! # pollster::block_on(async {
//! let (tx, mut rx) = watch::channel("hello");
//!
//! let greeter = std::thread::spawn(move || {
//!     let mut heard = vec![*rx.borrow_and_update()];
//!     while rx.blocking_changed().is_ok() {
//!         heard.push(*rx.borrow_and_update());
//!     }
//!     heard.last().copied()
//! });
//! tx.send("world").unwrap();
//! drop(tx);
//! assert_eq!(greeter.join().unwrap(), Some("world"));
//! # });
//! ```

mod awaited;
pub mod error;
mod lock;
mod receiver;
mod reference;
mod sender;
mod shared;

use std::sync::Arc;

pub use receiver::Receiver;
pub use reference::Ref;
pub use sender::Sender;

use shared::{Shared, Version};

/// Makes a channel with this value, which counts as seen.
///
/// ```
/// use blitz_io::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(init));
    let tx = Sender {
        shared: shared.clone(),
    };
    (tx, Receiver::new(shared, Version::FIRST))
}
