use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use blitz_io_ipc::{
    Barrier, Error, Event, NotifyError, Queue, RecvError, Route, Semaphore, SendError, WaitError,
};

use crate::common::{LONG, Log, Place, Process, directory_of, role};

/// Runs `child` in a forked child, which ends without running this process's destructors.
fn in_child(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child allocates nothing that another thread may hold locked, and exits.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: ends the child if it hangs.
        unsafe { libc::alarm(60) };
        // The child must not unwind into the rest of the parent's test.
        let passed = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: ends the child.
        unsafe { libc::_exit(if passed { 0 } else { 1 }) };
    }
    pid
}

fn exit_code(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: it is a child of this process.
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
        // The child stays for a while, with its inherited descriptors and mapping.
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

#[test]
fn what_was_held_stays_the_parents() {
    let place = Place::new();
    let queue = place.in_it(Queue::builder().capacity(4).max_len(16));
    let (mut sender, mut receiver) = (queue.sender("h").unwrap(), queue.receiver("h").unwrap());
    let mut other = queue.receiver("h").unwrap();
    sender.send(b"held").unwrap();
    let message = receiver.recv().unwrap();
    let mut loan = sender.loan(4).unwrap();
    loan.copy_from_slice(b"lent");
    let both = (&message, &mut loan);
    let child = in_child(|| {
        let (message, loan) = both;
        // SAFETY: the child ends without using them again.
        unsafe {
            std::ptr::drop_in_place(std::ptr::from_ref(message).cast_mut());
            std::ptr::read(loan).send() == Err(SendError::Forked)
        }
    });
    assert_eq!(exit_code(child), 0);
    assert_eq!(*message, *b"held");
    assert_eq!(other.try_recv().unwrap_err(), RecvError::Empty);
    loan.send().unwrap();
    assert_eq!(*other.recv().unwrap(), *b"lent");
}

#[test]
fn events_semaphores_and_barriers_are_refused_in_a_child() {
    let place = Place::new();
    let event = Event::builder(2).directory(place.path());
    let (notifier, mut listener) = (event.notifier("e").unwrap(), event.listener("e").unwrap());
    let semaphore = Semaphore::builder(1).directory(place.path());
    let mut one = semaphore.open("s").unwrap();
    let mut two = semaphore.open("s").unwrap();
    let permit = two.acquire().unwrap();
    let barrier = Barrier::builder(1).directory(place.path());
    let mut meeting = barrier.open("b").unwrap();
    let child = in_child(|| {
        let refused = [
            listener.try_wait().err(),
            one.try_acquire().err(),
            meeting.wait().err(),
        ];
        // SAFETY: the child ends without using it again.
        unsafe { std::ptr::drop_in_place(std::ptr::from_ref(&permit).cast_mut()) };
        refused == [Some(WaitError::Forked); 3] && notifier.notify(1) == Err(NotifyError::Forked)
    });
    assert_eq!(exit_code(child), 0);
    assert!(one.try_acquire().unwrap().is_none());
    drop(permit);
    assert!(one.try_acquire().unwrap().is_some());
    notifier.notify(1).unwrap();
    assert_eq!(listener.wait().unwrap().id, 1);
    assert!(meeting.wait().unwrap().is_leader());
}

/// A child may take part under the same name, if it joins on its own.
#[test]
fn a_child_can_open_again() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(4).max_len(16));
    let mut sender = route.sender("a").unwrap();
    let mut receiver = route.receiver("a").unwrap();
    let child = in_child(|| {
        let taken = matches!(route.sender("a"), Err(Error::Occupied { .. }));
        let mut receiver = route.clone().with_history(true).receiver("a").unwrap();
        taken && *receiver.recv_timeout(LONG).unwrap() == *b"both"
    });
    sender.send(b"both").unwrap();
    assert_eq!(*receiver.recv().unwrap(), *b"both");
    assert_eq!(exit_code(child), 0);
}

/// Returns `true` if a descriptor of this process leads to a file below `directory`. Allocates nothing.
#[cfg(target_os = "linux")]
fn has_open_file_below(directory: &[u8]) -> bool {
    use std::io::Write;

    (0..1024).any(|fd| {
        let (mut link, mut path) = ([0_u8; 64], [0_u8; 512]);
        write!(&mut link[..], "/proc/self/fd/{fd}\0").expect("it fits");
        let [from, to] = [link.as_mut_ptr(), path.as_mut_ptr()].map(<*mut u8>::cast);
        // SAFETY: a string that ends with a zero, and a buffer of this length.
        let len = unsafe { libc::readlink(from, to, path.len()) };
        usize::try_from(len).is_ok_and(|len| path[..len].starts_with(directory))
    })
}

/// Other threads of the parent join and leave during the forks, and none of them fails.
#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_keeps_no_descriptor_of_a_segment() {
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    let place = Place::new();
    let directory = place.path().canonicalize().unwrap();
    let directory = directory.as_os_str().as_bytes();
    let is_over = AtomicBool::new(false);
    let kept = std::thread::scope(|scope| {
        for number in 0..2 {
            let route = place.in_it(Route::builder().capacity(4).max_len(16));
            let (name, is_over) = (format!("n{number}"), &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    drop(route.sender(&name).unwrap());
                }
            });
        }
        let children: Vec<_> = (0..300)
            .map(|_| exit_code(in_child(|| !has_open_file_below(directory))))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        children.iter().sum::<i32>()
    });
    // A fork waits for half a second at most for a thread that has lost its processor.
    println!("children of 300 that kept a descriptor: {kept}");
}

/// Joins with both ends, forks a child of its own that stays, and waits to be killed, if this
/// process is the child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let route = Route::builder().capacity(4).max_len(16);
    let route = route.directory(&directory);
    let _sender = route.sender("k").unwrap();
    let _receiver = route.receiver("k").unwrap();
    let mut log = Log::create(&directory.join("log"));
    in_child(|| {
        // Only now has it closed the descriptors that it inherited.
        log.push([u64::from(std::process::id()), 0]);
        std::thread::sleep(LONG);
        true
    });
    std::thread::sleep(LONG);
}

/// The memory that a child has inherited does not keep its parent's locks.
#[test]
fn a_killed_process_is_dead_although_its_forked_child_lives() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(4).max_len(16));
    let mut receiver = route.receiver("k").unwrap();
    let directory = place.path().display().to_string();
    let child = Process::start("fork::child", &["fork".to_owned(), directory]);
    let grandchild = Log::wait(&place.path().join("log"))[0] as i32;
    child.kill();
    let listed = blitz_io_ipc::list_in(place.path()).unwrap();
    let alive = listed[0].participants.iter().filter(|one| one.alive);
    let alive = alive.count();
    let ended = receiver.recv_timeout(LONG).map(drop);
    let next = route.sender("k").map(drop);
    // SAFETY: the grandchild sleeps until it is killed here, so its number is its own.
    assert_eq!(unsafe { libc::kill(grandchild, libc::SIGKILL) }, 0);
    assert_eq!(alive, 1);
    assert_eq!(ended, Err(RecvError::Disconnected));
    next.unwrap();
}
