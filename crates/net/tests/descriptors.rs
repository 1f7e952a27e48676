//! No descriptor is left. In a process of its own.

#![cfg(all(unix, not(loom)))]

use std::time::{Duration, Instant};

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::Builder;
use blitz_io::time::{sleep, timeout};

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

/// An error, and not a busy loop; when there are descriptors again, the connection that
/// waits is accepted.
#[test]
fn an_accept_without_descriptors_is_an_error() {
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
        // Others go on meanwhile.
        let begin = Instant::now();
        timeout(Duration::from_secs(60), sleep(Duration::from_millis(5)))
            .await
            .unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(5));
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
