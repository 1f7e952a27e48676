//! Models of the in-memory streams.

use std::pin::{Pin, pin};
use std::task::Waker;

use blitz_io_aio::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use loom::thread;

use crate::model::{block_on, model_in_order, poll};

/// An end that is not dropped when a model has failed: its lock belongs to a run that is
/// over.
struct End(std::mem::ManuallyDrop<DuplexStream>);

impl End {
    fn new(end: DuplexStream) -> Self {
        Self(std::mem::ManuallyDrop::new(end))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this is the only drop of the value, and its last use.
            unsafe { std::mem::ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// A writer with room for one byte, and a reader: both have to wait.
fn two_bytes_through_one() {
    let (near, far) = duplex(1);
    let (mut near, mut far) = (End::new(near), End::new(far));
    let writer = thread::spawn(move || {
        block_on(near.0.write_all(b"ab")).unwrap();
        near
    });
    let mut bytes = [0; 2];
    assert_eq!(block_on(far.0.read_exact(&mut bytes)).unwrap(), 2);
    assert_eq!(&bytes, b"ab");
    drop(writer.join().unwrap());
}

/// Closing the write half ends the wait of a reader.
fn a_reader_sees_the_end() {
    let (near, far) = duplex(1);
    let (near, mut far) = (End::new(near), End::new(far));
    let writer = thread::spawn(move || drop(near));
    assert_eq!(block_on(far.0.read(&mut [0])).unwrap(), 0);
    writer.join().unwrap();
}

/// Closing the read half ends the wait of a writer.
fn a_writer_sees_the_end() {
    let (near, far) = duplex(1);
    let (near, mut far) = (End::new(near), End::new(far));
    block_on(far.0.write(b"a")).unwrap();
    let reader = thread::spawn(move || drop(near));
    // Room for this byte is never made.
    assert!(block_on(far.0.write(b"b")).is_err());
    reader.join().unwrap();
}

/// A reader that gave up has left its waker; the next reader is woken nevertheless.
fn a_reader_gives_up() {
    let (near, far) = duplex(1);
    let (mut near, mut far) = (End::new(near), End::new(far));
    let writer = thread::spawn(move || {
        block_on(near.0.write_all(b"a")).unwrap();
        near
    });
    let mut byte = [0];
    let given_up: Pin<&mut _> = pin!(far.0.read(&mut byte));
    let read = poll(given_up, Waker::noop()).is_ready();
    if !read {
        block_on(far.0.read_exact(&mut byte)).unwrap();
    }
    assert_eq!(&byte, b"a");
    drop(writer.join().unwrap());
}

#[test]
fn bytes_pass() {
    model_in_order(2, two_bytes_through_one);
}

#[test]
fn ends_are_seen() {
    model_in_order(2, a_reader_sees_the_end);
    model_in_order(2, a_writer_sees_the_end);
}

#[test]
fn a_waker_is_replaced() {
    model_in_order(2, a_reader_gives_up);
}
