// Scenarios for a channel for a value that changes. Included once with Tokio's
// `watch` in scope, once with ours.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use blitz_io_testing::{Drops, Wakings, poll_once, traits_of};
use watch::error::{RecvError, SendError};

type Local = std::rc::Rc<()>;
type Inner = std::cell::Cell<u8>;
type Guard = std::sync::MutexGuard<'static, u8>;

#[allow(dead_code)]
pub fn traits() -> Vec<[bool; 5]> {
    vec![
        traits_of!(watch::Sender<u8>),
        traits_of!(watch::Sender<Local>),
        traits_of!(watch::Sender<Inner>),
        traits_of!(watch::Sender<Guard>),
        traits_of!(watch::Receiver<u8>),
        traits_of!(watch::Receiver<Local>),
        traits_of!(watch::Receiver<Inner>),
        traits_of!(watch::Receiver<Guard>),
        traits_of!(watch::Receiver<std::marker::PhantomPinned>),
        traits_of!(watch::Ref<'static, u8>),
        traits_of!(watch::Ref<'static, Local>),
        traits_of!(watch::Ref<'static, Inner>),
        traits_of!(watch::Ref<'static, Guard>),
        traits_of!(SendError<u8>),
        traits_of!(RecvError),
    ]
}

/// The `Debug` output, step by step.
#[allow(dead_code)]
pub fn shown() -> Vec<String> {
    let mut shown = Vec::new();
    let (tx, mut rx) = watch::channel("value");
    shown.push(format!("{tx:?} {rx:?}"));
    tx.send("other").unwrap();
    shown.push(format!("{tx:#?} {rx:#?}"));
    shown.push(format!("{:?} {:?}", rx.borrow(), tx.borrow()));
    shown.push(format!("{:?}", rx.borrow_and_update()));
    let other = rx.clone();
    shown.push(format!("{tx:?} {rx:?}"));
    rx.mark_changed();
    rx.mark_changed();
    shown.push(format!("{rx:?}"));
    tx.send_modify(|_| shown.push(format!("{other:?}")));
    drop(tx);
    shown.push(format!("{rx:?}"));
    let error = rx.has_changed().unwrap_err();
    shown.push(format!(
        "{error:?} {error} {:?} {}",
        error.clone(),
        SendError(1)
    ));
    shown.push(format!(
        "{:?} {:?}",
        SendError(1),
        watch::Sender::<u8>::default()
    ));
    shown
}

/// Polls once, and tells whether that was enough, and with which result.
macro_rules! poll {
    ($future:expr) => {{
        let (_, waker) = Wakings::new();
        match poll_once(pin!($future), &waker) {
            std::task::Poll::Ready(result) => Some(result.is_ok()),
            std::task::Poll::Pending => None,
        }
    }};
}

#[test]
fn what_is_new_is_seen_once() {
    let (tx, mut rx) = watch::channel(1);
    assert!(!rx.has_changed().unwrap());
    assert_eq!(poll!(rx.changed()), None);
    tx.send(2).unwrap();
    tx.send(3).unwrap();
    assert!(rx.has_changed().unwrap());
    assert!(rx.borrow().has_changed());
    assert!(!tx.borrow().has_changed());
    assert_eq!(*rx.borrow(), 3);
    assert_eq!(poll!(rx.changed()), Some(true));
    assert!(!rx.has_changed().unwrap());
    assert_eq!(poll!(rx.changed()), None);
    tx.send(4).unwrap();
    let seen = rx.borrow_and_update();
    assert!(seen.has_changed() && *seen == 4);
    drop(seen);
    assert!(!rx.borrow_and_update().has_changed());
    assert_eq!(poll!(rx.changed()), None);
}

#[test]
fn marks_are_obeyed() {
    let (tx, mut rx) = watch::channel(1);
    rx.mark_changed();
    assert!(rx.has_changed().unwrap() && rx.borrow().has_changed());
    assert_eq!(poll!(rx.changed()), Some(true));
    tx.send(2).unwrap();
    rx.mark_unchanged();
    assert!(!rx.has_changed().unwrap());
    assert_eq!(poll!(rx.changed()), None);
    tx.send(3).unwrap();
    let mut other = rx.clone();
    rx.mark_unchanged();
    assert!(other.has_changed().unwrap());
    assert_eq!(poll!(other.changed()), Some(true));
}

#[test]
fn the_end_comes_after_the_last_value() {
    let (tx, mut rx) = watch::channel(1);
    let other = tx.clone();
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 1));
    tx.send(2).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert!(rx.is_closed() && rx.has_changed().is_err());
    assert_eq!(poll!(rx.changed()), Some(true));
    assert_eq!(poll!(rx.changed()), Some(false));
    assert_eq!(*rx.borrow(), 2);
    rx.mark_changed();
    assert_eq!(poll!(rx.changed()), Some(true));
    assert_eq!(poll!(rx.changed()), Some(false));
    assert_eq!(poll!(rx.clone().changed()), Some(false));
}

#[test]
fn the_end_wakes() {
    let (tx, mut rx) = watch::channel(1);
    let mut changed = pin!(rx.changed());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    drop(tx);
    assert_eq!(wakings.count(), 1);
    assert!(matches!(
        poll_once(changed, &waker),
        std::task::Poll::Ready(Err(_))
    ));
}

#[test]
fn sending_to_nobody() {
    let tx = watch::Sender::new(1);
    assert!(tx.is_closed());
    assert_eq!(tx.send(2), Err(SendError(2)));
    assert_eq!(*tx.borrow(), 1);
    assert_eq!(tx.send_replace(3), 1);
    tx.send_modify(|value| *value += 1);
    assert!(tx.send_if_modified(|value| {
        *value += 1;
        true
    }));
    let rx = tx.subscribe();
    assert!(!tx.is_closed());
    assert_eq!(*rx.borrow(), 5);
    assert!(!rx.has_changed().unwrap());
}

#[test]
fn what_is_not_modified_is_not_new() {
    let (tx, rx) = watch::channel(1);
    assert!(!tx.send_if_modified(|value| {
        *value = 2;
        false
    }));
    assert!(!rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 2);
}

#[test]
fn the_sender_learns_that_nobody_watches() {
    let (tx, rx) = watch::channel(1);
    let mut closed = pin!(tx.closed());
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    let other = rx.clone();
    drop(rx);
    assert_eq!(wakings.count(), 0);
    drop(other);
    assert_eq!(wakings.count(), 1);
    // A receiver has come back before the sender could look.
    let rx = tx.subscribe();
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    drop(rx);
    assert_eq!(wakings.count(), 2);
    assert!(poll_once(closed, &waker).is_ready());
}

#[test]
fn waiting_for_a_value() {
    let (tx, mut rx) = watch::channel(1);
    // It begins with the present one, seen or not.
    assert_eq!(poll!(rx.wait_for(|&value| value == 1)), Some(true));
    tx.send(2).unwrap();
    let mut asked = Vec::new();
    {
        let mut wanted = pin!(rx.wait_for(|&value| {
            asked.push(value);
            value == 4
        }));
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(wanted.as_mut(), &waker).is_pending());
        tx.send(3).unwrap();
        assert_eq!(wakings.count(), 1);
        assert!(poll_once(wanted.as_mut(), &waker).is_pending());
        tx.send(4).unwrap();
        assert!(poll_once(wanted, &waker).is_ready());
    }
    assert_eq!(asked, [2, 3, 4]);
    assert!(!rx.has_changed().unwrap());
    // A value that was not wanted counts as seen.
    tx.send(5).unwrap();
    assert_eq!(poll!(rx.wait_for(|_| false)), None);
    assert!(!rx.has_changed().unwrap());
    // After the end, the condition sees the last value.
    let mut asked = 0;
    tx.send(6).unwrap();
    drop(tx);
    assert_eq!(poll!(rx.wait_for(|&value| value == 6)), Some(true));
    let never = |_: &i32| {
        asked += 1;
        false
    };
    assert_eq!(poll!(rx.wait_for(never)), Some(false));
    assert_eq!(asked, 1);
}

#[test]
fn what_was_waited_for_says_whether_it_was_new() {
    let (tx, mut rx) = watch::channel(1);
    tx.send(2).unwrap();
    let found = pollster::block_on(rx.wait_for(|_| true)).unwrap();
    assert!(found.has_changed());
    drop(found);
    let found = pollster::block_on(rx.wait_for(|_| true)).unwrap();
    assert!(!found.has_changed());
    drop(found);
    let (_, waker) = Wakings::new();
    let mut wanted = pin!(rx.wait_for(|&value| value == 3));
    assert!(poll_once(wanted.as_mut(), &waker).is_pending());
    tx.send(3).unwrap();
    match poll_once(wanted, &waker) {
        std::task::Poll::Ready(Ok(found)) => assert!(!found.has_changed()),
        _ => panic!("not found"),
    };
}

#[test]
fn a_panic_in_a_closure_does_no_harm() {
    let (tx, mut rx) = watch::channel(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tx.send_modify(|value| {
            *value = 2;
            panic!("modify");
        });
    }));
    assert!(panicked.is_err());
    assert!(!rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 2);
    tx.send(3).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        _ = pollster::block_on(rx.wait_for(|_| panic!("wait")));
    }));
    assert!(panicked.is_err());
    // The value that was looked at counts as seen.
    assert!(!rx.has_changed().unwrap());
    tx.send(4).unwrap();
    assert_eq!(*rx.borrow(), 4);
}

#[test]
fn channels_are_told_apart() {
    let (tx, rx) = watch::channel(1);
    let (other_tx, other_rx) = watch::channel(1);
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&tx.subscribe()));
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx));
}

#[test]
fn the_value_lives_as_long_as_any_end() {
    let drops = Drops::new();
    let (tx, rx) = watch::channel(drops.counted(()));
    drop(tx);
    assert_eq!(drops.count(), 0);
    drop(rx);
    assert_eq!(drops.count(), 1);
}

#[test]
fn many_wait_for_one_change() {
    let (tx, rx) = watch::channel(0);
    let (wakings, waker) = Wakings::new();
    let mut receivers: Vec<_> = (0..100).map(|_| rx.clone()).collect();
    let mut waits: Vec<_> = receivers
        .iter_mut()
        .map(|rx| Box::pin(rx.changed()))
        .collect();
    for wait in &mut waits {
        assert!(poll_once(wait.as_mut(), &waker).is_pending());
    }
    // Some give up.
    waits.truncate(90);
    tx.send(1).unwrap();
    assert_eq!(wakings.count(), 90);
    for wait in &mut waits {
        assert!(poll_once(wait.as_mut(), &waker).is_ready());
    }
}

/// `Ref` may be used where one for a shorter life is wanted.
#[allow(dead_code)]
fn shorten<'a, 'b>(long: watch::Ref<'a, &'static str>) -> watch::Ref<'a, &'b str> {
    long
}

#[allow(dead_code)]
fn the_futures_go_anywhere() {
    fn check(_: impl Send + Sync) {}
    let (tx, mut rx) = watch::channel(1_u8);
    check(tx.closed());
    check(rx.changed());
    check(rx.wait_for(|&value| value == 3));
}
