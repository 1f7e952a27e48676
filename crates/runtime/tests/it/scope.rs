//! Scopes: children that borrow.

use std::future::{Future, pending, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use blitz_io_channel::{mpsc, oneshot};
use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::sync::CancellationToken;
use blitz_io_runtime::task::{
    self, Scope, ScopedJoinHandle, blocking_scope, parallel_scope, scope,
};
use blitz_io_testing::{Wakings, poll_once};

fn workers(count: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(count)
        .enable_all()
        .build()
        .unwrap()
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().unwrap().to_string(),
    }
}

/// Returns `Pending` once, and is polled again.
async fn pause() {
    let mut paused = false;
    poll_fn(|context| {
        if mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Counts how many of it are dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn children_borrow_and_are_waited_for() {
    let mut numbers = [0; 100];
    let done = AtomicUsize::new(0);
    let (items, counter) = (&mut numbers, &done);
    let output = pollster::block_on(scope(|s| async move {
        for (i, number) in items.iter_mut().enumerate() {
            let done = counter;
            s.spawn(async move {
                for _ in 0..i % 7 {
                    pause().await;
                }
                *number = i;
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        "output"
    }));
    assert_eq!(output, "output");
    assert_eq!(done.into_inner(), 100);
    assert!(numbers.iter().enumerate().all(|(i, number)| i == *number));
}

#[test]
fn children_take_turns() {
    let order = Mutex::new(Vec::new());
    let log = &order;
    pollster::block_on(scope(|s| async move {
        for name in ["a", "b", "c"] {
            let order = log;
            s.spawn(async move {
                for i in 0..3 {
                    order.lock().unwrap().push((i, name));
                    pause().await;
                }
            });
        }
    }));
    let order = order.into_inner().unwrap();
    assert!(order.is_sorted_by_key(|(round, _)| *round), "{order:?}");
    assert_eq!(order.len(), 9);
}

#[test]
fn children_have_children_and_results() {
    type Boxed<'env> = Pin<Box<dyn Future<Output = u64> + Send + 'env>>;

    fn factorial(s: Scope<'_>, n: u64) -> Boxed<'_> {
        Box::pin(async move {
            match n {
                0 => 1,
                n => n * s.spawn(factorial(s.clone(), n - 1)).await.unwrap(),
            }
        })
    }
    assert_eq!(pollster::block_on(scope(|s| factorial(s, 10))), 3_628_800);
}

#[test]
fn children_wait_for_each_other_and_for_others() {
    let (tx, mut rx) = mpsc::channel(1);
    let thread = std::thread::spawn(move || (0..100).for_each(|i| tx.blocking_send(i).unwrap()));
    let sum = AtomicUsize::new(0);
    let (rx, sum) = (&mut rx, &sum);
    pollster::block_on(scope(|s| async move {
        let (inner_tx, inner_rx) = oneshot::channel();
        s.spawn(async move {
            while let Some(i) = rx.recv().await {
                sum.fetch_add(i, Ordering::SeqCst);
            }
            inner_tx.send(()).unwrap();
        });
        s.spawn(inner_rx).await.unwrap().unwrap();
        assert_eq!(sum.load(Ordering::SeqCst), 4950);
    }));
    thread.join().unwrap();
}

#[test]
fn a_dropped_scope_drops_its_children() {
    let count = AtomicUsize::new(0);
    let dropped = &count;
    {
        let mut future = pin!(scope(|s| async move {
            for _ in 0..3 {
                let counted = Counted(dropped);
                s.spawn(async move {
                    let _counted = counted;
                    pending::<()>().await;
                });
            }
            let _counted = Counted(dropped);
            pending::<()>().await;
        }));
        assert!(poll_once(future.as_mut(), Waker::noop()).is_pending());
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 4);
    // Nothing begins that is not polled.
    drop(scope(|s| async move {
        let _counted = Counted(dropped);
        s.spawn(async {});
    }));
    assert_eq!(count.into_inner(), 4);
}

/// A leaked scope leaks its children: no thread touches the values that they borrowed,
/// whichever thread wakes them.
#[test]
fn a_leaked_scope_never_runs_again() {
    let mut wakers = Vec::new();
    let kept = Mutex::new(&mut wakers);
    let mut value = Box::new(1);
    let (tx, rx) = oneshot::channel::<()>();
    let dropped = AtomicUsize::new(0);
    {
        let (kept, value, dropped) = (&kept, &mut value, &dropped);
        let mut future = Box::pin(scope(move |s| async move {
            s.spawn(async move {
                let _counted = Counted(dropped);
                **value = 2;
                poll_fn(|context| {
                    kept.lock().unwrap().push(context.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
                **value = 3;
            });
            s.spawn(async move {
                let _counted = Counted(dropped);
                let _ = rx.await;
                unreachable!("nobody polls it");
            });
        }));
        assert!(poll_once(future.as_mut(), Waker::noop()).is_pending());
        leak(future);
    }
    assert_eq!(*value, 2);
    *value = 4;
    drop(value);
    let _ = tx.send(());
    let wakers = mem::take(*kept.lock().unwrap());
    assert_eq!(wakers.len(), 1);
    let threads = wakers.map_threads();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(dropped.into_inner(), 0);
}

/// Leaks a value, and lets only the leak detector know where it is.
fn leak<T>(value: T) {
    static LEAKED: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    let leaked: *mut T = Box::leak(Box::new(value));
    LEAKED.store(leaked.cast(), Ordering::SeqCst);
}

trait MapThreads {
    fn map_threads(self) -> Vec<std::thread::JoinHandle<()>>;
}

impl MapThreads for Vec<Waker> {
    /// Wakes each of them from several threads.
    fn map_threads(self) -> Vec<std::thread::JoinHandle<()>> {
        let wake = |waker: Waker| {
            std::thread::spawn(move || {
                waker.wake_by_ref();
                drop(waker.clone());
                waker.wake();
            })
        };
        self.into_iter().cycle_clones(4).map(wake).collect()
    }
}

trait CycleClones: Iterator<Item = Waker> + Sized {
    fn cycle_clones(self, times: usize) -> impl Iterator<Item = Waker> {
        self.flat_map(move |waker| std::iter::repeat_n(waker, times))
    }
}

impl<I: Iterator<Item = Waker>> CycleClones for I {}

/// A waker that outlives its scope has nothing left to wake.
#[test]
fn a_waker_may_outlive_the_scope() {
    let kept = Mutex::new(None);
    let text = String::from("borrowed");
    let (keep, borrowed) = (&kept, &text);
    let length = pollster::block_on(scope(|s| async move {
        let child = s.spawn(async move {
            poll_fn(|context| {
                *keep.lock().unwrap() = Some(context.waker().clone());
                Poll::Ready(borrowed.len())
            })
            .await
        });
        child.await.unwrap()
    }));
    drop(text);
    assert_eq!(length, 8);
    kept.into_inner().unwrap().unwrap().wake();
}

/// A child that is started while all are dropped is dropped at once.
#[test]
fn children_of_the_end() {
    struct Late<'env>(Scope<'env>, &'env AtomicUsize);
    impl Drop for Late<'_> {
        fn drop(&mut self) {
            let counted = Counted(self.1);
            let child = self.0.spawn(async move {
                let _counted = counted;
            });
            assert!(child.is_finished());
        }
    }
    let count = AtomicUsize::new(0);
    let dropped = &count;
    {
        let mut future = pin!(scope(|s| async move {
            let late = Late(s.clone(), dropped);
            s.spawn(async move {
                let _late = late;
                pending::<()>().await;
            });
            pending::<()>().await;
        }));
        assert!(poll_once(future.as_mut(), Waker::noop()).is_pending());
    }
    assert_eq!(count.into_inner(), 1);
}

/// A scope that got out drops new children when the future has ended.
#[test]
fn a_scope_gets_out() {
    let count = AtomicUsize::new(0);
    let mut escaped = None;
    let out = &mut escaped;
    pollster::block_on(scope(|s| async move { *out = Some(s) }));
    let counted = Counted(&count);
    let child = escaped.unwrap().spawn(async move {
        let _counted = counted;
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(pollster::block_on(child).unwrap_err().is_cancelled());
}

#[test]
fn a_child_can_be_aborted() {
    let dropped = &AtomicUsize::new(0);
    pollster::block_on(scope(|s| async move {
        let counted = Counted(dropped);
        let child = s.spawn(async move {
            let _counted = counted;
            pending::<()>().await;
        });
        pause().await;
        assert!(!child.is_finished());
        child.abort();
        pause().await;
        assert!(child.is_finished());
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        assert!(child.await.unwrap_err().is_cancelled());
        // After it has ended that changes nothing.
        let child = s.spawn(async { 1 });
        pause().await;
        child.abort();
        assert_eq!(child.await.unwrap(), 1);
    }));
}

#[test]
fn panics_of_children() {
    // The child is awaited.
    pollster::block_on(scope(|s| async move {
        let child = s.spawn(async { panic!("asked for") });
        let error = child.await.map(|(): ()| ()).unwrap_err();
        assert_eq!(message(error.into_panic()), "asked for");
    }));
    let others = &AtomicUsize::new(0);
    // The parent itself: the others are dropped.
    let scoped = scope(|s| async move {
        let counted = Counted(others);
        s.spawn(async move {
            let _counted = counted;
            pending::<()>().await;
        });
        pause().await;
        if true {
            panic!("the parent");
        }
    });
    let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped)));
    assert_eq!(message(panic.unwrap_err()), "the parent");
    assert_eq!(others.load(Ordering::SeqCst), 1);
}

#[test]
fn a_panic_ends_a_scope_at_once() {
    let dropped = &AtomicUsize::new(0);
    let scoped = scope(async |s| {
        let _body = Counted(dropped);
        s.spawn(async {
            let _child = Counted(dropped);
            pending::<()>().await;
        });
        s.spawn(async {
            pause().await;
            panic!("a child");
        });
        pending::<()>().await;
    });
    let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped)));
    assert_eq!(message(panic.unwrap_err()), "a child");
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

#[test]
fn a_panic_is_unclaimed_from_the_drop_of_its_handle_on() {
    let scoped = scope(async |s| {
        let child = s.spawn(async { panic!("a child") });
        for _ in 0..3 {
            pause().await;
        }
        assert!(child.is_finished());
        drop::<ScopedJoinHandle<'_, ()>>(child);
        pending::<()>().await;
    });
    let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped)));
    assert_eq!(message(panic.unwrap_err()), "a child");
}

/// The inner scope panics in its child of the outer one, which therefore ends, too.
#[test]
fn a_panic_ends_the_scopes_around_it() {
    let dropped = &AtomicUsize::new(0);
    let scoped = scope(async |outer| {
        outer.spawn(async {
            let _outer = Counted(dropped);
            pending::<()>().await;
        });
        outer.spawn(scope(async |inner| {
            let _inner = Counted(dropped);
            inner.spawn(async { panic!("the innermost") });
            pending::<()>().await;
        }));
        pending::<()>().await;
    });
    let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped)));
    assert_eq!(message(panic.unwrap_err()), "the innermost");
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

/// Panics when it is dropped.
struct Explosive(&'static str);

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// A sibling or the closure panics when the scope drops it. The scope still drops all others, and the first panic continues.
#[test]
fn of_several_panics_the_first_one_continues() {
    for who in ["another child", "the closure"] {
        let dropped = &AtomicUsize::new(0);
        let scoped = scope(async |s| {
            let _body = Counted(dropped);
            let _explosive = (who == "the closure").then(|| Explosive(who));
            for _ in 0..2 {
                s.spawn(async {
                    let _child = Counted(dropped);
                    let _explosive = (who == "another child").then(|| Explosive(who));
                    pending::<()>().await;
                });
            }
            s.spawn(async {
                pause().await;
                panic!("the first");
            });
            pending::<()>().await;
        });
        let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped)));
        assert_eq!(message(panic.unwrap_err()), "the first", "{who}");
        assert_eq!(dropped.load(Ordering::SeqCst), 3, "{who}");
    }
    // The closure has ended, and its output is dropped.
    let scoped = scope(async |s| {
        s.spawn(async {
            pause().await;
            panic!("the first");
        });
        Explosive("the output")
    });
    let panic = catch_unwind(AssertUnwindSafe(|| pollster::block_on(scoped).0));
    assert_eq!(message(panic.unwrap_err()), "the first");
}

/// The scope's task is woken once for all that are woken before it is polled.
#[test]
fn one_wake_for_many() {
    let token = &CancellationToken::new();
    let (wakings, waker) = Wakings::new();
    let mut future = pin!(scope(|s| async move {
        for _ in 0..10 {
            s.spawn(token.cancelled());
        }
    }));
    assert!(poll_once(future.as_mut(), &waker).is_pending());
    assert_eq!(wakings.count(), 0);
    token.cancel();
    assert_eq!(wakings.count(), 1);
    assert!(poll_once(future.as_mut(), &waker).is_ready());
}

/// A child that is always ready keeps neither its siblings nor other tasks waiting.
#[test]
fn a_busy_child_starves_nobody() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (tx, rx) = oneshot::channel();
        task::spawn(async move {
            task::yield_now().await;
            tx.send(()).unwrap();
        });
        let token = &CancellationToken::new();
        scope(|s| async move {
            s.spawn(async {
                while !token.is_cancelled() {
                    pause().await;
                }
            });
            rx.await.unwrap();
            token.cancel();
        })
        .await;
    });
}

/// A scope's future can go to another thread.
#[test]
fn a_scope_in_a_task() {
    let runtime = workers(2);
    let task = runtime.spawn(async {
        let numbers: Vec<u64> = (0..100).collect();
        let sum = AtomicUsize::new(0);
        let (items, total) = (&numbers, &sum);
        scope(|s| async move {
            for number in items {
                let sum = total;
                s.spawn(async move {
                    task::yield_now().await;
                    sum.fetch_add(*number as usize, Ordering::SeqCst);
                });
            }
        })
        .await;
        sum.into_inner()
    });
    assert_eq!(runtime.block_on(task).unwrap(), 4950);
}

/// Children are woken by many threads while the scope is polled by a worker.
#[test]
fn many_children_many_wakers() {
    let runtime = workers(2);
    for _ in 0..20 {
        let total = runtime.block_on(async {
            let total = AtomicUsize::new(0);
            let sum = &total;
            scope(|s| async move {
                for i in 0..50 {
                    let total = sum;
                    s.spawn(async move {
                        for _ in 0..5 {
                            total.fetch_add(
                                task::spawn(async move { i }).await.unwrap(),
                                Ordering::SeqCst,
                            );
                        }
                    });
                }
            })
            .await;
            total.into_inner()
        });
        assert_eq!(total, 5 * 1225);
    }
}

#[test]
fn blocking_scopes_run_in_parallel() {
    let runtime = workers(2);
    let sum = runtime.block_on(runtime.spawn(async {
        let numbers: Vec<usize> = (0..1000).collect();
        let sum = AtomicUsize::new(0);
        let met = std::sync::Barrier::new(2);
        blocking_scope(|s| {
            // Two that only end if they run at the same time.
            for half in numbers.chunks(500) {
                let (sum, met) = (&sum, &met);
                s.spawn(async move {
                    met.wait();
                    sum.fetch_add(half.iter().sum::<usize>(), Ordering::SeqCst);
                });
            }
        });
        sum.into_inner()
    }));
    assert_eq!(sum.unwrap(), 499_500);
}

#[test]
fn blocking_scopes_nest_and_have_results() {
    let runtime = workers(2);
    let output = runtime.block_on(runtime.spawn(async {
        let base = 10;
        blocking_scope(|s| {
            let child = s.spawn(async {
                let grandchild = s.spawn(async { base + 1 });
                grandchild.await.unwrap() + 1
            });
            let aborted: ScopedJoinHandle<'_, ()> = s.spawn(pending());
            aborted.abort();
            assert!(s.block_on(aborted).unwrap_err().is_cancelled());
            s.block_on(child).unwrap()
        })
    }));
    assert_eq!(output.unwrap(), 12);
}

#[test]
fn blocking_scopes_wait_also_when_they_panic() {
    let runtime = workers(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let task = runtime.spawn(async move {
        let in_time = AtomicUsize::new(0);
        let scoped = catch_unwind(AssertUnwindSafe(|| {
            blocking_scope(|s| {
                for _ in 0..4 {
                    let counted = Counted(&in_time);
                    s.spawn(async move {
                        let _counted = counted;
                        pending::<()>().await;
                    });
                }
                panic!("the parent");
            });
        }));
        counter.store(in_time.into_inner(), Ordering::SeqCst);
        message(scoped.unwrap_err())
    });
    assert_eq!(runtime.block_on(task).unwrap(), "the parent");
    assert_eq!(dropped.load(Ordering::SeqCst), 4);

    let task = runtime.spawn(async {
        let slow = AtomicUsize::new(0);
        let scoped = catch_unwind(AssertUnwindSafe(|| {
            blocking_scope(|s| {
                s.spawn(async { panic!("a child") });
                s.spawn(async {
                    std::thread::sleep(Duration::from_millis(20));
                    slow.fetch_add(1, Ordering::SeqCst);
                });
            });
        }));
        (message(scoped.unwrap_err()), slow.into_inner())
    });
    assert_eq!(runtime.block_on(task).unwrap(), ("a child".into(), 1));
}

/// A child that is being polled when the closure panics starts another one after that.
#[test]
fn a_blocking_scope_that_panics_aborts_late_children() {
    let runtime = workers(2);
    let task = runtime.spawn(async {
        let dropped = AtomicUsize::new(0);
        let (started, has_started) = std::sync::mpsc::channel();
        let scoped = catch_unwind(AssertUnwindSafe(|| {
            blocking_scope(|s| {
                let counted = Counted(&dropped);
                s.spawn(async move {
                    started.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                    s.spawn(async move {
                        let _counted = counted;
                        pending::<()>().await;
                    });
                });
                has_started.recv().unwrap();
                panic!("the parent");
            });
        }));
        (message(scoped.unwrap_err()), dropped.into_inner())
    });
    assert_eq!(runtime.block_on(task).unwrap(), ("the parent".into(), 1));
}

#[test]
fn blocking_scopes_refuse_to_block_the_only_thread() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let started = AtomicUsize::new(0);
    let refused = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            blocking_scope(|s| {
                s.spawn(async { started.fetch_add(1, Ordering::SeqCst) });
            });
        });
    }));
    assert!(message(refused.unwrap_err()).contains("multi-threaded runtime"));
    assert_eq!(started.into_inner(), 0);
}

/// When the runtime ends, the children are dropped, and the scope ends.
#[test]
fn a_blocking_scope_ends_with_its_runtime() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let outside = std::thread::spawn(move || {
        let _entered = handle.enter();
        let dropped = AtomicUsize::new(0);
        blocking_scope(|s| {
            let counted = Counted(&dropped);
            s.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            });
            ready.send(()).unwrap();
        });
        dropped.into_inner()
    });
    is_ready.recv().unwrap();
    drop(runtime);
    assert_eq!(outside.join().unwrap(), 1);
}

/// Two children that wait for each other with their threads: neither ends unless both run.
#[test]
fn children_of_a_parallel_scope_run_on_several_threads() {
    let output = workers(2).block_on(parallel_scope(|scope| async move {
        let both = Arc::new(std::sync::Barrier::new(2));
        let child = || {
            let both = both.clone();
            scope.spawn(async move { both.wait().is_leader() })
        };
        let (one, two) = (child(), child());
        (one.await.unwrap(), two.await.unwrap())
    }));
    assert!(output == (true, false) || output == (false, true));
}

#[test]
fn a_parallel_scope_waits_for_all_children_without_their_handles() {
    let ended = Arc::new(AtomicUsize::new(0));
    let runtime = workers(2);
    let output = runtime.block_on(parallel_scope(|scope| {
        let ended = ended.clone();
        async move {
            for _ in 0..10 {
                let (inner, ended) = (scope.clone(), ended.clone());
                scope.spawn(async move {
                    pause().await;
                    let below = ended.clone();
                    inner.spawn_blocking(move || below.fetch_add(1, Ordering::SeqCst));
                    inner.spawn(async move {
                        pause().await;
                        ended.fetch_add(1, Ordering::SeqCst);
                    });
                });
            }
            7
        }
    }));
    assert_eq!((output, ended.load(Ordering::SeqCst)), (7, 20));
}

/// Adds one when it is dropped.
struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_panic_ends_a_parallel_scope_after_all_its_children() {
    for who in [
        "the child",
        "the blocking child",
        "the future",
        "the closure",
    ] {
        let ended = Arc::new(AtomicUsize::new(0));
        let runtime = workers(2);
        let scope = parallel_scope(|scope| {
            for _ in 0..3 {
                let guard = Ended(ended.clone());
                scope.spawn(async move {
                    let _guard = guard;
                    pending::<()>().await;
                });
            }
            match who {
                "the child" => drop(scope.spawn(async move { panic!("{who}") })),
                "the blocking child" => drop(scope.spawn_blocking(move || panic!("{who}"))),
                "the closure" => panic!("{who}"),
                _ => {}
            }
            async move {
                if who == "the future" {
                    pause().await;
                    panic!("{who}");
                }
                pending::<()>().await;
            }
        });
        let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(scope))).unwrap_err();
        assert_eq!(message(panic), who);
        assert_eq!(ended.load(Ordering::SeqCst), 3, "{who}");
    }
}

#[test]
fn a_parallel_scope_that_is_dropped_aborts_its_children() {
    let runtime = workers(2);
    runtime.block_on(async {
        let ended = Arc::new(AtomicUsize::new(0));
        let (tell, told) = oneshot::channel();
        let mut handles = None;
        let mut kept = None;
        {
            let (handles, kept, ended) = (&mut handles, &mut kept, ended.clone());
            let mut scope = pin!(parallel_scope(|scope| async move {
                let guard = Ended(ended);
                *handles = Some(scope.spawn(async move {
                    let _guard = guard;
                    _ = tell.send(());
                    pending::<()>().await;
                }));
                *kept = Some(scope.clone());
                pending::<()>().await;
            }));
            let (_, waker) = Wakings::new();
            assert!(poll_once(scope.as_mut(), &waker).is_pending());
            told.await.unwrap();
        }
        assert!(handles.unwrap().await.unwrap_err().is_cancelled());
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        // A child that comes too late is aborted too.
        let late = kept.unwrap().spawn(pending::<()>());
        assert!(late.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_blocking_scope_says_which_runtime_it_needs() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let scoped = AssertUnwindSafe(|| runtime.block_on(async { blocking_scope(|_| ()) }));
    let text = message(catch_unwind(scoped).unwrap_err());
    assert!(text.contains("flavor = \"multi_thread\""), "{text}");
    assert!(text.contains("parallel_scope"), "{text}");
}
