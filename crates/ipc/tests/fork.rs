use std::time::Duration;

use blitz_ipc::{RecvError, Route, SendError};

use crate::common::Place;

/// Runs `child` in a forked child, which ends without running this process's destructors.
fn in_child(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child allocates nothing that another thread may hold locked, and exits.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let passed = child();
        // SAFETY: ends the child.
        unsafe { libc::_exit(if passed { 0 } else { 1 }) };
    }
    pid
}

fn exit_code(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status));
    libc::WEXITSTATUS(status)
}

#[test]
fn a_forked_child_is_refused_and_does_not_keep_its_parent_alive() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(4).max_len(16));
    let (mut sender, mut receiver) = (route.sender("f").unwrap(), route.receiver("f").unwrap());
    sender.send(b"before").unwrap();
    let child = in_child(|| {
        let sent = sender.send(b"child");
        let received = receiver.try_recv().map(drop);
        let refused = sent == Err(SendError::Forked) && received == Err(RecvError::Forked);
        // Stays for a while, with what it has inherited.
        std::thread::sleep(Duration::from_millis(300));
        refused
    });
    drop(sender);
    assert_eq!(*receiver.recv().unwrap(), *b"before");
    assert_eq!(receiver.recv().unwrap_err(), RecvError::Disconnected);
    drop(receiver);
    assert_eq!(place.segments(), 0);
    assert_eq!(exit_code(child), 0);
}

#[test]
fn dropping_in_the_child_does_not_leave_for_the_parent() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(4).max_len(16));
    let (mut sender, mut receiver) = (route.sender("d").unwrap(), route.receiver("d").unwrap());
    let mut both = Some((&mut sender, &mut receiver));
    let child = in_child(|| {
        if let Some((sender, receiver)) = both.take() {
            // SAFETY: the child ends without using them again.
            unsafe {
                std::ptr::drop_in_place(sender);
                std::ptr::drop_in_place(receiver);
            }
        }
        true
    });
    assert_eq!(exit_code(child), 0);
    sender.send(b"after").unwrap();
    assert_eq!(*receiver.recv().unwrap(), *b"after");
}
