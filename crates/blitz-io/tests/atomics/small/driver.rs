//! Readiness that comes between the look of a task and its wait.

use std::future::poll_fn;
use std::io::Write;
use std::os::unix::net::UnixStream as Socket;
use std::pin::Pin;

use blitz_io::io::{AsyncRead, AsyncReadExt, ReadBuf};
use blitz_io::net::UnixStream;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::oneshot;
use pollster::block_on;

use crate::all_others_sleep;

/// The second worker waits in the driver while the first one polls a task.
fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_io().build().unwrap()
}

fn pair() -> (Socket, Socket) {
    let (here, there) = Socket::pair().unwrap();
    there.set_nonblocking(true).unwrap();
    (here, there)
}

/// One worker waits in the driver. The task reads the first byte, so that its socket looks ready. The second byte is
/// sent when it is about to look for that one.
fn a_second_byte_comes<F>(read: impl FnOnce(UnixStream) -> F + Send + 'static)
where
    F: Future<Output = u8> + Send,
{
    let runtime = runtime();
    let (mut here, there) = pair();
    let (sender, reads) = oneshot::channel();
    here.write_all(&[1]).unwrap();
    let mut there = {
        let _entered = runtime.enter();
        UnixStream::from_std(there).unwrap()
    };
    all_others_sleep();
    let task = runtime.spawn(async move {
        let mut first = [0];
        there.read_exact(&mut first).await.unwrap();
        sender.send(()).unwrap();
        read(there).await
    });
    block_on(reads).unwrap();
    here.write_all(&[7]).unwrap();
    assert_eq!(block_on(task).unwrap(), 7);
}

#[test]
fn a_byte_reaches_a_future() {
    a_second_byte_comes(|there| async move {
        let mut byte = [0];
        while there.try_read(&mut byte).is_err() {
            there.readable().await.unwrap();
        }
        byte[0]
    });
}

#[test]
fn a_byte_reaches_a_poll() {
    a_second_byte_comes(|mut there| async move {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        poll_fn(|cx| Pin::new(&mut there).poll_read(cx, &mut buffer))
            .await
            .unwrap();
        byte[0]
    });
}

/// The end comes between two reads.
#[test]
fn the_end_reaches_a_task() {
    let runtime = runtime();
    let (mut here, there) = pair();
    let task = runtime.spawn(async move {
        let mut there = UnixStream::from_std(there).unwrap();
        let mut bytes = vec![];
        there.read_to_end(&mut bytes).await.unwrap();
        bytes
    });
    here.write_all(&[7]).unwrap();
    drop(here);
    assert_eq!(block_on(task).unwrap(), [7]);
}
