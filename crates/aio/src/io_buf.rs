//! Buffers that are given away for the time of an operation.

use std::io;

use bytes::{Bytes, BytesMut};

/// What an operation ends with that was given a buffer: its result, and the buffer.
pub type BufResult<T, B> = (io::Result<T>, B);

/// A buffer that can be given away to be written from: an operation of the kernel owns it
/// until it has ended, and gives it back.
///
/// The name and the methods are those of tokio-uring.
///
/// # Safety
///
/// The first [`bytes_init`](Self::bytes_init) bytes at [`stable_ptr`](Self::stable_ptr) are
/// initialised, and stay where they are when the buffer is moved.
pub unsafe trait IoBuf: Send + Unpin + 'static {
    /// Returns where the bytes are.
    fn stable_ptr(&self) -> *const u8;

    /// Returns how many bytes are initialised.
    fn bytes_init(&self) -> usize;

    /// Returns how many bytes there is room for.
    fn bytes_total(&self) -> usize;
}

/// A buffer that can be given away to be read into.
///
/// # Safety
///
/// The [`bytes_total`](IoBuf::bytes_total) bytes at [`stable_mut_ptr`](Self::stable_mut_ptr),
/// the same place as `stable_ptr`, may be written, and stay where they are when the buffer is
/// moved.
pub unsafe trait IoBufMut: IoBuf {
    /// Returns where the bytes are.
    fn stable_mut_ptr(&mut self) -> *mut u8;

    /// Says that at least the first `count` bytes are initialised.
    ///
    /// # Safety
    ///
    /// They are.
    unsafe fn set_init(&mut self, count: usize);
}

/// Buffers that are read only, by what they dereference to.
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

/// Buffers that grow.
macro_rules! growing {
    ($($buf:ty),*) => {$(
        // SAFETY: the bytes are on the heap, and as many are initialised as it is long.
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
                self.as_mut_ptr()
            }

            unsafe fn set_init(&mut self, count: usize) {
                if self.len() < count {
                    // SAFETY: by the contract.
                    unsafe { self.set_len(count) };
                }
            }
        }
    )*};
}

growing!(Vec<u8>, BytesMut);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn fill(mut buf: impl IoBufMut + AsRef<[u8]>) -> Vec<u8> {
        let count = buf.bytes_total().min(3);
        // SAFETY: there is room for so many, and then they are initialised.
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
