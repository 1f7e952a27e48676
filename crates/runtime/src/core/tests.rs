//! Tasks without a runtime: what happens to them in which order, and that every
//! future and every output is dropped once.

#![allow(clippy::waker_clone_wake, reason = "waking by value is what is tested")]

use std::collections::VecDeque;
use std::future::{Future, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use blitz_testing::{Counted, Drops, Wakings, poll_once, reentrant_waker, shouting_waker};

use super::{
    Header, Id, JoinHandle, Notified, OwnedTasks, Ran, Schedule, current, task_of, unowned,
};

/// Counts read-modify-writes, the currency in which tasks are paid.
pub(super) mod changes {
    use std::cell::Cell;

    thread_local! {
        static CHANGES: Cell<usize> = const { Cell::new(0) };
    }

    pub(in crate::core) fn count() {
        CHANGES.set(CHANGES.get() + 1);
    }

    /// How many are made meanwhile.
    pub(super) fn during<R>(run: impl FnOnce() -> R) -> (usize, R) {
        let before = CHANGES.get();
        let result = run();
        (CHANGES.get() - before, result)
    }
}

/// A scheduler that runs tokens when the test says so.
#[derive(Clone)]
struct Line(Arc<Shared>);

struct Shared {
    owned: OwnedTasks,
    /// The thread of the test owns the first shard.
    owns: bool,
    queue: Mutex<VecDeque<Notified>>,
    /// How often a wake-up or an abort has queued a token.
    scheduled: AtomicUsize,
    panics: AtomicUsize,
    terminated: Mutex<Vec<Id>>,
}

impl Schedule for Line {
    fn schedule(&self, task: Notified) {
        self.0.scheduled.fetch_add(1, Ordering::SeqCst);
        self.0.queue.lock().unwrap().push_back(task);
    }

    fn release(&self, task: &Header) {
        if self.0.owns {
            // SAFETY: the test has one thread.
            unsafe { self.0.owned.remove_by_owner(task, 0) }
        } else {
            self.0.owned.remove(task);
        }
    }

    fn outlives_call(&self) -> bool {
        // The test holds the line, which is not used by other threads.
        true
    }

    fn unhandled_panic(&self) {
        self.0.panics.fetch_add(1, Ordering::SeqCst);
    }

    fn terminated(&self, id: Id) {
        self.0.terminated.lock().unwrap().push(id);
    }
}

impl Line {
    fn new() -> Self {
        Self::with(false)
    }

    fn owning() -> Self {
        Self::with(true)
    }

    fn with(owns: bool) -> Self {
        Self(Arc::new(Shared {
            owned: OwnedTasks::new(2),
            owns,
            queue: Mutex::default(),
            scheduled: AtomicUsize::new(0),
            panics: AtomicUsize::new(0),
            terminated: Mutex::default(),
        }))
    }

    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let id = Id::next();
        let owned = &self.0.owned;
        let (join, token) = if self.0.owns {
            // SAFETY: the test has one thread.
            unsafe { owned.bind_own(0, future, self.clone(), id) }
        } else {
            owned.bind(id.as_u64() as usize, future, self.clone(), id)
        };
        self.0.queue.lock().unwrap().extend(token);
        join
    }

    /// Runs the first token, if there is one.
    fn turn(&self) -> Option<&'static str> {
        let token = self.0.queue.lock().unwrap().pop_front()?;
        Some(match token.run() {
            Ran::Done => "done",
            Ran::Idle => "idle",
            Ran::Again(token) => {
                self.0.queue.lock().unwrap().push_back(token);
                "again"
            }
            Ran::Yielded(token) => {
                self.0.queue.lock().unwrap().push_back(token);
                "yielded"
            }
        })
    }

    fn run(&self) {
        while self.turn().is_some() {}
    }

    fn begin_close(&self) {
        if self.0.owns {
            // SAFETY: the test has one thread.
            unsafe { self.0.owned.close_own(0) }
        }
        self.0.owned.close_and_cancel_all();
    }

    fn close(&self) {
        self.begin_close();
        self.run();
        assert!(self.0.owned.is_empty());
    }

    fn scheduled(&self) -> usize {
        self.0.scheduled.load(Ordering::SeqCst)
    }

    fn panics(&self) -> usize {
        self.0.panics.load(Ordering::SeqCst)
    }
}

impl Drop for Line {
    /// Each test ends with all tasks freed: only the tests' own line is left.
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1 && !std::thread::panicking() {
            assert!(self.0.owned.is_empty());
            assert!(self.0.queue.lock().unwrap().is_empty());
        }
    }
}

fn poll<T>(join: &mut JoinHandle<T>) -> Poll<Result<T, super::JoinError>> {
    poll_once(Pin::new(join), Waker::noop())
}

/// A future that never is ready, and the waker of its last poll.
fn stuck(keep: Counted) -> (impl Future<Output = ()> + Send, Arc<Mutex<Option<Waker>>>) {
    let place = Arc::new(Mutex::new(None));
    let waker = place.clone();
    let future = poll_fn(move |context| {
        let _keep = &keep;
        *place.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    });
    (future, waker)
}

/// Asks for the end of the queue once.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context: &mut Context<'_>| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        assert!(task_of(context.waker()).is_some_and(current::step_back));
        Poll::Pending
    })
    .await;
}

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

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
    // The poll after the wake-up is the one that was queued anyway.
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
    let place = Arc::new(Mutex::new(None::<super::AbortHandle>));
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
    let place = Arc::new(Mutex::new(None::<super::AbortHandle>));
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
    // The waker, the counter and what the task has.
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
    // What panics when it is dropped is forgotten.
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
    struct Busy(Line, Arc<Mutex<Option<Waker>>>, super::AbortHandle);
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
            self.0.lock().unwrap().push(crate::task::try_id());
        }
    }
    let line = Line::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (in_future, in_output) = (Tells(seen.clone()), Tells(seen.clone()));
    let join = line.spawn(async move {
        let _in_future = in_future;
        _in_future.0.lock().unwrap().push(Some(crate::task::id()));
        in_output
    });
    let id = Some(join.id());
    line.run();
    drop(join);
    assert_eq!(*seen.lock().unwrap(), [id, id, id]);
    assert_eq!(crate::task::try_id(), None);
    let caught = catch_unwind(AssertUnwindSafe(crate::task::id));
    let message = caught.unwrap_err();
    let message = message.downcast_ref::<String>().map(String::as_str);
    assert_eq!(message, Some("Can't get a task id when not inside a task"));
}

#[test]
fn who_hears_of_the_end_of_a_task_is_not_in_it() {
    // Not even its memory is there any more.
    let line = Line::new();
    let mut join = line.spawn(ready(()));
    let place = Arc::new(Mutex::new(None::<JoinHandle<()>>));
    let seen = Arc::new(Mutex::new(None));
    let (handle, tells) = (place.clone(), seen.clone());
    let waker = reentrant_waker(move || {
        drop(handle.lock().unwrap().take());
        *tells.lock().unwrap() = Some(crate::task::try_id());
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
            crate::task::id()
        });
        line.turn();
        // What the inner task asked for is not for this one.
        let this = poll_fn(|context| Poll::Ready(task_of(context.waker()))).await;
        assert!(!current::has_stepped_back(this.unwrap()));
        line.run();
        assert_ne!(pin!(join).await.unwrap(), crate::task::id());
        crate::task::id()
    });
    let id = join.id();
    assert_eq!(outer.turn(), Some("done"));
    assert!(matches!(poll(&mut join), Poll::Ready(Ok(now)) if now == id));
}

#[test]
fn what_a_task_costs() {
    for (line, lists) in [(Line::new(), 2), (Line::owning(), 0)] {
        // Warm up: ids come in batches.
        drop(line.spawn(ready(())));
        line.run();

        // Detached, started.
        let (detached, ()) = changes::during(|| {
            drop(line.spawn(ready(())));
            line.run();
        });
        assert_eq!(detached, 2 + lists);

        // Started, completed.
        let (early, ()) = changes::during(|| {
            let mut join = line.spawn(ready(()));
            line.run();
            assert!(poll(&mut join).is_ready());
        });
        assert_eq!(early, 2 + lists);

        // Awaited by a task: that one's waker is made and given; the task is started,
        // completed and released, and wakes the other. For which one more turn is the
        // price, as for any that waits: two steps.
        let place = line.clone();
        let (awaited, ()) = changes::during(|| {
            drop(line.spawn(async move { place.spawn(ready(())).await.unwrap() }));
            line.run();
        });
        let waits = detached + 2;
        assert_eq!(awaited - waits, 6 + lists);
    }
}

#[test]
fn what_a_turn_costs() {
    let line = Line::new();

    // Woken, started, ended; and the waker that `stuck` makes of its context.
    let (future, waker) = stuck(Drops::new().counted(()));
    let join = line.spawn(future);
    line.run();
    let waker = waker.lock().unwrap().take().unwrap();
    let (turn, ()) = changes::during(|| {
        waker.wake_by_ref();
        line.run();
    });
    assert_eq!(turn, 3 + 1);
    drop(waker);

    // A task that yields.
    drop(line.spawn(async {
        for _ in 0..3 {
            yield_once().await;
        }
    }));
    line.turn();
    assert_eq!(changes::during(|| line.turn()), (0, Some("yielded")));
    line.run();
    line.close();
    drop(join);
}

#[test]
fn a_task_that_ends_elsewhere_is_freed_by_its_owner() {
    let (line, drops) = (Line::owning(), Drops::new());
    for settles in [false, true] {
        let output = drops.counted(());
        // SAFETY: the test has one thread.
        let bound = unsafe {
            let owned = &line.0.owned;
            owned.bind_own(1, async move { output }, line.clone(), Id::next())
        };
        let (join, token) = bound;
        drop(join);
        // The first shard's owner ends it.
        assert!(matches!(token.unwrap().run(), Ran::Done));
        assert!(line.0.owned.is_empty());
        assert_eq!(Arc::strong_count(&line.0), 2);
        if settles {
            // SAFETY: as above.
            unsafe { line.0.owned.drain(1) };
        } else {
            // SAFETY: as above.
            let (join, token) = unsafe {
                line.0
                    .owned
                    .bind_own(1, ready(()), line.clone(), Id::next())
            };
            assert_eq!(Arc::strong_count(&line.0), 2);
            drop((join, token.map(Notified::run)));
            // SAFETY: as above.
            unsafe { line.0.owned.drain(1) };
        }
        assert_eq!(Arc::strong_count(&line.0), 1);
    }
    assert_eq!(drops.count(), 2);
}

/// An owner may sleep for ever: whoever ends its tasks frees them now and then.
#[test]
fn tasks_that_end_elsewhere_do_not_pile_up() {
    let line = Line::owning();
    for _ in 0..5000 {
        // SAFETY: the test has one thread.
        let (join, token) = unsafe {
            line.0
                .owned
                .bind_own(1, ready(()), line.clone(), Id::next())
        };
        line.0.queue.lock().unwrap().extend(token);
        drop(join);
    }
    assert!(Arc::strong_count(&line.0) > 5000);
    line.run();
    assert!(line.0.owned.is_empty());
    assert!(Arc::strong_count(&line.0) < 2100);
    // SAFETY: as above.
    unsafe { line.0.owned.drain(1) };
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn tasks_are_small() {
    // What each idle task needs beside its future, and the scheduler's pointer.
    #[cfg(target_pointer_width = "64")]
    assert_eq!(std::mem::size_of::<Header>(), 72);
}
