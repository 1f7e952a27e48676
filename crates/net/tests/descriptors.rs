//! Running out of descriptors; descriptors that a forked process has as well, that other
//! code has closed, and that dropped futures had. In a separate process, because the limit,
//! the fork and the descriptors apply to all of it.

#![cfg(unix)]

use std::fs::File;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use blitz_io::runtime::Builder;
use blitz_io::time::{sleep, timeout};

/// Lets the tests run one after the other.
fn alone() -> impl Drop {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn limit(descriptors: u64) {
    let limit = libc::rlimit {
        rlim_cur: descriptors as libc::rlim_t,
        rlim_max: 4096,
    };
    // SAFETY: the struct is valid.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

fn open() -> u64 {
    // SAFETY: the descriptor is closed at once.
    unsafe {
        let next = libc::dup(0);
        libc::close(next);
        next as u64
    }
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await;
    (client.unwrap(), listener.accept().await.unwrap().0)
}

async fn exchange(near: &mut TcpStream, far: &mut TcpStream) {
    for byte in 0..100 {
        near.write_all(&[byte]).await.unwrap();
        assert_eq!(far.read_u8().await.unwrap(), byte);
    }
}

/// The result is an error, and not a busy loop; when there are descriptors again, the
/// waiting connection is accepted.
#[test]
fn an_accept_without_descriptors_is_an_error() {
    let _alone = alone();
    limit(4096);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        limit(open());
        for _ in 0..3 {
            let error = listener.accept().await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
        // Other tasks continue in this time, and the waiting connection does not keep the
        // driver busy.
        let metrics = blitz_io::runtime::Handle::current().metrics();
        let events = metrics.io_driver_ready_count();
        let begin = Instant::now();
        timeout(Duration::from_secs(900), sleep(Duration::from_millis(50)))
            .await
            .unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(50));
        assert_eq!(metrics.io_driver_ready_count(), events);
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        let error = Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        limit(4096);
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 5];
        stream.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"hello");
    });
}

/// A copy of this process, which does nothing and is killed in the end.
struct Fork(libc::pid_t);

impl Fork {
    fn new() -> Self {
        // SAFETY: the child only makes calls that a signal handler may make.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a signal handler may make these calls, so the child may, too. The
            // alarm ends the child if its parent does not kill it.
            unsafe {
                libc::alarm(120);
                loop {
                    libc::pause();
                }
            }
        }
        assert!(child > 0);
        Self(child)
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        // SAFETY: the child has not been waited for, and the status is not requested.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// A forked process has every socket as well, so the system closes none of them when it is
/// dropped here. Later events of such a socket reach no task.
#[test]
fn a_forked_process_keeps_sockets_open_and_disturbs_nobody() {
    let _alone = alone();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let test = async {
        let (mut client, mut server) = pair().await;
        let fork = Fork::new();
        exchange(&mut client, &mut server).await;
        exchange(&mut server, &mut client).await;
        let mut client = client.into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        drop(server);
        for _ in 0..10 {
            // The next sockets have the numbers of those that were dropped.
            let (mut near, mut far) = pair().await;
            client.write_all(b"to nobody").unwrap();
            exchange(&mut near, &mut far).await;
        }
        // Only now is the last descriptor of the socket closed.
        drop(fork);
        client
            .set_read_timeout(Some(Duration::from_secs(900)))
            .unwrap();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    };
    runtime.block_on(async { timeout(Duration::from_secs(900), test).await.unwrap() });
}

#[test]
fn a_descriptor_that_was_closed_behind_our_back_is_an_error_and_others_go_on() {
    let _alone = alone();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let test = async {
        let (mut client, mut server) = pair().await;
        let (mut near, mut far) = pair().await;
        let stand_in = File::open("/dev/null").unwrap();
        let closed = client.as_raw_fd();
        // SAFETY: no value owns the number until `stand_in` gets it; the test needs that
        // state.
        assert_eq!(unsafe { libc::close(closed) }, 0);
        for _ in 0..3 {
            let error = client.write_all(b"x").await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        }
        assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
        exchange(&mut near, &mut far).await;
        // The number now belongs to another file, which the socket closes.
        // SAFETY: both numbers are open or have no owner, and the socket closes the new one
        // when it is dropped.
        assert_eq!(unsafe { libc::dup2(stand_in.as_raw_fd(), closed) }, closed);
        let error = client.write_all(b"x").await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
        drop(client);
        exchange(&mut far, &mut near).await;
    };
    runtime.block_on(async { timeout(Duration::from_secs(900), test).await.unwrap() });
}

/// Typical operations on sockets, dropped after each number of polls: nothing stays open,
/// and in the end the future completes.
#[test]
fn futures_that_are_dropped_at_every_await_leave_nothing_open() {
    async fn work() {
        let (mut client, mut server) = pair().await;
        let sent = vec![7; 4_000_000];
        let mut received = vec![0; sent.len()];
        let (write, read) =
            blitz_io::join!(client.write_all(&sent), server.read_exact(&mut received));
        write.unwrap();
        read.unwrap();
        assert!(sent == received);
        client.shutdown().await.unwrap();
        assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(socket.local_addr().unwrap()).await.unwrap();
        socket.send(b"hello").await.unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 5);
        let (mut one, mut other) = UnixStream::pair().unwrap();
        blitz_io::join!(
            async { assert_eq!(other.read_u8().await.unwrap(), 7) },
            async {
                sleep(Duration::from_millis(1)).await;
                one.write_all(&[7]).await.unwrap();
            }
        );
        let mut byte = [0];
        for _ in 0..20 {
            blitz_io::join!(
                async { other.read_exact(&mut byte).await.unwrap() },
                async {
                    blitz_io::task::yield_now().await;
                    one.write_all(b"x").await.unwrap();
                }
            );
        }
    }

    fn open() -> usize {
        std::fs::read_dir("/dev/fd").unwrap().count()
    }

    async fn dropped_at_every_await() {
        let before = open();
        for polls in 1.. {
            let mut work = Box::pin(work());
            let mut left = polls;
            let done = poll_fn(|cx| {
                let poll = work.as_mut().poll(cx).map(|()| true);
                left -= 1;
                match left {
                    0 => Poll::Ready(poll.is_ready()),
                    _ => poll,
                }
            });
            let done = done.await;
            drop(work);
            assert_eq!(open(), before, "after {polls} polls");
            if done {
                assert!(polls > 20, "it waited no more than {polls} times");
                return;
            }
        }
    }

    let _alone = alone();
    let mut several = Builder::new_multi_thread();
    several.worker_threads(2);
    for mut builder in [Builder::new_current_thread(), several] {
        let runtime = builder.enable_all().build().unwrap();
        // If there are workers, the drivers are theirs.
        let test = dropped_at_every_await();
        runtime.block_on(async { timeout(Duration::from_secs(900), test).await.unwrap() });
    }
}
