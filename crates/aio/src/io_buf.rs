//! Buffers that an operation owns while it runs.

use std::io;

use bytes::{Bytes, BytesMut};

/// The outcome of an operation that was given a buffer: its result, and the buffer.
pub type BufResult<T, B> = (io::Result<T>, B);

/// A buffer that an operation can write from: an operation of the kernel owns the buffer
/// until it has ended, and then gives it back.
///
/// The name and the methods are those of tokio-uring.
///
/// # Safety
///
/// The first [`bytes_init`](Self::bytes_init) bytes at [`stable_ptr`](Self::stable_ptr) are
/// initialised, and do not move when the buffer is moved.
pub unsafe trait IoBuf: Send + Unpin + 'static {
    /// Returns the address of the bytes.
    fn stable_ptr(&self) -> *const u8;

    /// Returns the number of initialised bytes.
    fn bytes_init(&self) -> usize;

    /// Returns the number of bytes that the buffer has room for.
    fn bytes_total(&self) -> usize;
}

/// A buffer that an operation can read into.
///
/// # Safety
///
/// The [`bytes_total`](IoBuf::bytes_total) bytes at
/// [`stable_mut_ptr`](Self::stable_mut_ptr), which is the same address as `stable_ptr`, may
/// be written, and do not move when the buffer is moved.
pub unsafe trait IoBufMut: IoBuf {
    /// Returns the address of the bytes.
    fn stable_mut_ptr(&mut self) -> *mut u8;

    /// Sets the number of initialised bytes to at least `count`.
    ///
    /// # Safety
    ///
    /// At least the first `count` bytes are initialised.
    unsafe fn set_init(&mut self, count: usize);
}

/// Implements the trait for read-only buffers, through their `Deref` target.
macro_rules! read_only {
    ($($buf:ty),*) => {$(
        // SAFETY: the bytes are on the heap or static, all are initialised, and nothing
        // changes them.
        unsafe impl IoBuf for $buf {
            fn stable_ptr(&self) -> *const u8 {
                self.as_ptr()
            }

            fn bytes_init(&self) -> usize {
                self.len()
            }

            fn bytes_total(&self) -> usize {
                self.len()
            }
        }
    )*};
}

read_only!(Bytes, Box<[u8]>, String, &'static [u8], &'static str);

// SAFETY: the bytes are on the heap, and all are initialised.
unsafe impl IoBufMut for Box<[u8]> {
    fn stable_mut_ptr(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    unsafe fn set_init(&mut self, _count: usize) {}
}

/// Implements the traits for buffers that grow, with the function that returns the address of all their bytes.
macro_rules! growing {
    ($($buf:ty, $address:expr;)*) => {$(
        // SAFETY: the bytes are on the heap, and the first `len` of them are initialised.
        unsafe impl IoBuf for $buf {
            fn stable_ptr(&self) -> *const u8 {
                self.as_ptr()
            }

            fn bytes_init(&self) -> usize {
                self.len()
            }

            fn bytes_total(&self) -> usize {
                self.capacity()
            }
        }

        // SAFETY: there is room for as many bytes as its capacity.
        unsafe impl IoBufMut for $buf {
            fn stable_mut_ptr(&mut self) -> *mut u8 {
                $address(self)
            }

            unsafe fn set_init(&mut self, count: usize) {
                if self.len() < count {
                    // SAFETY: the caller guarantees it.
                    unsafe { self.set_len(count) };
                }
            }
        }
    )*};
}

growing! {
    Vec<u8>, Vec::as_mut_ptr;
    BytesMut, address;
}

/// Returns the address, for all of the capacity. `as_mut_ptr` is the slice's method, whose pointer is
/// for the initialised bytes only.
fn address(buf: &mut BytesMut) -> *mut u8 {
    let len = buf.len();
    // SAFETY: no byte need be initialised.
    unsafe { buf.set_len(0) };
    let all = buf.spare_capacity_mut().as_mut_ptr().cast();
    // SAFETY: the bytes are those of before, and nothing has written to them.
    unsafe { buf.set_len(len) };
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(mut buf: impl IoBufMut + AsRef<[u8]>) -> Vec<u8> {
        let count = buf.bytes_total().min(3);
        // SAFETY: there is room for `count` bytes, and they are initialised afterwards.
        unsafe {
            buf.stable_mut_ptr().write_bytes(7, count);
            buf.set_init(count);
        }
        assert_eq!(buf.stable_ptr(), buf.as_ref().as_ptr());
        assert_eq!(buf.bytes_init(), buf.as_ref().len());
        buf.as_ref().to_vec()
    }

    #[test]
    fn a_buffer_is_as_long_as_what_was_read_at_least() {
        assert_eq!(fill(Vec::with_capacity(8)), [7; 3]);
        assert_eq!(fill(BytesMut::with_capacity(8)), [7; 3]);
        let begun = |len| {
            let mut buf = BytesMut::with_capacity(8);
            buf.resize(len, 1);
            buf
        };
        assert_eq!(fill(begun(2)), [7; 3]);
        assert_eq!(fill(begun(4)), [7, 7, 7, 1]);
        assert_eq!(fill(vec![1; 4]), [7, 7, 7, 1]);
        assert_eq!(fill(vec![1; 4].into_boxed_slice()), [7, 7, 7, 1]);
        assert_eq!(fill(Vec::new()), []);
    }

    #[test]
    fn what_is_read_only_is_as_long_as_it_is() {
        fn len(buf: impl IoBuf) -> (usize, usize) {
            (buf.bytes_init(), buf.bytes_total())
        }
        assert_eq!(len(Bytes::from_static(b"abc")), (3, 3));
        assert_eq!(len("abc"), (3, 3));
        assert_eq!(len(&b"abc"[..]), (3, 3));
        assert_eq!(len(String::from("abc")), (3, 3));
    }
}
