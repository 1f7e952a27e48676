//! The records of channels between threads, outside of a simulation.

use std::thread;

use blitz_io::inspect::{Named, Object, Waiter, snapshot};
use blitz_io::sync::mpsc;

/// Waits until a thread waits for the channel of this name. Returns the thread, the number of its wait, and the channel.
fn waits_for(name: &str, but: u64) -> (Waiter, u64, Object) {
    loop {
        for wait in snapshot().waits {
            let object = wait
                .object
                .filter(|object| object.name.as_deref() == Some(name));
            if let Some(object) = object.filter(|_| wait.id != but) {
                return (wait.waiter, wait.id, object);
            }
        }
        thread::yield_now();
    }
}

/// The receive that moves the value of a waiting thread into the channel is no send.
#[test]
fn the_last_sender_is_the_thread_that_has_waited() {
    let (sender, mut receiver) = mpsc::channel(1);
    let sender = sender.named("full");
    thread::scope(|scope| {
        scope.spawn(move || {
            for value in 1..=3 {
                sender.blocking_send(value).unwrap();
            }
        });
        let (_, second, _) = waits_for("full", 0);
        assert_eq!(receiver.try_recv(), Ok(1));
        let (waiter, _, channel) = waits_for("full", second);
        assert_eq!(channel.sender, Some(waiter));
        assert_eq!(
            (receiver.blocking_recv(), receiver.blocking_recv()),
            (Some(2), Some(3))
        );
    });
}
