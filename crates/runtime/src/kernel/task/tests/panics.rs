//! Futures, outputs and wakers that panic.

use super::*;

#[test]
fn a_panic_is_kept_for_the_join_handle() {
    let (line, drops) = (Line::new(), Drops::new());
    let kept = drops.counted(());
    let mut join = line.spawn(async move {
        let _kept = kept;
        let what = "boom";
        panic!("{what}");
    });
    let id = join.id();
    line.run();
    assert_eq!((drops.count(), line.panics()), (1, 1));
    let Poll::Ready(Err(error)) = poll(&mut join) else {
        panic!("no error");
    };
    assert!(error.is_panic() && !error.is_cancelled());
    assert_eq!(
        error.to_string(),
        format!("task {id} panicked with message \"boom\"")
    );
    assert_eq!(error.id(), id);
    assert_eq!(*error.into_panic().downcast::<String>().unwrap(), "boom");
}

#[test]
fn a_panic_that_nobody_asks_for_is_dropped() {
    let (line, drops) = (Line::new(), Drops::new());
    let payload = drops.counted(());
    drop(line.spawn(async move { std::panic::panic_any(payload) }));
    line.run();
    assert_eq!(drops.count(), 1);
    let payload = drops.counted(());
    let join = line.spawn(async move { std::panic::panic_any(payload) });
    line.run();
    drop(join);
    assert_eq!(drops.count(), 2);
    // A payload that panics when it is dropped is forgotten.
    drop(line.spawn(async { std::panic::panic_any(Bomb("payload")) }));
    line.run();
}

#[test]
fn a_future_that_panics_in_its_drop_after_its_output_gives_the_panic() {
    let line = Line::new();
    struct Ends(#[allow(dead_code)] Bomb);
    impl Future for Ends {
        type Output = u32;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
            Poll::Ready(7)
        }
    }
    let mut join = line.spawn(Ends(Bomb("late")));
    line.run();
    assert_eq!(line.panics(), 1);
    assert!(matches!(poll(&mut join), Poll::Ready(Err(error)) if error.is_panic()));
}

#[test]
fn a_future_that_panics_in_its_drop_when_it_is_cancelled_gives_the_panic() {
    let line = Line::new();
    let bomb = Bomb("cancelled");
    let mut join = line.spawn(async move {
        let _bomb = bomb;
        poll_fn(|_| Poll::<()>::Pending).await;
    });
    line.run();
    join.abort();
    line.run();
    assert_eq!(line.panics(), 0);
    let Poll::Ready(Err(error)) = poll(&mut join) else {
        panic!("no error");
    };
    assert_eq!(
        *error.into_panic().downcast::<String>().unwrap(),
        "cancelled"
    );
}

#[test]
fn a_future_that_panics_and_panics_in_its_drop_gives_the_first_panic() {
    let line = Line::new();
    struct Twice(#[allow(dead_code)] Bomb);
    impl Future for Twice {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            panic!("first")
        }
    }
    let mut join = line.spawn(Twice(Bomb("second")));
    line.run();
    let Poll::Ready(Err(error)) = poll(&mut join) else {
        panic!("no error");
    };
    assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "first");
}

#[test]
fn an_output_that_panics_in_its_drop_harms_nobody() {
    let line = Line::new();
    drop(line.spawn(async { Bomb("detached") }));
    line.run();
    let join = line.spawn(async { Bomb("joined") });
    line.run();
    drop(join);
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    assert!(poll_once(Pin::new(&mut join), &shouting_waker()).is_pending());
    line.run();
    assert!(poll(&mut join).is_ready());
}
