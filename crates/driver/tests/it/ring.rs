//! Operations in a ring, from the first to the end of the driver. Where the system has no
//! io_uring, they are refused, and only that is tested.

use std::fs::File;
use std::future::Future;
use std::io::{Read as _, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use blitz_io_driver::io_uring::{Entry, Finish, InFlight, Operation, opcode, probe, types};
use blitz_io_driver::{Driver, Wakers};

use crate::help::{Count, driver, look, park_until};

/// Reads from a pipe. Counts how many instances have not been dropped.
struct Read {
    from: Arc<File>,
    buffer: Box<[u8; 64]>,
    alive: Arc<AtomicUsize>,
}

impl Finish for Read {
    type Output = Result<Vec<u8>, i32>;

    fn finish(self, result: i32) -> Self::Output {
        usize::try_from(result)
            .map(|count| self.buffer[..count].to_vec())
            .map_err(|_| -result)
    }
}

// SAFETY: the buffer is on the heap.
unsafe impl Operation for Read {
    fn entry(&mut self) -> Entry {
        let from = types::Fd(self.from.as_raw_fd());
        opcode::Read::new(from, self.buffer.as_mut_ptr(), 64).build()
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A driver with a ring, and a pipe.
struct Test {
    driver: Arc<Driver>,
    from: Arc<File>,
    to: File,
    alive: Arc<AtomicUsize>,
}

impl Test {
    fn new() -> Option<Self> {
        let driver = driver();
        assert_eq!(driver.has_ring(), probe().is_ok());
        let (from, to) = pipe();
        driver.has_ring().then(|| Self {
            driver,
            from: Arc::new(from),
            to,
            alive: Arc::default(),
        })
    }

    fn read(&self) -> Read {
        self.alive.fetch_add(1, Ordering::Relaxed);
        Read {
            from: self.from.clone(),
            buffer: Box::new([0; 64]),
            alive: self.alive.clone(),
        }
    }

    fn start(&self) -> InFlight<Read> {
        self.driver.start(self.read()).ok().expect("there is room")
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

/// Creates a pipe whose ends block.
fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(result, 0);
    // SAFETY: they have just been opened by this function.
    let [from, to] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }.into());
    (from, to)
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_completion_ends_the_park_of_the_owner() {
    let Some(mut test) = Test::new() else { return };
    let mut read = test.start();
    let (count, waker) = Count::new();
    assert!(poll(&mut read, &waker).is_pending());
    thread::scope(|scope| {
        scope.spawn(|| test.to.write_all(b"ping").unwrap());
        park_until(&test.driver, || count.get() == 1);
    });
    let Poll::Ready(Ok(bytes)) = poll(&mut read, &waker) else {
        panic!("it was woken for nothing");
    };
    assert_eq!(bytes.unwrap(), b"ping");
}

#[test]
fn another_thread_queues_what_the_parked_owner_submits() {
    let Some(test) = Test::new() else { return };
    let (count, waker) = Count::new();
    thread::scope(|scope| {
        let parked = scope.spawn(|| park_until(&test.driver, || count.get() == 1));
        let mut read = test.start();
        // The pipe is empty until the waker is stored.
        assert!(poll(&mut read, &waker).is_pending());
        (&test.to).write_all(b"ping").unwrap();
        parked.join().unwrap();
        let result = poll(&mut read, &waker);
        assert!(matches!(result, Poll::Ready(Ok(Ok(bytes))) if bytes == b"ping"));
    });
}

#[test]
fn another_thread_sees_a_stalled_owners_completions() {
    let Some(mut test) = Test::new() else { return };
    let (count, waker) = Count::new();
    let mut read = test.start();
    assert!(poll(&mut read, &waker).is_pending());
    // Submitted here; this thread does not poll the driver again.
    look(&test.driver);
    test.to.write_all(b"ping").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while count.get() == 0 {
                look(&test.driver);
                thread::yield_now();
            }
        });
    });
    assert!(poll(&mut read, &waker).is_ready());
}

#[test]
fn a_dropped_operation_keeps_its_buffer_until_the_kernel_lets_go() {
    let Some(test) = Test::new() else { return };
    for is_submitted in [false, true] {
        let mut read = test.start();
        assert!(poll(&mut read, Waker::noop()).is_pending());
        if is_submitted {
            look(&test.driver);
        }
        drop(read);
        assert_eq!(test.alive(), 1);
        park_until(&test.driver, || test.alive() == 0);
    }
}

#[test]
fn a_completed_operation_is_freed_by_its_future() {
    let Some(mut test) = Test::new() else { return };
    let read = test.start();
    test.to.write_all(b"ping").unwrap();
    look(&test.driver);
    assert_eq!(test.alive(), 1);
    drop(read);
    assert_eq!(test.alive(), 0);
}

#[test]
fn a_driver_ends_with_operations_in_flight() {
    let Some(test) = Test::new() else { return };
    let reads: Vec<_> = (0..10).map(|_| test.start()).collect();
    look(&test.driver);
    let more: Vec<_> = (0..10).map(|_| test.start()).collect();
    assert_eq!(test.alive(), 20);
    let Test { driver, alive, .. } = test;
    drop((reads, more));
    drop(driver);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_shutdown_gives_operations_back() {
    let Some(test) = Test::new() else { return };
    let mut read = test.start();
    let (count, waker) = Count::new();
    assert!(poll(&mut read, &waker).is_pending());
    let mut wakers = Wakers::new();
    test.driver.shut_down(&mut wakers);
    wakers.wake_all();
    assert_eq!(count.get(), 1);
    assert!(matches!(poll(&mut read, &waker), Poll::Ready(Err(_))));
    assert!(test.driver.start(test.read()).is_err());
    assert_eq!(test.alive(), 0);
}

#[test]
fn a_thread_that_ends_gives_its_operations_back() {
    let Some(mut test) = Test::new() else { return };
    let mut read = test.start();
    let (count, waker) = Count::new();
    assert!(poll(&mut read, &waker).is_pending());
    thread::scope(|scope| {
        let submits = scope.spawn(|| look(&test.driver));
        submits.join().unwrap();
    });
    // The kernel may notice only at the event that the thread has ended.
    test.to.write_all(b"ping").unwrap();
    park_until(&test.driver, || count.get() == 1);
    let Poll::Ready(result) = poll(&mut read, &waker) else {
        panic!("it was woken for nothing");
    };
    match result {
        Ok(bytes) => assert_eq!(bytes.unwrap(), b"ping"),
        Err(operation) => {
            let mut bytes = [0; 4];
            (&*operation.from).read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"ping");
        }
    }
}

#[test]
fn a_full_ring_refuses_and_completes_what_it_has() {
    let Some(mut test) = Test::new() else { return };
    let mut reads = Vec::new();
    while let Ok(read) = test.driver.start(test.read()) {
        reads.push(read);
        assert!(reads.len() < 100_000, "nothing is refused");
    }
    assert_eq!(reads.len(), test.alive());
    look(&test.driver);
    // Dropped: as many requests to cancel as operations, more than the completion queue
    // holds.
    let kept = reads.split_off(reads.len() - 5);
    drop(reads);
    park_until(&test.driver, || test.alive() == 5);
    // Each byte ends one of the others, in any order.
    let (count, waker) = Count::new();
    let mut kept = kept;
    let is_pending = |read: &mut InFlight<Read>| poll(read, &waker).is_pending();
    assert!(kept.iter_mut().all(is_pending));
    for ended in 1..=5 {
        test.to.write_all(b"x").unwrap();
        park_until(&test.driver, || count.get() == ended);
    }
    for mut read in kept {
        let result = poll(&mut read, &waker);
        assert!(matches!(result, Poll::Ready(Ok(Ok(bytes))) if bytes == b"x"));
    }
    assert_eq!(test.alive(), 0);
}

/// Opens a file. Its path is on the heap.
struct Open(std::ffi::CString);

impl Finish for Open {
    type Output = Result<File, i32>;

    fn finish(self, result: i32) -> Self::Output {
        match result {
            // SAFETY: the kernel has just opened it for this operation.
            0.. => Ok(unsafe { OwnedFd::from_raw_fd(result) }.into()),
            _ => Err(-result),
        }
    }
}

// SAFETY: the path is on the heap.
unsafe impl Operation for Open {
    fn entry(&mut self) -> Entry {
        opcode::OpenAt::new(types::Fd(libc::AT_FDCWD), self.0.as_ptr())
            .flags(libc::O_RDONLY | libc::O_CLOEXEC)
            .build()
    }
}

#[test]
fn a_file_that_was_opened_for_nobody_is_closed() {
    let Some(test) = Test::new() else { return };

    let Test { driver, .. } = test;
    let path = std::env::temp_dir().join(format!("blitz-io-driver-open-{}", std::process::id()));
    std::fs::write(&path, "text").unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    for _ in 0..10 {
        let open = driver.start(Open(name.clone())).ok().unwrap();
        look(&driver);
        drop(open);
        look(&driver);
    }
    drop(driver);
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_link(entry.unwrap().path()).is_ok_and(|target| target == path)
    };
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    assert_eq!(open.map(is_ours).filter(|is_ours| *is_ours).count(), 0);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_driver_that_may_not_have_a_ring_refuses() {
    let driver = driver();
    driver.allow_ring(false);
    assert!(!driver.has_ring());
    let open = Open(c"/".into());
    assert!(driver.start(open).is_err());
    assert!(!driver.has_sources());
}

/// Receives from a socket, unless that would have to wait.
struct Receive(std::os::unix::net::UnixStream, Box<[u8; 64]>);

impl Finish for Receive {
    type Output = i32;

    fn finish(self, result: i32) -> i32 {
        result
    }
}

// SAFETY: the buffer is on the heap.
unsafe impl Operation for Receive {
    fn entry(&mut self) -> Entry {
        let from = types::Fd(self.0.as_raw_fd());
        opcode::Recv::new(from, self.1.as_mut_ptr(), 64)
            .flags(libc::MSG_DONTWAIT)
            .build()
    }
}

#[test]
fn an_operation_that_must_not_wait_is_returned() {
    let Some(test) = Test::new() else { return };
    let (from, mut to) = std::os::unix::net::UnixStream::pair().unwrap();
    let receive = Receive(from, Box::new([0; 64]));
    let (count, waker) = Count::new();
    let mut in_flight = test.driver.start(receive).ok().unwrap();
    assert!(poll(&mut in_flight, &waker).is_pending());
    park_until(&test.driver, || count.get() == 1);
    let Poll::Ready(Err(receive)) = poll(&mut in_flight, &waker) else {
        panic!("the kernel has carried it out");
    };
    to.write_all(b"ping").unwrap();
    let mut in_flight = test.driver.start(receive).ok().unwrap();
    assert!(poll(&mut in_flight, &waker).is_pending());
    park_until(&test.driver, || count.get() == 2);
    assert!(matches!(poll(&mut in_flight, &waker), Poll::Ready(Ok(4))));
}
