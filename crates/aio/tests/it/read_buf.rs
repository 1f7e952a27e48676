//! `ReadBuf`: what counts as filled and as initialised, and what panics.

use std::mem::MaybeUninit;

use blitz_io_aio::ReadBuf;
use blitz_io_testing::panic_of;
use bytes::BufMut;

#[test]
fn only_what_is_needed_is_initialised() {
    let mut memory = [MaybeUninit::uninit(); 16];
    let mut buf = ReadBuf::uninit(&mut memory);
    assert_eq!((buf.capacity(), buf.initialized().len()), (16, 0));
    assert_eq!(buf.initialize_unfilled_to(4), [0; 4]);
    assert_eq!(buf.initialized().len(), 4);
    buf.initialized_mut().copy_from_slice(b"abcd");
    buf.advance(2);
    assert_eq!(buf.filled(), b"ab");
    // Bytes that were initialised before stay as they are.
    assert_eq!(buf.initialize_unfilled_to(4), b"cd\0\0");
    buf.put_slice(b"xyz");
    assert_eq!((buf.filled(), buf.remaining()), (&b"abxyz"[..], 11));
    buf.filled_mut()[0] = b'A';
    buf.clear();
    assert_eq!(
        (buf.filled(), buf.initialized()),
        (&b""[..], &b"Abxyz\0"[..])
    );
    buf.set_filled(6);
    let part = buf.take(3);
    assert_eq!((part.capacity(), part.initialized().len()), (3, 0));
    assert_eq!(buf.take(100).capacity(), 10);
    buf.put_bytes(b'!', 2);
    assert_eq!(buf.filled(), b"Abxyz\0!!");
    let shown = "ReadBuf { filled: 8, initialized: 8, capacity: 16 }";
    assert_eq!(format!("{buf:?}"), shown);
}

#[test]
fn a_step_too_far_panics_as_tokio_says() {
    let mut memory = [MaybeUninit::uninit(); 4];
    let mut buf = ReadBuf::uninit(&mut memory);
    assert_eq!(
        panic_of(|| buf.put_slice(b"12345")),
        "buf.len() must fit in remaining(); buf.len() = 5, remaining() = 4"
    );
    assert_eq!(
        panic_of(|| buf.advance(1)),
        "literally: filled must not become larger than initialized"
    );
    assert_eq!(
        panic_of(|| _ = buf.initialize_unfilled_to(5)),
        "literally: n overflows remaining"
    );
    buf.put_slice(b"1");
    assert_eq!(panic_of(|| buf.advance(usize::MAX)), "filled overflow");
}
