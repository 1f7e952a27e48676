// Scenarios for a channel for one value. Included once with Tokio's `oneshot` in
// scope, once with ours.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use blitz_io_testing::{Drops, Wakings, poll_once, traits_of};
use oneshot::error::{RecvError, TryRecvError};

type Local = std::rc::Rc<()>;
type Inner = std::cell::Cell<u8>;

#[allow(dead_code)]
pub fn traits() -> Vec<[bool; 5]> {
    vec![
        traits_of!(oneshot::Sender<u8>),
        traits_of!(oneshot::Sender<Local>),
        traits_of!(oneshot::Sender<Inner>),
        traits_of!(oneshot::Sender<std::marker::PhantomPinned>),
        traits_of!(oneshot::Sender<std::sync::MutexGuard<'static, u8>>),
        traits_of!(oneshot::Receiver<u8>),
        traits_of!(oneshot::Receiver<Local>),
        traits_of!(oneshot::Receiver<Inner>),
        traits_of!(oneshot::Receiver<std::marker::PhantomPinned>),
        traits_of!(oneshot::Receiver<std::sync::MutexGuard<'static, u8>>),
        traits_of!(RecvError),
        traits_of!(TryRecvError),
    ]
}

/// The `Debug` output, step by step.
#[allow(dead_code)]
pub fn shown() -> Vec<String> {
    let mut shown = Vec::new();
    let (_, waker) = Wakings::new();
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    shown.push(format!("{tx:?} {rx:?}"));
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
    shown.push(format!("{tx:#?} {rx:#?}"));
    drop(tx);
    assert!(poll_once(pin!(&mut rx), &waker).is_ready());
    shown.push(format!("{rx:?}"));

    let (tx, mut rx) = oneshot::channel::<u8>();
    rx.close();
    shown.push(format!("{tx:?} {rx:?}"));
    let error = rx.try_recv().unwrap_err();
    shown.push(format!("{rx:?} {error:?} {error}"));
    let (tx, rx) = oneshot::channel::<u8>();
    tx.send(1).unwrap();
    shown.push(format!("{rx:?}"));
    let (tx, rx) = oneshot::channel::<u8>();
    drop(tx);
    shown.push(format!("{rx:?}"));
    let error = rx.blocking_recv().unwrap_err();
    shown.push(format!("{error:?} {error} {}", TryRecvError::Empty));
    shown
}

/// The message of a panic.
fn said(action: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
    payload.downcast_ref::<&str>().unwrap().to_string()
}

#[test]
fn a_value_is_received_once() {
    let (tx, mut rx) = oneshot::channel();
    assert!(rx.is_empty() && !rx.is_terminated() && !tx.is_closed());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.send(1), Ok(()));
    assert!(!rx.is_empty() && !rx.is_terminated());
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(rx.is_empty() && rx.is_terminated());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    rx.close();
    let (_, waker) = Wakings::new();
    assert_eq!(
        said(|| _ = poll_once(pin!(&mut rx), &waker)),
        "called after complete"
    );
    assert_eq!(said(|| _ = rx.blocking_recv()), "called after complete");
}

#[test]
fn a_dropped_sender_is_noticed() {
    let (tx, mut rx) = oneshot::channel::<u8>();
    drop(tx);
    assert!(rx.is_empty() && !rx.is_terminated());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert!(rx.is_terminated());

    let (tx, mut rx) = oneshot::channel::<u8>();
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    drop(tx);
    assert_eq!(wakings.count(), 1);
    assert!(matches!(
        poll_once(pin!(&mut rx), &waker),
        Poll::Ready(Err(_))
    ));
    assert!(rx.is_terminated());
}

#[test]
fn a_closed_receiver_gets_what_was_sent_before() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    rx.close();
    rx.close();
    assert!(!rx.is_empty());
    assert_eq!(rx.try_recv(), Ok(1));

    let (tx, mut rx) = oneshot::channel();
    rx.close();
    assert!(tx.is_closed() && rx.is_empty() && !rx.is_terminated());
    assert_eq!(tx.send(1), Err(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert!(rx.is_terminated());

    let (tx, mut rx) = oneshot::channel::<u8>();
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(pin!(&mut rx), &waker).is_pending());
    rx.close();
    assert!(matches!(
        poll_once(pin!(&mut rx), &waker),
        Poll::Ready(Err(_))
    ));
    drop(tx);
    assert_eq!(wakings.count(), 0);
}

#[test]
fn the_sender_learns_of_the_end() {
    type End = fn(oneshot::Receiver<u8>) -> Option<oneshot::Receiver<u8>>;
    let ends: [End; 2] = [
        |rx| {
            drop(rx);
            None
        },
        |mut rx| {
            rx.close();
            Some(rx)
        },
    ];
    for end in ends {
        let (mut tx, rx) = oneshot::channel();
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
        assert!(
            tx.poll_closed(&mut std::task::Context::from_waker(&waker))
                .is_pending()
        );
        let _closed = end(rx);
        assert_eq!(wakings.count(), 1);
        assert!(poll_once(pin!(tx.closed()), &waker).is_ready());
        assert!(poll_once(pin!(tx.closed()), &waker).is_ready());
        assert_eq!(tx.send(1), Err(1));
    }
}

#[test]
fn a_value_that_was_received_does_not_wake_the_sender() {
    let (mut tx, mut rx) = oneshot::channel();
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(pin!(tx.closed()), &waker).is_pending());
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    drop(rx);
    assert_eq!(wakings.count(), 0);
}

#[test]
fn each_poll_brings_its_own_waker() {
    let (tx, mut rx) = oneshot::channel();
    let wakings = [(); 3].map(|()| {
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(pin!(&mut rx), &waker).is_pending());
        assert!(poll_once(pin!(&mut rx), &waker).is_pending());
        wakings
    });
    tx.send(1).unwrap();
    assert_eq!(wakings.map(|wakings| wakings.count()), [0, 0, 1]);
}

#[test]
fn values_are_dropped_with_the_last_that_can_get_them() {
    let drops = Drops::new();
    let (tx, rx) = oneshot::channel();
    tx.send(drops.counted(())).unwrap();
    assert_eq!(drops.count(), 0);
    drop(rx);
    assert_eq!(drops.count(), 1);

    let (tx, mut rx) = oneshot::channel();
    tx.send(drops.counted(())).unwrap();
    rx.close();
    assert_eq!(drops.count(), 1);
    drop(rx);
    assert_eq!(drops.count(), 2);
}

#[test]
fn values_of_all_sizes_arrive() {
    #[repr(align(256))]
    #[derive(Debug, PartialEq)]
    struct Aligned(u8);

    let (tx, mut rx) = oneshot::channel();
    tx.send(()).unwrap();
    assert_eq!(rx.try_recv(), Ok(()));
    let (tx, mut rx) = oneshot::channel();
    tx.send([7_u8; 3000]).unwrap();
    assert_eq!(rx.try_recv(), Ok([7; 3000]));
    let (tx, mut rx) = oneshot::channel();
    tx.send(Aligned(1)).unwrap();
    assert_eq!(rx.try_recv(), Ok(Aligned(1)));
    let (tx, mut rx) = oneshot::channel();
    tx.send(Box::new("boxed")).unwrap();
    assert_eq!(rx.try_recv(), Ok(Box::new("boxed")));
}

#[test]
fn a_thread_waits_for_a_task() {
    let (tx, rx) = oneshot::channel();
    let thread = thread::spawn(move || rx.blocking_recv());
    pollster::block_on(async { tx.send(9).unwrap() });
    assert_eq!(thread.join().unwrap(), Ok(9));
}

#[test]
fn a_sender_may_be_used_in_a_destructor() {
    struct OnDrop(Option<oneshot::Sender<u8>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            _ = self.0.take().unwrap().send(1);
        }
    }
    let (tx, rx) = oneshot::channel();
    drop(OnDrop(Some(tx)));
    assert_eq!(pollster::block_on(rx), Ok(1));
}

#[allow(dead_code)]
fn the_futures_go_anywhere() {
    fn check(_: impl Send + Sync) {}
    let (mut tx, mut rx) = oneshot::channel::<u8>();
    check(&mut rx);
    check(tx.closed());
}
