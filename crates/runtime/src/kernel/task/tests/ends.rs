//! The end of a runtime, and tasks in tasks.

use super::*;

#[test]
fn closing_cancels_tasks_in_every_state() {
    close_in_every_state(&Line::new());
    close_in_every_state(&Line::owning());
}

fn close_in_every_state(line: &Line) {
    let drops = Drops::new();
    let mut joins = Vec::new();
    // Waiting ones.
    for _ in 0..3 {
        joins.push(line.spawn(stuck(drops.counted(())).0));
    }
    line.run();
    // A yielded one, a woken one, and one that has not begun.
    let kept = drops.counted(());
    joins.push(line.spawn(async move {
        let _kept = kept;
        yield_once().await;
    }));
    let (future, waker) = stuck(drops.counted(()));
    joins.push(line.spawn(future));
    assert_eq!((line.turn(), line.turn()), (Some("yielded"), Some("idle")));
    waker.lock().unwrap().take().unwrap().wake();
    joins.push(line.spawn(stuck(drops.counted(())).0));
    assert_eq!(line.0.owned.len(), 6);
    line.begin_close();
    assert_eq!((line.0.owned.len(), drops.count()), (3, 3));
    line.run();
    assert!(line.0.owned.is_empty());
    assert_eq!(drops.count(), 6);
    for join in &mut joins {
        let Poll::Ready(Err(error)) = poll(join) else {
            panic!("no error");
        };
        assert!(error.is_cancelled());
    }
    // Too late.
    let mut join = line.spawn(stuck(drops.counted(())).0);
    assert_eq!((drops.count(), line.turn()), (7, None));
    assert!(join.is_finished());
    assert!(matches!(poll(&mut join), Poll::Ready(Err(error)) if error.is_cancelled()));
    drop((joins, join, waker));
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn what_tasks_do_while_they_are_cancelled() {
    // One task's drop wakes the next, aborts it, and spawns.
    struct Busy(
        Line,
        Arc<Mutex<Option<Waker>>>,
        crate::kernel::task::AbortHandle,
    );
    impl Drop for Busy {
        fn drop(&mut self) {
            if let Some(waker) = self.1.lock().unwrap().take() {
                waker.wake();
            }
            self.2.abort();
            drop(self.0.spawn(ready(())));
        }
    }
    for backwards in [false, true] {
        let (line, drops) = (Line::new(), Drops::new());
        let (future, waker) = stuck(drops.counted(()));
        let mut place = Some(future);
        let mut other = None;
        if backwards {
            other = Some(line.spawn(place.take().unwrap()));
        }
        let dummy = line.spawn(ready(()));
        let busy = Busy(line.clone(), waker, dummy.abort_handle());
        let join = line.spawn(async move {
            let _busy = busy;
            poll_fn(|_| Poll::<()>::Pending).await;
        });
        if let Some(future) = place {
            other = Some(line.spawn(future));
        }
        line.run();
        line.close();
        assert_eq!(drops.count(), 1);
        drop((join, other, dummy));
        assert_eq!(Arc::strong_count(&line.0), 1);
    }
}

#[test]
fn a_token_can_be_cancelled() {
    let (line, drops) = (Line::new(), Drops::new());
    let (mut join, token) = unowned(stuck(drops.counted(())).0, line.clone(), Id::next());
    assert_eq!(token.id(), join.id());
    token.cancel();
    assert_eq!(drops.count(), 1);
    assert!(matches!(poll(&mut join), Poll::Ready(Err(error)) if error.is_cancelled()));
    let (mut join, token) = unowned(ready(7), line.clone(), Id::next());
    assert!(matches!(token.run(), Ran::Done));
    assert!(matches!(poll(&mut join), Poll::Ready(Ok(7))));
}

#[test]
fn the_current_task_is_known_while_it_runs_and_is_dropped() {
    struct Tells(Arc<Mutex<Vec<Option<Id>>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(crate::api::task::try_id());
        }
    }
    let line = Line::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (in_future, in_output) = (Tells(seen.clone()), Tells(seen.clone()));
    let join = line.spawn(async move {
        let _in_future = in_future;
        _in_future
            .0
            .lock()
            .unwrap()
            .push(Some(crate::api::task::id()));
        in_output
    });
    let id = Some(join.id());
    line.run();
    drop(join);
    assert_eq!(*seen.lock().unwrap(), [id, id, id]);
    assert_eq!(crate::api::task::try_id(), None);
    let caught = catch_unwind(AssertUnwindSafe(crate::api::task::id));
    let message = caught.unwrap_err();
    let message = message.downcast_ref::<String>().map(String::as_str);
    assert_eq!(message, Some("Can't get a task id when not inside a task"));
}

#[test]
fn the_hook_for_the_end_of_a_task_is_not_in_it() {
    // By then even the task's memory is freed.
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    let place = Arc::new(Mutex::new(None::<JoinHandle<()>>));
    let seen = Arc::new(Mutex::new(None));
    let (handle, tells) = (place.clone(), seen.clone());
    let waker = reentrant_waker(move || {
        drop(handle.lock().unwrap().take());
        *tells.lock().unwrap() = Some(crate::api::task::try_id());
    });
    assert!(poll_once(Pin::new(&mut join), &waker).is_pending());
    *place.lock().unwrap() = Some(join);
    line.run();
    assert_eq!(*seen.lock().unwrap(), Some(None));
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn tasks_run_in_tasks() {
    let (outer, inner) = (Line::new(), Line::new());
    let line = inner.clone();
    let mut join = outer.spawn(async move {
        let join = line.spawn(async {
            yield_once().await;
            crate::api::task::id()
        });
        line.turn();
        // The inner task's request is not for this task.
        let this = poll_fn(|context| Poll::Ready(task_of(context.waker()))).await;
        assert!(!context::has_stepped_back(this.unwrap()));
        line.run();
        assert_ne!(pin!(join).await.unwrap(), crate::api::task::id());
        crate::api::task::id()
    });
    let id = join.id();
    assert_eq!(outer.turn(), Some("done"));
    assert!(matches!(poll(&mut join), Poll::Ready(Ok(now)) if now == id));
}
