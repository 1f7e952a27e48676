//! Buffers that may be uninitialised.

use std::io;
use std::mem::MaybeUninit;

use blitz_io_aio::{IoBuf, IoBufMut, ReadBuf};
use bytes::BufMut;

/// Returns `bytes` as a slice for a system call, which only writes to it.
///
/// # Safety
///
/// The caller does not read any byte that has not been written before.
pub unsafe fn as_slice(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the two have the same layout, and nothing is read from it.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [u8]) }
}

/// Receives into the remaining room of `buf`. The result contains the number of bytes.
///
/// # Safety
///
/// `receive` only writes to the buffer, and has written as many bytes as it returns.
pub unsafe fn receive_buf<B: BufMut + ?Sized, R>(
    buf: &mut B,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { as_slice(buf.chunk_mut().as_uninit_slice_mut()) };
    let (n, rest) = receive(bytes)?;
    // SAFETY: the caller guarantees it.
    unsafe { buf.advance_mut(n) };
    Ok((n, rest))
}

/// Receives into the unfilled part of `buf`, and advances it unless `peek`.
///
/// # Safety
///
/// Same as for [`receive_buf`].
pub unsafe fn receive_read_buf<R>(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { as_slice(buf.unfilled_mut()) };
    let (n, rest) = receive(bytes)?;
    // SAFETY: the caller guarantees it.
    unsafe { buf.assume_init(n) };
    buf.advance(n);
    Ok((n, rest))
}

/// Receives into the beginning of a buffer that the operation owns.
///
/// # Safety
///
/// Same as for [`receive_buf`].
pub unsafe fn receive_owned<B: IoBufMut, R>(
    buf: &mut B,
    receive: impl FnOnce(&mut [u8]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    let room = buf.bytes_total();
    let to = buf.stable_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: `room` bytes may be written there, and this function owns the buffer.
    let bytes = unsafe { std::slice::from_raw_parts_mut(to, room) };
    // SAFETY: the caller guarantees it.
    let (n, rest) = receive(unsafe { as_slice(bytes) })?;
    // SAFETY: the caller guarantees it.
    unsafe { buf.set_init(n) };
    Ok((n, rest))
}

/// Returns the contents of a buffer that the operation owns.
pub fn init<B: IoBuf>(buf: &B) -> &[u8] {
    // SAFETY: that many bytes are initialised, and do not move while the buffer is
    // borrowed.
    unsafe { std::slice::from_raw_parts(buf.stable_ptr(), buf.bytes_init()) }
}
