//! Signals. In a separate process, as signals go to all of it.

#![cfg(unix)]

use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
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
        use libc::{SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGSTOP};
        for number in [-1, 0, SIGKILL, SIGSTOP, SIGSEGV, SIGILL, SIGFPE] {
            let error = signal(SignalKind::from_raw(number)).unwrap_err();
            let text = format!("Refusing to register signal {number}");
            assert_eq!(error.to_string(), text);
        }
        assert!(signal(SignalKind::from_raw(100_000)).is_err());
        // The C library keeps this one for itself.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        assert_eq!(
            signal(SignalKind::from_raw(33)).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
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

/// A pipe for each listener would take as many writes and reads for each signal.
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
        // One runtime takes no signal of another, and the end of a listener none of the other listeners.
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

/// A signal wakes no task's waker, so it must not depend on the task's budget.
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

/// Installs a handler as a program does that knows nothing of listeners.
fn install(signal: libc::c_int, handler: *const (), flags: libc::c_int) {
    // SAFETY: zeros are an empty set of signals and no flags. The handler fits to the flags.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = flags;
        let installed = libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        assert_eq!(installed, 0);
    }
}

#[test]
fn a_handler_that_was_there_before_is_still_called() {
    static PLAIN: AtomicI32 = AtomicI32::new(0);
    static WITH_INFO: AtomicI32 = AtomicI32::new(0);
    extern "C" fn plain(signal: libc::c_int) {
        PLAIN.fetch_add(signal, Ordering::SeqCst);
    }
    extern "C" fn with_info(
        _: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        assert!(!context.is_null());
        // SAFETY: the system passes a valid pointer.
        WITH_INFO.fetch_add(unsafe { (*info).si_signo }, Ordering::SeqCst);
    }
    let _alone = alone();
    let (alarm, io) = (SignalKind::alarm(), SignalKind::io());
    install(alarm.as_raw_value(), plain as *const (), 0);
    install(io.as_raw_value(), with_info as *const (), libc::SA_SIGINFO);
    for (kind, calls) in [(alarm, &PLAIN), (io, &WITH_INFO)] {
        let raise = || {
            // SAFETY: there is a handler.
            unsafe { libc::raise(kind.as_raw_value()) };
        };
        runtime().block_on(async {
            for round in 1..=3 {
                let mut listener = signal(kind).unwrap();
                raise();
                assert_eq!(listener.recv().await, Some(()));
                assert_eq!(calls.load(Ordering::SeqCst), round * kind.as_raw_value());
            }
        });
        // It remains the only one to call.
        raise();
        assert_eq!(calls.load(Ordering::SeqCst), 4 * kind.as_raw_value());
    }
}

/// The handler of a program that installs its own later and calls ours.
#[test]
fn a_handler_that_calls_ours_is_not_replaced() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static OURS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn theirs(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        CALLS.fetch_add(1, Ordering::SeqCst);
        let ours = OURS.load(Ordering::SeqCst) as *const ();
        // SAFETY: a handler with `SA_SIGINFO` has these parameters.
        let ours: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(ours) };
        ours(signal, info, context);
    }
    let _alone = alone();
    let kind = SignalKind::quit();
    runtime().block_on(async {
        let first = signal(kind).unwrap();
        // SAFETY: zeros are a valid `sigaction`, and the pointers are valid.
        let ours = unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            libc::sigaction(kind.as_raw_value(), std::ptr::null(), &raw mut ours);
            ours
        };
        assert_ne!(ours.sa_flags & libc::SA_SIGINFO, 0);
        OURS.store(ours.sa_sigaction, Ordering::SeqCst);
        install(kind.as_raw_value(), theirs as *const (), libc::SA_SIGINFO);
        drop(first);
        let mut second = signal(kind).unwrap();
        // SAFETY: there is a listener.
        unsafe { libc::raise(kind.as_raw_value()) };
        assert_eq!(second.recv().await, Some(()));
        assert_eq!(CALLS.load(Ordering::SeqCst), 1);
    });
}

/// Data of a handler are freed only when no handler uses them.
#[test]
fn listeners_come_and_go_while_signals_arrive() {
    let _alone = alone();
    #[cfg(target_os = "linux")]
    let before = pipes();
    let have_ended = AtomicBool::new(false);
    let kinds = [SignalKind::user_defined1(), SignalKind::user_defined2()];
    let runtime = runtime();
    // These keep the default effect away.
    let mut kept = runtime.block_on(async { kinds.map(|kind| signal(kind).unwrap()) });
    std::thread::scope(|scope| {
        for kind in kinds {
            let have_ended = &have_ended;
            scope.spawn(move || {
                while !have_ended.load(Ordering::SeqCst) {
                    // SAFETY: there is a listener.
                    unsafe { libc::raise(kind.as_raw_value()) };
                }
            });
        }
        let come_and_go = || {
            for _ in 0..20 {
                self::runtime().block_on(async {
                    for mut listener in kinds.map(|kind| signal(kind).unwrap()) {
                        assert_eq!(listener.recv().await, Some(()));
                    }
                });
            }
        };
        let threads = [scope.spawn(come_and_go), scope.spawn(come_and_go)];
        for thread in threads {
            thread.join().unwrap();
        }
        have_ended.store(true, Ordering::SeqCst);
    });
    runtime.block_on(async {
        for listener in &mut kept {
            assert_eq!(listener.recv().await, Some(()));
        }
    });
    drop((kept, runtime));
    #[cfg(target_os = "linux")]
    assert_eq!(pipes(), before);
}

/// A handler may run between a thread's call and its look at the error.
#[test]
fn a_full_pipe_does_not_change_the_error_of_a_thread() {
    let _alone = alone();
    let runtime = runtime();
    let kind = SignalKind::user_defined1();
    let _listener = runtime.block_on(async { signal(kind).unwrap() });
    let errors = (0..100_000).filter(|_| {
        // SAFETY: there is no such descriptor, and there is a listener.
        unsafe { (libc::close(-1), libc::raise(kind.as_raw_value())) };
        std::io::Error::last_os_error().raw_os_error() != Some(libc::EBADF)
    });
    assert_eq!(errors.count(), 0);
}

/// The child has its parent's handlers, and a listener of the parent ends there, too.
#[test]
fn the_end_of_a_parents_listener_in_a_child_ends_no_other() {
    let _alone = alone();
    let kind = SignalKind::user_defined2();
    let parent = runtime();
    let listener = parent.block_on(async { signal(kind).unwrap() });
    // SAFETY: the child calls only the code under test, which takes no lock of another thread
    // but the allocator's, and that one is made free in a child by the C library.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let received = runtime().block_on(async {
            let mut own = [signal(kind).unwrap(), signal(kind).unwrap()];
            drop(listener);
            send(kind);
            (own[0].recv().await, own[1].recv().await)
        });
        // SAFETY: it ends this process without running what the test harness registered.
        unsafe { libc::_exit(i32::from(received != (Some(()), Some(())))) };
    }
    let mut status = 0;
    // SAFETY: `status` is a number to write to.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

/// The threads that run handlers at a fork do not exist in the child.
#[test]
fn a_child_does_not_wait_for_handlers_of_its_parents_threads() {
    let _alone = alone();
    let kind = SignalKind::user_defined1();
    let parent = runtime();
    let _listener = parent.block_on(async { signal(kind).unwrap() });
    let have_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !have_ended.load(Ordering::SeqCst) {
                // SAFETY: there is a listener.
                unsafe { libc::raise(kind.as_raw_value()) };
            }
        });
        for _ in 0..50 {
            // SAFETY: the child calls only the code under test, which takes no lock of another
            // thread but the allocator's, and that one is made free in a child by the C library.
            let child = unsafe { libc::fork() };
            if child == 0 {
                drop(runtime().block_on(async { signal(kind).unwrap() }));
                // SAFETY: it ends this process without running what the test harness registered.
                unsafe { libc::_exit(0) };
            }
            let mut status = 0;
            // SAFETY: `status` is a number to write to.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        have_ended.store(true, Ordering::SeqCst);
    });
}
