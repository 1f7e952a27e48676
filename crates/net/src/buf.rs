//! Buffers that need not be initialised.

use std::io;
use std::mem::MaybeUninit;

use blitz_aio::{IoBuf, IoBufMut, ReadBuf};
use bytes::BufMut;

/// What can be filled of `bytes`, for a system call, which only writes to it.
///
/// # Safety
///
/// Nothing is read from it that has not been written before.
pub unsafe fn as_slice(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the two have the same layout, and nothing is read from it.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [u8]) }
}

/// Receives into what is left of `buf`. The result has the number of bytes.
///
/// # Safety
///
/// `receive` only writes to the buffer, and has written as many bytes as it says.
pub unsafe fn receive_buf<B: BufMut + ?Sized, R>(
    buf: &mut B,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { as_slice(buf.chunk_mut().as_uninit_slice_mut()) };
    let (n, rest) = receive(bytes)?;
    // SAFETY: as the caller promises.
    unsafe { buf.advance_mut(n) };
    Ok((n, rest))
}

/// Receives into what is not filled of `buf`, and advances it unless `peek`.
///
/// # Safety
///
/// As [`receive_buf`].
pub unsafe fn receive_read_buf<R>(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { as_slice(buf.unfilled_mut()) };
    let (n, rest) = receive(bytes)?;
    // SAFETY: as the caller promises.
    unsafe { buf.assume_init(n) };
    buf.advance(n);
    Ok((n, rest))
}

/// Receives into the beginning of a buffer that was given away.
///
/// # Safety
///
/// As [`receive_buf`].
pub unsafe fn receive_owned<B: IoBufMut, R>(
    buf: &mut B,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    let room = buf.bytes_total();
    let to = buf.stable_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: so many bytes may be written there, and the buffer is ours.
    let bytes = unsafe { std::slice::from_raw_parts_mut(to, room) };
    // SAFETY: as the caller promises.
    let (n, rest) = receive(unsafe { as_slice(bytes) })?;
    // SAFETY: as the caller promises.
    unsafe { buf.set_init(n) };
    Ok((n, rest))
}

/// What a buffer holds that was given away.
pub fn init<B: IoBuf>(buf: &B) -> &[u8] {
    // SAFETY: so many bytes are initialised, and stay while the buffer is borrowed.
    unsafe { std::slice::from_raw_parts(buf.stable_ptr(), buf.bytes_init()) }
}
