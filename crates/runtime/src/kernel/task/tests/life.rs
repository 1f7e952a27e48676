//! Tasks that run, yield, are woken, aborted, awaited.

use super::*;

#[test]
fn the_output_arrives_and_is_dropped_once() {
    let (line, drops) = (Line::new(), Drops::new());
    let kept = drops.counted(());
    let output = drops.counted(7);
    let mut join = line.spawn(async move {
        let _kept = kept;
        output
    });
    assert!(poll(&mut join).is_pending());
    assert!(!join.is_finished());
    assert_eq!(line.turn(), Some("done"));
    assert_eq!(drops.count(), 1);
    assert!(join.is_finished());
    let Poll::Ready(Ok(output)) = poll(&mut join) else {
        panic!("no output");
    };
    drop(join);
    assert_eq!(drops.count(), 1);
    assert_eq!(output.value, 7);
    drop(output);
    assert_eq!(drops.count(), 2);
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn a_detached_task_runs_and_drops_its_output() {
    let (line, drops) = (Line::new(), Drops::new());
    let output = drops.counted(());
    drop(line.spawn(async move { output }));
    assert_eq!((drops.count(), line.turn()), (0, Some("done")));
    assert_eq!(drops.count(), 1);
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn a_join_handle_drops_an_output_that_nobody_took() {
    let (line, drops) = (Line::new(), Drops::new());
    let output = drops.counted(());
    let join = line.spawn(async move { output });
    line.run();
    assert_eq!(drops.count(), 0);
    drop(join);
    assert_eq!(drops.count(), 1);
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn a_waker_keeps_the_memory_but_neither_future_nor_output() {
    let (line, drops) = (Line::new(), Drops::new());
    let (future, waker) = stuck(drops.counted(()));
    let join = line.spawn(future);
    assert_eq!(line.turn(), Some("idle"));
    join.abort();
    assert_eq!((drops.count(), line.scheduled()), (0, 1));
    assert_eq!(line.turn(), Some("done"));
    assert_eq!(drops.count(), 1);
    drop(join);
    let waker = waker.lock().unwrap().take().unwrap();
    assert_eq!(Arc::strong_count(&line.0), 2);
    waker.wake_by_ref();
    waker.clone().wake();
    assert_eq!(line.scheduled(), 1);
    drop(waker);
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn many_wake_ups_queue_one_token() {
    let (line, drops) = (Line::new(), Drops::new());
    let (future, waker) = stuck(drops.counted(()));
    let join = line.spawn(future);
    line.run();
    let waker = waker.lock().unwrap().clone().unwrap();
    waker.wake_by_ref();
    waker.wake_by_ref();
    waker.clone().wake();
    assert_eq!(line.scheduled(), 1);
    line.run();
    waker.wake();
    assert_eq!(line.scheduled(), 2);
    line.run();
    join.abort();
    drop(join);
    line.run();
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_wake_up_during_the_poll_gives_another_poll() {
    let line = Line::new();
    let mut polls = 0;
    let mut join = line.spawn(poll_fn(move |context| {
        polls += 1;
        match polls {
            1 => context.waker().wake_by_ref(),
            2 => context.waker().clone().wake(),
            _ => return Poll::Ready(polls),
        }
        Poll::Pending
    }));
    assert_eq!(line.turn(), Some("again"));
    assert_eq!(line.turn(), Some("again"));
    assert_eq!(line.turn(), Some("done"));
    assert_eq!(line.scheduled(), 0);
    assert!(matches!(poll(&mut join), Poll::Ready(Ok(3))));
}

#[test]
fn a_yield_keeps_the_token_and_takes_wake_ups_in() {
    let line = Line::new();
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let place = waker.clone();
    drop(line.spawn(async move {
        poll_fn(|context| {
            *place.lock().unwrap() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
        yield_once().await;
        yield_once().await;
        poll_fn(|_| Poll::<()>::Pending).await;
    }));
    assert_eq!(line.turn(), Some("yielded"));
    let waker = waker.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    assert_eq!(line.turn(), Some("yielded"));
    waker.wake_by_ref();
    // The queued poll already serves the wake-up.
    assert_eq!(line.turn(), Some("idle"));
    assert_eq!((line.scheduled(), line.turn()), (0, None));
    waker.wake();
    assert_eq!(line.turn(), Some("idle"));
    line.close();
}

#[test]
fn a_task_that_yielded_can_be_aborted() {
    let (line, drops) = (Line::new(), Drops::new());
    let kept = drops.counted(());
    let mut join = line.spawn(async move {
        let _kept = kept;
        yield_once().await;
        unreachable!();
    });
    assert_eq!(line.turn(), Some("yielded"));
    join.abort();
    assert_eq!((line.scheduled(), drops.count()), (0, 0));
    assert_eq!(line.turn(), Some("done"));
    assert_eq!(drops.count(), 1);
    let Poll::Ready(Err(error)) = poll(&mut join) else {
        panic!("no error");
    };
    assert!(error.is_cancelled());
}

#[test]
fn an_aborted_task_is_not_polled_any_more() {
    let line = Line::new();
    let mut join = line.spawn(async { unreachable!() });
    let abort = join.abort_handle();
    let id = join.id();
    assert_eq!(abort.id(), id);
    abort.abort();
    abort.clone().abort();
    assert!(!abort.is_finished());
    line.run();
    assert!(abort.is_finished());
    let Poll::Ready(Err(error)) = poll(&mut join) else {
        panic!("no error");
    };
    assert!(error.is_cancelled() && !error.is_panic());
    assert_eq!(error.id(), id);
    assert_eq!(error.to_string(), format!("task {id} was cancelled"));
    assert_eq!(
        format!("{error:?}"),
        format!("JoinError::Cancelled({id:?})")
    );
    drop(join);
    assert_eq!(*line.0.terminated.lock().unwrap(), [id]);
}

#[test]
fn a_task_that_aborts_itself_is_dropped_when_its_poll_ends() {
    let (line, drops) = (Line::new(), Drops::new());
    let kept = drops.counted(());
    let place = Arc::new(Mutex::new(None::<crate::kernel::task::AbortHandle>));
    let handle = place.clone();
    let join = line.spawn(async move {
        let _kept = kept;
        handle.lock().unwrap().take().unwrap().abort();
        poll_fn(|_| Poll::<()>::Pending).await;
    });
    *place.lock().unwrap() = Some(join.abort_handle());
    assert_eq!(line.turn(), Some("done"));
    assert_eq!((drops.count(), line.scheduled()), (1, 0));
    assert!(join.is_finished());
}

#[test]
fn an_abort_during_the_last_poll_is_too_late() {
    let line = Line::new();
    let place = Arc::new(Mutex::new(None::<crate::kernel::task::AbortHandle>));
    let handle = place.clone();
    let mut join = line.spawn(async move { handle.lock().unwrap().take().unwrap().abort() });
    *place.lock().unwrap() = Some(join.abort_handle());
    line.run();
    join.abort();
    assert!(matches!(poll(&mut join), Poll::Ready(Ok(()))));
}

#[test]
fn the_join_handle_wakes_its_last_waker_only() {
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    let (first, waker) = Wakings::new();
    assert!(poll_once(Pin::new(&mut join), &waker).is_pending());
    assert!(poll_once(Pin::new(&mut join), &waker).is_pending());
    // One for the waker, one for the counter, and one for the task.
    assert_eq!(Arc::strong_count(&first), 3);
    let (second, other) = Wakings::new();
    assert!(poll_once(Pin::new(&mut join), &other).is_pending());
    assert_eq!(
        (Arc::strong_count(&first), Arc::strong_count(&second)),
        (2, 3)
    );
    line.run();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert_eq!(Arc::strong_count(&second), 2);
    assert!(poll(&mut join).is_ready());
}

#[test]
fn a_join_handle_takes_its_waker_with_it() {
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    let (wakings, waker) = Wakings::new();
    assert!(poll_once(Pin::new(&mut join), &waker).is_pending());
    drop(join);
    assert_eq!(Arc::strong_count(&wakings), 2);
    line.run();
    assert_eq!(wakings.count(), 0);
}

#[test]
fn a_set_waker_is_woken_also_when_it_comes_late() {
    let line = Line::new();
    let (wakings, waker) = Wakings::new();
    let mut early = line.spawn(ready(()));
    early.set_join_waker(&waker);
    line.run();
    assert_eq!(wakings.count(), 1);
    let mut late = line.spawn(ready(()));
    line.run();
    late.set_join_waker(&waker);
    assert_eq!(wakings.count(), 2);
}

#[test]
#[should_panic = "JoinHandle polled after completion"]
fn an_output_is_taken_once() {
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    line.run();
    assert!(poll(&mut join).is_ready());
    let _ = poll(&mut join);
}
