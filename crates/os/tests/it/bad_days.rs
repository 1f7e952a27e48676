//! Files that change under a reader, full disks, and runtimes that end.

use std::io::{ErrorKind, SeekFrom};

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz_io::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_file_that_shrinks_while_it_is_read_ends_where_it_ends() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![7; 10_000]).await.unwrap();
        let mut file = File::open(&path).await.unwrap();
        file.set_max_buf_size(1000);
        let mut bytes = vec![0; 1000];
        file.read_exact(&mut bytes).await.unwrap();
        let other = std::fs::File::options().write(true).open(&path).unwrap();
        other.set_len(2500).unwrap();
        let mut rest = Vec::new();
        assert_eq!(file.read_to_end(&mut rest).await.unwrap(), 1500);
        // Shorter than the position of the reader.
        other.set_len(10).unwrap();
        assert_eq!(file.read(&mut bytes).await.unwrap(), 0);
        let error = file.read_exact(&mut bytes).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        // Then it grows again.
        other.set_len(2600).unwrap();
        assert_eq!(file.read_to_end(&mut rest).await.unwrap(), 100);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_of_once_and_by_the_flush() {
    runtime().block_on(async {
        let mut options = fs::OpenOptions::new();
        let mut full = options.write(true).open("/dev/full").await.unwrap();
        // The write is accepted, and then fails.
        assert_eq!(full.write(b"bytes").await.unwrap(), 5);
        assert_eq!(
            full.flush().await.unwrap_err().kind(),
            ErrorKind::StorageFull
        );
        full.flush().await.unwrap();
        // Without a flush, the next write reports it.
        assert_eq!(full.write(b"bytes").await.unwrap(), 5);
        assert_eq!(
            full.write(b"bytes").await.unwrap_err().kind(),
            ErrorKind::StorageFull
        );
        // An operation that only inspects the file keeps the error for the write.
        assert_eq!(full.write(b"bytes").await.unwrap(), 5);
        drop(full.sync_all().await);
        assert_eq!(
            full.shutdown().await.unwrap_err().kind(),
            ErrorKind::StorageFull
        );
        assert_eq!(full.write(b"bytes").await.unwrap(), 5);
        let error = full.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        let error = fs::write("/dev/full", "bytes").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    });
}

#[test]
fn nothing_is_read_and_written_at_once() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create_new(folder.path().join("file")).await.unwrap();
        assert_eq!(file.write(&[]).await.unwrap(), 0);
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
        file.write_all(b"abc").await.unwrap();
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
        file.seek(SeekFrom::Start(1)).await.unwrap();
        assert_eq!(file.write(&[]).await.unwrap(), 0);
        assert_eq!(file.read_u8().await.unwrap(), b'b');
        file.flush().await.unwrap();
    });
}

/// A file that is open for one direction only reports it, and stays usable for that
/// direction.
#[test]
fn the_wrong_direction_is_an_error() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = File::create(&path).await.unwrap();
        assert!(file.read_u8().await.is_err());
        file.write_all(b"abc").await.unwrap();
        file.flush().await.unwrap();
        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'a');
        assert_eq!(file.write(b"x").await.unwrap(), 1);
        assert!(file.flush().await.is_err());
        file.rewind().await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'a');
        assert_eq!(fs::read(&path).await.unwrap(), b"abc");
    });
}

/// A file moves from a runtime that has ended to another one.
#[test]
fn a_file_outlives_its_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let first = runtime();
    let mut file = first.block_on(async {
        let mut file = File::create_new(&path).await.unwrap();
        file.write_all(b"abc").await.unwrap();
        file
    });
    let handle = first.handle().clone();
    drop(first);
    {
        // The pool is closed: an error, and no panic. Accepted writes are written
        // nevertheless.
        let _entered = handle.enter();
        let error = pollster(file.seek(SeekFrom::End(0))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Other);
    }
    runtime().block_on(async {
        file.rewind().await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
    });
}

/// Polls once: in a runtime that has ended nothing is under way.
fn pollster<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    for _ in 0..3 {
        if let std::task::Poll::Ready(output) =
            blitz_io_testing::poll_once(future.as_mut(), std::task::Waker::noop())
        {
            return output;
        }
    }
    panic!("it is pending")
}

/// Futures are dropped at every poll; the operations that they started complete, and
/// nothing is lost.
#[test]
fn futures_dropped_at_every_await() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for polls in 0..6 {
            _ = std::fs::remove_file(&path);
            let work = async {
                let mut file = File::create_new(&path).await?;
                file.write_all(b"some text").await?;
                file.flush().await?;
                file.set_len(4).await?;
                file.rewind().await?;
                let mut text = String::new();
                file.read_to_string(&mut text).await?;
                assert_eq!(text, "some");
                std::io::Result::Ok(())
            };
            let mut work = Box::pin(work);
            let mut left = polls;
            std::future::poll_fn(|cx| {
                let done = work.as_mut().poll(cx).is_ready();
                left -= i32::from(!done);
                if done || left < 0 {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
            drop(work);
        }
        // The pool is intact.
        fs::write(&path, "whole").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "whole");
    });
}
