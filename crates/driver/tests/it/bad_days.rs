//! The system refuses, or other code interferes.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use blitz_io_driver::{Registration, Wakers, bits};
use mio::unix::SourceFd;
use mio::{Interest, net::UnixStream};

use crate::help::{Count, driver, look, pair};

#[test]
fn what_cannot_be_polled_is_an_error() {
    let driver = driver();
    let file = std::fs::File::open("/proc/self/exe").or_else(|_| std::fs::File::open("/bin/sh"));
    let file = file.unwrap();
    let fd = file.as_raw_fd();
    let result = Registration::new(&mut SourceFd(&fd), Interest::READABLE, &driver);
    if cfg!(target_os = "linux") {
        assert_eq!(
            result.unwrap_err().kind(),
            std::io::ErrorKind::PermissionDenied
        );
        assert_eq!(driver.metrics().registered(), 0);
    }
}

#[test]
fn a_descriptor_that_is_registered_twice_is_an_error() {
    let driver = driver();
    let pair = pair(&driver);
    let fd = pair.here.as_raw_fd();
    let again = Registration::new(&mut SourceFd(&fd), Interest::READABLE, &driver);
    if cfg!(target_os = "linux") {
        assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    }
}

/// The file lives on under another descriptor, so the system continues to report events.
#[test]
fn a_descriptor_that_was_closed_behind_our_back_does_no_harm() {
    let driver = driver();
    let (here, mut there) = UnixStream::pair().unwrap();
    let copy = here.as_fd().try_clone_to_owned().unwrap();
    let fd = here.as_raw_fd();
    let registration = Registration::new(&mut SourceFd(&fd), Interest::READABLE, &driver).unwrap();
    drop(here);
    assert!(registration.deregister(&mut SourceFd(&fd)).is_err());
    drop(registration);
    for _ in 0..3 {
        there.write_all(b"x").unwrap();
        look(&driver);
        driver.park(Some(std::time::Instant::now()), &mut Wakers::new());
    }
    drop(copy);
    look(&driver);
}

/// A descriptor is closed without its registration, and its number is that of another source
/// when the first registration ends. The old file lives on, and its events reach no source.
#[test]
fn a_number_that_is_used_again_does_no_harm() {
    let driver = driver();
    let (here, mut there) = UnixStream::pair().unwrap();
    let copy = here.as_fd().try_clone_to_owned().unwrap();
    let fd = here.as_raw_fd();
    let first = Registration::new(&mut SourceFd(&fd), Interest::READABLE, &driver).unwrap();
    let (mut other, _other_end) = UnixStream::pair().unwrap();
    // SAFETY: both descriptors are open, and `here` is used no more except to be closed.
    assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), fd) }, fd);
    let second = Registration::new(&mut SourceFd(&fd), Interest::READABLE, &driver).unwrap();
    // This hits the second file.
    first.deregister(&mut SourceFd(&fd)).unwrap();
    drop(first);
    // The entry has another source now.
    let third = Registration::new(&mut other, Interest::READABLE, &driver).unwrap();
    for _ in 0..3 {
        there.write_all(b"x").unwrap();
        look(&driver);
    }
    assert!(!third.ready(bits::READABLE).is_ready());
    assert!(!second.ready(bits::READABLE).is_ready());
    third.deregister(&mut other).unwrap();
    drop((here, copy));
}

#[test]
fn a_source_may_leave_after_its_driver_was_shut_down_and_let_go() {
    let driver = driver();
    let mut pair = pair(&driver);
    driver.shut_down(&mut Wakers::new());
    drop(driver);
    pair.registration.deregister(&mut pair.here).unwrap();
}

/// Sources come and go while the owner sleeps.
#[test]
fn many_leave_while_the_owner_sleeps() {
    let driver = driver();
    let pairs: Vec<_> = (0..200).map(|_| pair(&driver)).collect();
    let _last = pair(&driver);
    look(&driver);
    let owner = driver.clone();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = stop.clone();
    let owner = std::thread::spawn(move || {
        while !stopped.load(std::sync::atomic::Ordering::SeqCst) {
            owner.park(crate::help::limit(), &mut Wakers::new());
        }
    });
    for mut pair in pairs {
        pair.registration.deregister(&mut pair.here).unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    driver.unpark();
    owner.join().unwrap();
    assert_eq!(driver.metrics().deregistered(), 200);
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let driver = driver();
    let mut pairs = [pair(&driver), pair(&driver), pair(&driver)];
    let (count, waker) = Count::new();
    for (index, pair) in pairs.iter_mut().enumerate() {
        let waker = match index {
            1 => Arc::new(Panics).into(),
            _ => waker.clone(),
        };
        let context = &mut std::task::Context::from_waker(&waker);
        _ = (pair.registration).poll_ready(context, blitz_io_driver::Direction::Read);
        pair.there.write_all(b"x").unwrap();
    }
    let mut wakers = Wakers::new();
    driver.poll(&mut wakers);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wakers.wake_all()));
    assert!(result.is_err());
    assert_eq!(count.get(), 2);
}

#[test]
fn a_wait_that_is_pending_keeps_no_task_alive_once_the_source_is_dropped() {
    let driver = driver();
    let pair = pair(&driver);
    let (count, waker) = Count::new();
    let context = &mut std::task::Context::from_waker(&waker);
    _ = (pair.registration).poll_ready(context, blitz_io_driver::Direction::Read);
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 2);
    drop(pair);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn an_event_for_nobody_is_kept() {
    let driver = driver();
    let mut pair = pair(&driver);
    pair.there.write_all(b"x").unwrap();
    look(&driver);
    let event = pollster::block_on(pair.registration.wait(bits::READABLE)).unwrap();
    assert_eq!(event.bits, bits::READABLE);
}

#[test]
fn a_signal_does_not_end_the_program() {
    // A poll that a signal interrupts returns early, and is repeated.
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGURG, nothing as *const () as libc::sighandler_t) };
    let driver = driver();
    let mut pair = pair(&driver);
    look(&driver);
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::pthread_self() } as usize;
    let other = std::thread::spawn(move || {
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            // SAFETY: the thread waits for this one.
            unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGURG) };
        }
        pair.there.write_all(b"x").unwrap();
        pair.there
    });
    crate::help::park_until(&driver, || {
        pair.registration.ready(bits::READABLE).is_ready()
    });
    drop(other.join().unwrap());
}

/// The child of a fork ends a registration that it has inherited.
#[test]
fn a_forked_child_takes_no_source_from_its_parent() {
    let driver = driver();
    let mut pair = pair(&driver);
    // SAFETY: no other thread uses this driver, so none holds its locks; otherwise the child makes
    // only system calls before it ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let ended = pair.registration.deregister(&mut pair.here);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    pair.there.write_all(b"x").unwrap();
    crate::help::park_until(&driver, || {
        pair.registration.ready(bits::READABLE).is_ready()
    });
}

/// A lack of descriptors is reported as an error, and breaks nothing. Runs in a process of
/// its own.
#[test]
fn no_descriptors_are_an_error() {
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the child makes only system calls before it ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the struct is valid.
        let is_limited = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0;
        let fails = is_limited && blitz_io_driver::Driver::new(8, None).is_err();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!fails)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}
