// Sets of tasks, trackers and tokens, in scenarios written once for both.

use std::cell::Cell;
use std::collections::HashSet;
use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use blitz_io_testing::{Dice, Wakings, poll_once, traits_of};

fn one_thread() -> runtime::Runtime {
    runtime::Builder::new_current_thread().build().unwrap()
}

fn line(what: impl std::fmt::Debug) -> String {
    format!("{what:?}")
}

pub fn traits() -> Vec<String> {
    vec![
        line(traits_of!(task::JoinSet<u32>)),
        line(traits_of!(task::JoinSet<Cell<u32>>)),
        line(traits_of!(task::JoinSet<Rc<u32>>)),
        line(traits_of!(token::CancellationToken)),
        line(traits_of!(token::DropGuard)),
        line(traits_of!(token::DropGuardRef<'static>)),
        line(traits_of!(token::WaitForCancellationFuture<'static>)),
        line(traits_of!(token::WaitForCancellationFutureOwned)),
        line(traits_of!(tracker::TaskTracker)),
        line(traits_of!(tracker::TaskTrackerToken)),
        line(traits_of!(tracker::TrackedFuture<std::future::Ready<u32>>)),
        line(traits_of!(
            tracker::TrackedFuture<std::future::Pending<Rc<u32>>>
        )),
        line(traits_of!(tracker::TaskTrackerWaitFuture<'static>)),
        line(traits_of!(
            task::coop::Unconstrained<std::future::Ready<u32>>
        )),
        line(traits_of!(task::coop::Coop<std::future::Ready<u32>>)),
        line(traits_of!(task::coop::RestoreOnPending)),
    ]
}

pub fn debug_texts() -> Vec<String> {
    let token = token::CancellationToken::new();
    let tracker = tracker::TaskTracker::new();
    let mut seen = vec![
        line(task::JoinSet::<u32>::new()),
        line(&token),
        line(token.cancelled()),
        line(token.clone().cancelled_owned()),
        line(token.drop_guard_ref()),
        line(token.child_token().drop_guard()),
        line(task::coop::cooperative(ready(1))),
    ];
    // Without the address.
    let text = line(&tracker);
    seen.push(text[..text.find("0x").unwrap()].to_string());
    let text = line(tracker.track_future(ready(1)));
    seen.push(text[..text.find("0x").unwrap()].to_string());
    let text = line(tracker.token());
    seen.push(text[..text.find("0x").unwrap()].to_string());
    one_thread().block_on(async {
        let mut set = task::JoinSet::new();
        set.spawn(async { 1 });
        seen.push(line(&set));
    });
    seen
}

pub fn a_set_joins_in_order() -> Vec<String> {
    one_thread().block_on(async {
        let mut seen = Vec::new();
        let mut set = task::JoinSet::new();
        seen.push(line(set.try_join_next()));
        seen.push(line(set.join_next().await));
        let tokens = [(); 10].map(|()| token::CancellationToken::new());
        for (i, token) in tokens.iter().enumerate() {
            let token = token.clone();
            set.spawn(async move {
                token.cancelled().await;
                i
            });
        }
        task::yield_now().await;
        for i in 0..10 {
            tokens[i * 7 % 10].cancel();
        }
        seen.push(line((set.len(), set.is_empty())));
        seen.push(line(set.try_join_next()));
        while let Some(output) = set.join_next().await {
            seen.push(line((output, set.len())));
        }
        set.extend((0..3).map(ready));
        seen.push(line(set.join_all().await));
        seen.push(line((0..3).map(ready).collect::<task::JoinSet<_>>().len()));
        seen
    })
}

pub fn a_set_tells_numbers() -> Vec<String> {
    one_thread().block_on(async {
        let mut set = task::JoinSet::new();
        let number = set.spawn(async { 1 }).id();
        let joined = set.join_next_with_id().await.unwrap().unwrap();
        let aborted = set.spawn(pending());
        aborted.abort();
        task::yield_now().await;
        let error = set.try_join_next_with_id().unwrap().unwrap_err();
        vec![
            line(joined == (number, 1)),
            line((error.id() == aborted.id(), error.is_cancelled())),
            line(set.try_join_next_with_id().is_none()),
        ]
    })
}

fn quietly<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => text.split(|c: char| c.is_ascii_digit()).collect(),
        Err(panic) => panic
            .downcast::<&str>()
            .map_or("?".into(), |text| text.to_string()),
    })
}

pub fn a_set_of_panics() -> Vec<String> {
    let mut seen = Vec::new();
    let runtime = one_thread();
    let joined = quietly(|| {
        runtime.block_on(async {
            let mut set = task::JoinSet::new();
            set.spawn(async { panic!("on purpose") });
            set.spawn(pending::<()>());
            set.join_all().await
        })
    });
    seen.push(line(joined));
    let joined = quietly(|| {
        runtime.block_on(async {
            let mut set = task::JoinSet::new();
            set.spawn(pending::<()>()).abort();
            set.join_all().await
        })
    });
    seen.push(line(joined));
    seen.push(line(quietly(|| task::JoinSet::new().spawn(async {})).err()));
    seen.push(line(
        quietly(|| task::JoinSet::new().spawn_blocking(|| {})).err(),
    ));
    seen
}

pub fn a_set_is_aborted_detached_and_dropped() -> Vec<String> {
    let gone = Rc::new(Cell::new(0));
    struct Gone(Rc<Cell<u32>>);
    // SAFETY: everything happens on one thread.
    unsafe impl Send for Gone {}
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    impl Gone {
        async fn wait(self) {
            pending().await
        }
    }
    let mut seen = Vec::new();
    one_thread().block_on(async {
        let mut set = task::JoinSet::new();
        for _ in 0..3 {
            set.spawn(Gone(gone.clone()).wait());
        }
        task::yield_now().await;
        set.abort_all();
        seen.push(line((set.len(), gone.get())));
        set.shutdown().await;
        seen.push(line((set.len(), gone.get())));
        set.spawn(Gone(gone.clone()).wait());
        let kept = set.spawn(Gone(gone.clone()).wait());
        set.detach_all();
        task::yield_now().await;
        seen.push(line((set.len(), gone.get(), kept.is_finished())));
        set.spawn(async {});
        seen.push(line((set.join_next().await, set.len())));
        set.spawn(Gone(gone.clone()).wait());
        task::yield_now().await;
        drop(set);
        task::yield_now().await;
        seen.push(line(gone.get()));
        kept.abort();
        task::yield_now().await;
        seen.push(line((gone.get(), kept.is_finished())));
    });
    seen.push(line(gone.get()));
    seen
}

/// The wake-ups of a set's waker: one for all tasks that end until the set is polled
/// again.
pub fn a_set_wakes() -> Vec<String> {
    let runtime = one_thread();
    let (wakings, waker) = Wakings::new();
    let mut seen = Vec::new();
    let mut set = task::JoinSet::new();
    for i in 0..4 {
        set.spawn_on(async move { i }, runtime.handle());
    }
    {
        let mut next = pin!(set.join_next());
        seen.push(line(poll_once(next.as_mut(), &waker)));
        runtime.block_on(async {
            for _ in 0..8 {
                task::yield_now().await;
            }
        });
        seen.push(line(wakings.count()));
        seen.push(line(poll_once(next, &waker)));
    }
    for _ in 0..4 {
        seen.push(line(poll_once(pin!(set.join_next()), &waker)));
    }
    seen.push(line(wakings.count()));
    seen
}

/// A set's waker runs the set's task when it is dropped. The new one has its place then.
pub fn a_waker_of_a_set_that_ends_its_task() -> Vec<String> {
    struct RunsWhenDropped(runtime::Runtime);
    impl Wake for RunsWhenDropped {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for RunsWhenDropped {
        fn drop(&mut self) {
            self.0.block_on(task::yield_now());
        }
    }

    let mut seen = Vec::new();
    let runtime = one_thread();
    let mut set = task::JoinSet::new();
    set.spawn_on(async { 42 }, runtime.handle());
    let old = Waker::from(Arc::new(RunsWhenDropped(runtime)));
    seen.push(line(set.poll_join_next(&mut Context::from_waker(&old)).is_pending()));
    drop(old);
    let (wakings, waker) = Wakings::new();
    seen.push(line(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending()));
    seen.push(line(wakings.count()));
    seen.push(line(set.try_join_next().unwrap().unwrap()));
    seen
}

pub fn a_set_and_a_budget() -> Vec<String> {
    one_thread().block_on(async {
        let mut set = task::JoinSet::new();
        for i in 0..1000 {
            set.spawn(async move { i });
        }
        for _ in 0..4 {
            task::yield_now().await;
        }
        let (_, waker) = Wakings::new();
        let mut seen = Vec::new();
        // One poll of the whole.
        let all = async {
            while let Some(output) = set.join_next().await {
                seen.push(line(output));
            }
        };
        let _ = poll_once(pin!(all), &waker);
        seen
    })
}

pub fn budgets() -> Vec<String> {
    one_thread().block_on(async {
        let mut seen = vec![line(task::coop::has_budget_remaining())];
        let (wakings, waker) = Wakings::new();
        let mut count = 0;
        let _ = poll_once(
            pin!(async {
                loop {
                    task::coop::consume_budget().await;
                    count += 1;
                }
            }),
            &waker,
        );
        // Tokio wakes later.
        drop(wakings);
        seen.push(line((count, task::coop::has_budget_remaining())));
        let polled = poll_once(pin!(task::coop::cooperative(ready(1))), &waker);
        seen.push(line(polled));
        let free = task::coop::unconstrained(async {
            for _ in 0..1000 {
                task::coop::consume_budget().await;
            }
            task::coop::has_budget_remaining()
        });
        seen.push(line(poll_once(pin!(free), &waker)));
        task::yield_now().await;
        seen.push(line(task::coop::has_budget_remaining()));
        seen
    })
}

pub fn a_tracker() -> Vec<String> {
    let tracker = tracker::TaskTracker::new();
    let state = || line((tracker.len(), tracker.is_empty(), tracker.is_closed()));
    let (wakings, waker) = Wakings::new();
    let mut seen = vec![state()];
    let mut early = pin!(tracker.wait());
    seen.push(line(poll_once(early.as_mut(), &waker)));
    let one = tracker.token();
    let other = one.clone();
    seen.push(state());
    seen.push(line((tracker.close(), tracker.close())));
    drop(one);
    seen.push(line(wakings.count()));
    drop(other);
    seen.push(line((wakings.count(), state())));
    let _again = tracker.token();
    seen.push(line(poll_once(early, &waker)));
    seen.push(line(poll_once(pin!(tracker.wait()), &waker)));
    seen.push(line((tracker.reopen(), tracker.reopen())));
    let waits = tracker.wait();
    drop(_again);
    tracker.close();
    tracker.reopen();
    seen.push(line(poll_once(pin!(waits), &waker)));
    seen.push(line(poll_once(pin!(tracker.wait()), &waker)));
    seen.push(line(tracker::TaskTracker::ptr_eq(
        &tracker,
        &tracker.clone(),
    )));
    seen.push(line(tracker::TaskTracker::ptr_eq(
        &tracker,
        &tracker::TaskTracker::new(),
    )));
    seen
}

pub fn a_tracker_of_tasks() -> Vec<String> {
    let mut seen = Vec::new();
    let tracker = tracker::TaskTracker::new();
    let runtime = one_thread();
    runtime.block_on(async {
        let done = tracker.spawn(async { 1 });
        let stuck = tracker.spawn(pending::<()>());
        let handle = runtime::Handle::current();
        let on = tracker.spawn_on(async { 2 }, &handle);
        let blocking = tracker.spawn_blocking(|| 3);
        let blocking_on = tracker.spawn_blocking_on(|| 4, &handle);
        seen.push(line((
            done.await,
            on.await,
            blocking.await,
            blocking_on.await,
        )));
        while tracker.len() > 1 {
            task::yield_now().await;
        }
        stuck.abort();
        seen.push(line(tracker.close()));
        tracker.wait().await;
        seen.push(line(tracker.len()));
        tracker.spawn(pending::<()>());
        seen.push(line(tracker.len()));
    });
    drop(runtime);
    seen.push(line(tracker.len()));
    seen
}

pub fn a_token() -> Vec<String> {
    let token = token::CancellationToken::default();
    let clone = token.clone();
    let child = token.child_token();
    let mut seen = vec![
        line((token == clone, token == child)),
        line(
            [&token, &clone, &child]
                .into_iter()
                .collect::<HashSet<_>>()
                .len(),
        ),
    ];
    let (wakings, waker) = Wakings::new();
    let mut waits = pin!(child.cancelled());
    seen.push(line(poll_once(waits.as_mut(), &waker)));
    seen.push(line(poll_once(
        pin!(token.clone().cancelled_owned()),
        &waker,
    )));
    clone.cancel();
    clone.cancel();
    seen.push(line((wakings.count(), child.is_cancelled())));
    seen.push(line(poll_once(waits.as_mut(), &waker)));
    seen.push(line(poll_once(waits, &waker)));
    seen.push(line(token.child_token().is_cancelled()));
    let unpolled = async { panic!("polled") };
    let run = poll_once(pin!(token.run_until_cancelled(unpolled)), &waker);
    seen.push(line(run.map(|run: Option<()>| run)));
    let other = token::CancellationToken::new();
    let mut run = pin!(other.clone().run_until_cancelled_owned(pending::<()>()));
    seen.push(line(poll_once(run.as_mut(), &waker)));
    other.cancel();
    seen.push(line(poll_once(run, &waker)));
    let third = token::CancellationToken::new();
    let both = async {
        third.cancel();
        1
    };
    seen.push(line(poll_once(
        pin!(third.run_until_cancelled(both)),
        &waker,
    )));
    let fourth = token::CancellationToken::new();
    let guard = fourth.clone().drop_guard();
    seen.push(line(guard.disarm() == fourth));
    seen.push(line(fourth.drop_guard_ref().disarm().is_cancelled()));
    drop(fourth.drop_guard_ref());
    seen.push(line(fourth.is_cancelled()));
    seen
}

/// A tree that grows, is cancelled in places, and loses tokens.
pub fn random_tree(seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    let mut tokens = vec![Some(token::CancellationToken::new())];
    let mut waits = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..60 {
        let at = dice.below(tokens.len());
        match (dice.below(10), tokens[at].clone()) {
            (0..5, Some(token)) => tokens.push(Some(token.child_token())),
            (5..7, Some(token)) => {
                let (wakings, waker) = Wakings::new();
                let mut wait = Box::pin(token.cancelled_owned());
                let polled = poll_once(wait.as_mut(), &waker);
                seen.push(line(polled));
                if polled == Poll::Pending {
                    waits.push((wait, wakings, waker));
                }
            }
            (7, Some(token)) if dice.below(3) == 0 => token.cancel(),
            (8, _) => tokens[at] = None,
            (9, _) if !waits.is_empty() => drop(waits.swap_remove(dice.below(waits.len()))),
            _ => {}
        }
        let cancelled = |token: &Option<token::CancellationToken>| {
            token.as_ref().map(token::CancellationToken::is_cancelled)
        };
        seen.push(line(tokens.iter().map(cancelled).collect::<Vec<_>>()));
        let woken = waits.iter().map(|(_, wakings, _)| wakings.count());
        seen.push(line(woken.collect::<Vec<_>>()));
    }
    for (mut wait, wakings, waker) in waits {
        seen.push(line((poll_once(wait.as_mut(), &waker), wakings.count())));
    }
    seen
}
