//! Scopes of two fibers of one thread, in every order.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Waker};

use blitz_io::fiber::{self, Fiber};
use blitz_io::pool::{self, ThreadPoolBuilder};
use blitz_io::runtime::Builder;
use blitz_io::sync::oneshot;
use blitz_io::thread::{Once, OnceLock};
use blitz_io::{task, task_local};
use blitz_io_core::{coop, scopes};

task_local! {
    static KEY: String;
    static OTHER: u32;
}

fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}

/// Suspends the fiber until it is polled again.
fn suspend() {
    let mut again = false;
    fiber::block_on(poll_fn(|_| {
        if std::mem::replace(&mut again, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
}

/// Returns `true` if this code has a task's budget.
fn has_limit() -> bool {
    let budget = coop::stop();
    coop::set(budget);
    format!("{budget:?}") != "Budget(None)"
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    Sync,
    With,
    Future,
    Dropped,
    Once,
    Unconstrained,
    Join,
    InPool,
    Loop,
    Fiber,
}

const ALL: [Scope; 10] = [
    Scope::Sync,
    Scope::With,
    Scope::Future,
    Scope::Dropped,
    Scope::Once,
    Scope::Unconstrained,
    Scope::Join,
    Scope::InPool,
    Scope::Loop,
    Scope::Fiber,
];

/// The state that a fiber must see.
#[derive(Clone, Default)]
struct Expected {
    value: Option<String>,
    is_unconstrained: bool,
    inside: Vec<Rc<Once>>,
}

impl Expected {
    fn check(&self) {
        assert_eq!(KEY.try_get().ok(), self.value);
        assert_eq!(has_limit(), !self.is_unconstrained);
        assert!(
            self.inside
                .iter()
                .all(|once| scopes::is_in(Rc::as_ptr(once)))
        );
    }

    fn wait(&self) {
        self.check();
        suspend();
        self.check();
    }
}

/// A value that may be sent, as it stays on this thread.
struct Here<T>(T);
// SAFETY: the pool of the tests has one thread, and all of a test runs in it.
unsafe impl<T> Send for Here<T> {}
// SAFETY: the pool of the tests has one thread, and all of a test runs in it.
unsafe impl<T> Sync for Here<T> {}

impl Scope {
    fn has_value(self) -> bool {
        matches!(self, Self::Sync | Self::With | Self::Future | Self::Dropped)
    }

    /// Runs `body`, once, in the scope.
    fn run(self, name: &str, outside: &Expected, body: &dyn Fn(&Expected)) {
        let mut inside = outside.clone();
        if self.has_value() {
            inside.value = Some(name.to_owned());
        }
        let runs = AtomicU32::new(0);
        let count = || _ = runs.fetch_add(1, Ordering::Relaxed);
        let mut expected = 1;
        match self {
            Self::Sync => KEY.sync_scope(name.to_owned(), || body(&inside)),
            Self::With => KEY.sync_scope(name.to_owned(), || {
                KEY.with(|value| {
                    body(&inside);
                    assert_eq!(value, name);
                });
            }),
            Self::Future => {
                let scope = pin!(KEY.scope(name.to_owned(), async { body(&inside) }));
                let polled = scope.poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_ready());
            }
            Self::Dropped => {
                struct OnDrop<F: Fn()>(F);
                impl<F: Fn()> Drop for OnDrop<F> {
                    fn drop(&mut self) {
                        (self.0)();
                    }
                }
                let on_drop = OnDrop(|| body(&inside));
                drop(KEY.scope(name.to_owned(), async move {
                    let _on_drop = on_drop;
                    pending::<()>().await;
                }));
            }
            Self::Once => {
                let once = Rc::new(Once::new());
                inside.inside.push(once.clone());
                once.call_once(|| body(&inside));
                assert!(!scopes::is_in(Rc::as_ptr(&once)) && once.is_completed());
            }
            Self::Unconstrained => {
                inside.is_unconstrained = true;
                let future = pin!(task::unconstrained(async { body(&inside) }));
                assert!(
                    future
                        .poll(&mut Context::from_waker(Waker::noop()))
                        .is_ready()
                );
            }
            Self::Join => {
                let here = Here((&inside, body));
                pool::join(
                    move || {
                        let Here((inside, body)) = { here };
                        body(inside);
                    },
                    || {
                        // The other closure may wait as well.
                        suspend();
                        count();
                    },
                );
                expected += 1;
            }
            Self::InPool => {
                let here = Here((&inside, body));
                pool::scope(|scope| {
                    scope.spawn(|_| {
                        suspend();
                        count();
                    });
                    let Here((inside, body)) = { here };
                    body(inside);
                });
                expected += 1;
            }
            Self::Loop => {
                let here = Here((&inside, body));
                pool::for_each(0..3, 1, |item| {
                    let Here((inside, body)) = &here;
                    if item == 1 {
                        body(inside);
                    }
                    count();
                });
                expected += 3;
            }
            Self::Fiber => {
                // Another fiber that waits inside this one, in a scope of its own.
                let mut inner = Box::pin(fiber::run(|| {
                    OTHER.sync_scope(1, || {
                        suspend();
                        assert_eq!(OTHER.get(), 1);
                    });
                }));
                assert!(poll(&mut inner).is_pending());
                body(&inside);
                assert!(poll(&mut inner).is_ready());
            }
        }
        count();
        assert_eq!(runs.into_inner(), expected);
        outside.check();
    }
}

/// A fiber that waits before, in, between and after two scopes, one in the other.
fn fiber(name: &'static str, outer: Scope, inner: Scope) -> Pin<Box<Fiber<()>>> {
    Box::pin(fiber::run(move || {
        let outside = Expected::default();
        outer.run(&format!("{name}, outer"), &outside, &|expected| {
            expected.wait();
            inner.run(&format!("{name}, inner"), expected, &Expected::wait);
            expected.wait();
        });
        outside.wait();
    }))
}

/// Polls a fiber as a task, and checks that it leaves nothing behind.
fn step(fiber: &mut Pin<Box<Fiber<()>>>) -> bool {
    let is_ready = coop::budget(|| {
        let is_ready = poll(fiber).is_ready();
        assert!(has_limit());
        is_ready
    });
    assert!(KEY.try_get().is_err());
    is_ready
}

/// Each order is a number, whose bits select the fiber to resume. At the end both are polled alternately.
fn in_every_order(make: impl Fn() -> [Pin<Box<Fiber<()>>>; 2]) {
    for order in 0..1_u32 << 8 {
        let mut fibers = make().map(Some);
        let mut polls = 0;
        while fibers.iter().any(Option::is_some) {
            let first = if polls < 8 { order >> polls } else { polls } as usize % 2;
            let next = if fibers[first].is_some() {
                first
            } else {
                1 - first
            };
            if fibers[next].as_mut().is_some_and(step) {
                fibers[next] = None;
            }
            polls += 1;
        }
    }
}

/// A scope in which a value is borrowed admits no other of the same key.
fn fits(outer: Scope, inner: Scope) -> bool {
    !(outer == Scope::With && inner.has_value())
}

#[test]
fn every_scope_of_two_fibers_in_every_order() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        fiber::extent(|| {
            for outer in ALL {
                for inner in ALL {
                    if fits(outer, inner) {
                        // The other fiber has them the other way round, if it can.
                        let (first, second) = if fits(inner, outer) {
                            (inner, outer)
                        } else {
                            (outer, inner)
                        };
                        in_every_order(|| [fiber("a", outer, inner), fiber("b", first, second)]);
                    }
                }
            }
        })
    });
}

#[test]
fn fibers_that_are_dropped_leave_their_scopes_in_order() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        fiber::extent(|| {
            for scope in ALL {
                for polls in 1..4 {
                    let [mut one, mut other] =
                        ["a", "b"].map(|name| fiber(name, scope, Scope::Once));
                    (0..polls).for_each(|_| assert!(!step(&mut one) && !step(&mut other)));
                    if matches!(scope, Scope::Join | Scope::InPool | Scope::Dropped) {
                        // The rest would run in a destructor, which may not suspend.
                        [one, other]
                            .iter_mut()
                            .for_each(|fiber| while !step(fiber) {});
                    } else {
                        drop(one);
                        assert!(KEY.try_get().is_err());
                        assert!(!step(&mut other));
                    }
                }
            }
        })
    });
}

#[test]
fn a_fiber_sees_the_scope_of_the_poll_that_resumes_it() {
    fiber::extent(|| {
        let mut fiber = Box::pin(fiber::run(|| {
            assert_eq!(KEY.get(), "one");
            OTHER.sync_scope(1, suspend);
            assert_eq!(KEY.get(), "two");
            KEY.sync_scope("own".into(), || {
                suspend();
                assert_eq!(KEY.get(), "own");
            });
            assert!(KEY.try_get().is_err());
        }));
        KEY.sync_scope("one".into(), || assert!(poll(&mut fiber).is_pending()));
        KEY.sync_scope("two".into(), || {
            assert!(poll(&mut fiber).is_pending());
            assert_eq!(KEY.get(), "two");
        });
        assert!(poll(&mut fiber).is_ready());
    });
}

/// Records the value that it reads when the fiber is unwound.
struct Reads<'a>(&'a String, Rc<RefCell<String>>);

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push_str(self.0);
    }
}

/// A fiber that waits with a reference to the value of an outer scope, and the value that it read at the end.
fn borrower() -> (Fiber<()>, Rc<RefCell<String>>) {
    let found = Rc::new(RefCell::new(String::new()));
    let inner = found.clone();
    let fiber = fiber::run(move || {
        KEY.with(|value| {
            let _reads = Reads(value, inner);
            suspend();
            suspend();
        });
    });
    (fiber, found)
}

#[test]
fn a_fiber_may_wait_with_a_reference_to_the_value_of_its_scope() {
    fiber::extent(|| {
        let (fiber, found) = borrower();
        let mut scope = Box::pin(KEY.scope("value".into(), fiber));
        assert!(poll(&mut scope).is_pending());
        // Other code of the thread has scopes of the key while the fiber waits.
        let mut other = Box::pin(KEY.scope("other".into(), async { KEY.get() }));
        assert_eq!(poll(&mut other), Poll::Ready("other".into()));
        assert!(poll(&mut scope).is_pending());
        assert_eq!(scope.as_mut().take_value(), None);
        assert_eq!(poll(&mut scope), Poll::Ready(()));
        assert_eq!(*found.borrow(), "value");
        assert_eq!(scope.as_mut().take_value().as_deref(), Some("value"));
    });
}

#[test]
fn the_future_of_a_scope_is_dropped_before_its_value() {
    fiber::extent(|| {
        // Also where the value cannot be in its place.
        for borrowed in [false, true] {
            let (fiber, found) = borrower();
            let mut scope = Box::pin(KEY.scope("value".into(), fiber));
            assert!(poll(&mut scope).is_pending());
            assert_eq!(scope.as_mut().take_value(), None);
            if borrowed {
                KEY.sync_scope("other".into(), || KEY.with(|_| drop(scope)));
            } else {
                drop(scope);
            }
            assert_eq!(*found.borrow(), "value");
        }
    });
}

#[test]
#[cfg(unix)]
fn a_value_does_not_go_while_a_fiber_has_a_reference() {
    use std::os::unix::process::ExitStatusExt;

    const CHILD: &str = "BLITZ_DROPS_A_VALUE";
    if std::env::var_os(CHILD).is_some() {
        let (fiber, _) = borrower();
        let mut fiber = Box::pin(fiber);
        fiber::extent(|| {
            KEY.sync_scope("value".into(), || assert!(poll(&mut fiber).is_pending()));
        });
        unreachable!("the value is gone");
    }
    let name = "scopes::a_value_does_not_go_while_a_fiber_has_a_reference";
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = blitz_io_testing::limited(&mut command)
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{errors}");
    assert!(
        errors.contains("a task-local value was dropped"),
        "{errors}"
    );
}

/// Runs two fibers of one thread that use the same cell, whose closure waits. The first one's may panic.
fn two_fibers_of_a_cell(panics: bool) -> [Result<u32, task::JoinError>; 2] {
    let runtime = Builder::new_current_thread().build().unwrap();
    let cell = Arc::new(OnceLock::new());
    let begun = Arc::new(AtomicU32::new(0));
    let fiber = || {
        let (cell, begun) = (cell.clone(), begun.clone());
        fiber::spawn(move || {
            *cell.get_or_init(|| {
                let run = begun.fetch_add(1, Ordering::Relaxed) + 1;
                (0..3).for_each(|_| fiber::yield_now());
                assert!(!panics || run > 1, "on purpose");
                run
            })
        })
    };
    runtime.block_on(async {
        let (one, other) = (fiber(), fiber());
        [one.await, other.await]
    })
}

#[test]
fn a_fiber_waits_for_the_closure_that_another_one_of_its_thread_runs() {
    let [one, other] = two_fibers_of_a_cell(false);
    assert_eq!([one.unwrap(), other.unwrap()], [1, 1]);
}

#[test]
fn a_fiber_tries_again_when_the_closure_of_another_one_has_panicked() {
    let [one, other] = two_fibers_of_a_cell(true);
    assert!(one.unwrap_err().is_panic());
    assert_eq!(other.unwrap(), 2);
}

#[test]
fn a_fiber_that_waits_for_a_closure_can_be_aborted() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let cell = Arc::new(OnceLock::new());
    runtime.block_on(async {
        let (go, gone) = oneshot::channel::<u32>();
        let shared = cell.clone();
        let init = fiber::spawn(move || *shared.get_or_init(|| fiber::block_on(gone).unwrap()));
        let waits = || {
            let shared = cell.clone();
            fiber::spawn(move || *shared.get_or_init(|| 0))
        };
        let [one, aborted, other] = [(); 3].map(|()| waits());
        for _ in 0..4 {
            task::yield_now().await;
        }
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
        go.send(7).unwrap();
        for fiber in [init, one, other] {
            assert_eq!(fiber.await.unwrap(), 7);
        }
    });
}

/// It would block the thread on which the fiber has to go on.
#[test]
fn a_task_does_not_wait_for_a_closure_that_a_fiber_of_its_thread_runs() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let once = Arc::new(Once::new());
    runtime.block_on(async {
        let (go, gone) = oneshot::channel::<()>();
        let shared = once.clone();
        let fiber = fiber::spawn(move || shared.call_once(|| fiber::block_on(gone).unwrap()));
        task::yield_now().await;
        let payload = catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).unwrap_err();
        let message = payload.downcast_ref::<&str>().unwrap();
        assert!(message.contains("waits for a fiber of this thread"));
        go.send(()).unwrap();
        fiber.await.unwrap();
        once.call_once(|| unreachable!());
    });
}

/// The call for which the fiber waits fails, and before the fiber resumes another thread begins the next
/// call. No fiber of this thread is woken at the end of that.
#[test]
fn a_fiber_waits_for_the_call_of_another_thread_as_a_thread_does() {
    fiber::extent(|| {
        let cell = Arc::new(OnceLock::new());
        let shared = cell.clone();
        let mut failing = Box::pin(fiber::run(move || {
            shared.get_or_init(|| {
                suspend();
                panic!("on purpose")
            });
        }));
        assert!(poll(&mut failing).is_pending());
        let shared = cell.clone();
        let mut waiting = Box::pin(fiber::run(move || *shared.get_or_init(|| 1)));
        assert!(poll(&mut waiting).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut failing))).is_err());
        let (begun, polled) = (Barrier::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                cell.get_or_init(|| {
                    begun.wait();
                    while !polled.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    7
                });
            });
            begun.wait();
            polled.store(true, Ordering::Relaxed);
            assert_eq!(poll(&mut waiting), Poll::Ready(7));
        });
    });
}

task_local!(static NUMBER: Cell<u32>);

thread_local! {
    static BORROWER: RefCell<Option<Pin<Box<Fiber<()>>>>> = const { RefCell::new(None) };
}

/// A value that is not `Sync`, to which a fiber of another thread has a reference.
#[test]
fn a_value_is_not_shown_while_a_fiber_of_another_thread_has_a_reference() {
    let body = poll_fn(|_| BORROWER.with_borrow_mut(|fiber| poll(fiber.as_mut().unwrap())));
    let mut scope = Box::pin(NUMBER.scope(Cell::new(4), body));
    let (sender, receiver) = mpsc::channel();
    let (back, returned) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let fiber = fiber::run(|| {
            NUMBER.with(|number| {
                suspend();
                number.set(5);
            });
        });
        BORROWER.set(Some(Box::pin(fiber)));
        fiber::extent(|| {
            assert!(poll(&mut scope).is_pending());
            sender.send(scope).unwrap();
            let mut scope = returned.recv().unwrap();
            assert!(poll(&mut scope).is_ready());
            scope
        })
    });
    let scope = receiver.recv().unwrap();
    assert!(format!("{scope:?}").contains("<borrowed>"));
    back.send(scope).unwrap();
    let scope = thread.join().unwrap();
    assert!(format!("{scope:?}").contains('5'));
}
