//! Signals. In a separate process, as signals go to all of it.

#![cfg(unix)]

use std::pin::pin;
use std::sync::Mutex;
use std::task::Waker;

use blitz_io::runtime::{Builder, Runtime};
use blitz_io::signal::unix::{SignalKind, signal};
use blitz_io_testing::{Wakings, poll_once};

/// A signal reaches the listeners of all tests, so they run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> impl Drop {
    ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn send(kind: SignalKind) {
    // SAFETY: there is a listener, so the signal does not end the process.
    unsafe { libc::kill(libc::getpid(), kind.as_raw_value()) };
    // It is delivered to some thread before the call returns, or soon after.
}

#[test]
fn signals_that_come_together_are_one() {
    let _alone = alone();
    runtime().block_on(async {
        let kind = SignalKind::user_defined1();
        let mut listener = signal(kind).unwrap();
        for _ in 0..200 {
            // This thread raises it, so the handler has run when the call returns.
            // SAFETY: there is a listener.
            unsafe { libc::raise(kind.as_raw_value()) };
        }
        assert_eq!(listener.recv().await, Some(()));
        let (wakings, waker) = Wakings::new();
        assert!(poll_once(pin!(listener.recv()), &waker).is_pending());
        assert_eq!(wakings.count(), 0);
        send(kind);
        assert_eq!(listener.recv().await, Some(()));
    });
}

#[test]
fn a_dropped_future_has_taken_no_signal() {
    let _alone = alone();
    runtime().block_on(async {
        let kind = SignalKind::user_defined2();
        let (mut one, mut other) = (signal(kind).unwrap(), signal(kind).unwrap());
        assert!(poll_once(pin!(one.recv()), Waker::noop()).is_pending());
        send(kind);
        assert_eq!(other.recv().await, Some(()));
        assert_eq!(one.recv().await, Some(()));
        drop(one);
        send(kind);
        assert_eq!(other.recv().await, Some(()));
    });
}

#[test]
fn what_cannot_be_listened_for_is_an_error() {
    let _alone = alone();
    runtime().block_on(async {
        for number in [-1, 0, libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, 100_000] {
            assert!(signal(SignalKind::from_raw(number)).is_err(), "{number}");
        }
    });
}

#[test]
fn with_the_runtime_the_listening_ends() {
    let _alone = alone();
    let kind = SignalKind::hangup();
    let first = runtime();
    let mut listener = first.block_on(async { signal(kind).unwrap() });
    drop(first);
    runtime().block_on(async {
        assert_eq!(listener.recv().await, None);
    });
    // The handler remains: nothing ends the process.
    drop(listener);
    send(kind);
}

/// A signal to a forked process does not reach its parent.
#[test]
fn a_forked_process_has_signals_of_its_own() {
    let _alone = alone();
    runtime().block_on(async {
        let kind = SignalKind::window_change();
        let mut listener = signal(kind).unwrap();
        // SAFETY: the child only makes calls that a signal handler may make.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a signal handler may make these two calls, so the child may, too.
            unsafe {
                libc::raise(kind.as_raw_value());
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: `status` is a number to write to.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        assert!(poll_once(pin!(listener.recv()), Waker::noop()).is_pending());
        send(kind);
        assert_eq!(listener.recv().await, Some(()));
    });
}

/// The child of a fork has listeners of its own, and takes nothing of its parent's.
#[test]
fn a_listener_of_a_forked_process_takes_no_signal_of_its_parent() {
    let _alone = alone();
    let kind = SignalKind::window_change();
    let receive_own = || {
        let runtime = runtime();
        runtime.block_on(async {
            let mut listener = signal(kind).unwrap();
            send(kind);
            listener.recv().await
        })
    };
    let parent = runtime();
    let mut listener = parent.block_on(async { signal(kind).unwrap() });
    // Its handler has run, and its listener has not been told yet.
    // SAFETY: there is a listener.
    unsafe { libc::raise(kind.as_raw_value()) };
    // SAFETY: the child calls only the code under test, which takes no lock of another thread
    // but the allocator's, and that one is made free in a child by the C library.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the call takes a number. It ends the child if it hangs.
        unsafe { libc::alarm(900) };
        let received = receive_own() == Some(());
        // SAFETY: it ends this process without running what the test harness registered.
        unsafe { libc::_exit(i32::from(!received)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a number to write to.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    parent.block_on(async {
        assert_eq!(listener.recv().await, Some(()));
        assert!(poll_once(pin!(listener.recv()), Waker::noop()).is_pending());
    });
}

/// Returns the number of descriptors that are ends of pipes.
#[cfg(target_os = "linux")]
fn pipes() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("pipe:"))
        .count()
}

/// With a pipe for each listener, each signal took as many writes and reads.
#[test]
#[cfg(target_os = "linux")]
fn all_listeners_of_a_runtime_share_a_pipe() {
    let _alone = alone();
    let before = pipes();
    let runtime = runtime();
    runtime.block_on(async {
        let (one, other) = (SignalKind::user_defined1(), SignalKind::user_defined2());
        let listeners = |kind| (0..10).map(move |_| signal(kind).unwrap());
        let mut listeners: Vec<_> = listeners(one).chain(listeners(other)).collect();
        assert_eq!(pipes() - before, 2);
        send(one);
        for listener in &mut listeners[..10] {
            assert_eq!(listener.recv().await, Some(()));
        }
        for listener in &mut listeners {
            assert!(poll_once(pin!(listener.recv()), Waker::noop()).is_pending());
        }
        // One runtime takes nothing of another's, and the end of a listener of nobody's else.
        drop(listeners.drain(1..19));
        let elsewhere = std::thread::spawn(move || {
            self::runtime().block_on(async {
                let mut listener = signal(other).unwrap();
                assert_eq!(pipes() - before, 4);
                send(other);
                listener.recv().await
            })
        });
        assert_eq!(listeners[1].recv().await, Some(()));
        assert_eq!(elsewhere.join().unwrap(), Some(()));
        drop(listeners);
        assert_eq!(pipes(), before);
    });
}

/// What a signal wakes is no task's waker, so it must not depend on the task's budget.
#[test]
fn a_listener_is_made_in_a_task_whose_budget_is_used_up() {
    let _alone = alone();
    runtime().block_on(async {
        let kind = SignalKind::user_defined1();
        let mut listener = blitz_io::task::spawn(async move {
            std::future::poll_fn(|cx| {
                while let std::task::Poll::Ready(unit) = blitz_io::task::coop::poll_proceed(cx) {
                    unit.made_progress();
                }
                std::task::Poll::Ready(signal(kind).unwrap())
            })
            .await
        })
        .await
        .unwrap();
        for _ in 0..2 {
            send(kind);
            assert_eq!(listener.recv().await, Some(()));
        }
    });
}

#[test]
fn a_signal_of_before_is_not_for_a_new_listener() {
    let _alone = alone();
    runtime().block_on(async {
        let kind = SignalKind::user_defined1();
        let mut first = signal(kind).unwrap();
        // SAFETY: there is a listener.
        unsafe { libc::raise(kind.as_raw_value()) };
        let mut second = signal(kind).unwrap();
        assert_eq!(first.recv().await, Some(()));
        assert!(poll_once(pin!(second.recv()), Waker::noop()).is_pending());
        send(kind);
        assert_eq!(second.recv().await, Some(()));
    });
}

#[test]
fn signals_that_do_not_exist_have_errors_of_their_own() {
    let _alone = alone();
    runtime().block_on(async {
        let text = |number| {
            signal(SignalKind::from_raw(number))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(text(999), "signal too large");
        assert_eq!(text(0), "Refusing to register signal 0");
        assert_eq!(text(libc::SIGKILL), "Refusing to register signal 9");
    });
}
