//! The elements of channels: bytes of a size that the program chooses when it makes a channel.
//!
//! Small elements are stored in the channel, in a type of the next larger size; so there is one
//! channel of Rust for each of a few sizes. Larger ones are in a box.

use std::mem::MaybeUninit;
use std::ptr;

/// The largest element, in bytes.
pub const BLITZ_ELEMENT_MAX: usize = 1 << 30;

/// A value of the caller's bytes.
pub(crate) trait Element: Clone + Send + Sync + 'static {
    /// Copies bytes of the caller.
    fn read(from: &[u8]) -> Self;
    /// Copies to the caller.
    fn write(&self, to: &mut [u8]);
}

/// An element of up to `N * 8` bytes.
#[derive(Clone, Copy)]
pub(crate) struct Inline<const N: usize>([MaybeUninit<u64>; N]);

impl<const N: usize> Element for Inline<N> {
    #[inline]
    fn read(from: &[u8]) -> Self {
        let mut value = [MaybeUninit::uninit(); N];
        // SAFETY: the size class of the channel has room for its element.
        unsafe { copy::<N>(from.as_ptr(), value.as_mut_ptr().cast(), from.len()) };
        Self(value)
    }

    #[inline]
    fn write(&self, to: &mut [u8]) {
        // SAFETY: all elements of a channel have one length, so these bytes have been written by
        // `read`.
        unsafe { copy::<N>(self.0.as_ptr().cast(), to.as_mut_ptr(), to.len()) };
    }
}

/// Copies `len` bytes of an element of the size class `N`. An element that fills its class is copied
/// without a call of `memcpy`.
///
/// # Safety
///
/// `len` bytes can be read and written, and are at most `N * 8`.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    debug_assert!(len <= N * 8);
    if len == N * 8 {
        // SAFETY: by this function's contract.
        unsafe { ptr::copy_nonoverlapping(from, to, N * 8) };
    } else {
        // SAFETY: by this function's contract.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
    }
}

/// A larger element.
#[derive(Clone)]
pub(crate) struct Boxed(Box<[u8]>);

impl Element for Boxed {
    fn read(from: &[u8]) -> Self {
        Self(from.into())
    }

    fn write(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0);
    }
}

/// Runs `$body` with `$type` as the type of the elements that have `$size` bytes.
macro_rules! with_element {
    ($size:expr, $type:ident => $body:expr) => {
        match $size {
            0..=8 => {
                type $type = $crate::element::Inline<1>;
                $body
            }
            9..=16 => {
                type $type = $crate::element::Inline<2>;
                $body
            }
            17..=32 => {
                type $type = $crate::element::Inline<4>;
                $body
            }
            33..=64 => {
                type $type = $crate::element::Inline<8>;
                $body
            }
            _ => {
                type $type = $crate::element::Boxed;
                $body
            }
        }
    };
}

pub(crate) use with_element;
