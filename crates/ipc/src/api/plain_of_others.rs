//! Plain data according to other crates.
//!
//! The values are wrapped, because a trait cannot be implemented for all types of two
//! foreign traits.

use crate::api::plain::PlainData;

/// A value that is plain data according to [`bytemuck::Pod`].
///
/// ```
/// use std::num::Wrapping;
/// use blitz_io::ipc::{Pod, Route};
///
/// # if blitz_io::ipc::is_supported() {
/// let route = Route::builder().anonymous()?;
/// let (mut sender, mut receiver) = (route.sender()?, route.receiver()?);
/// sender.send_value(&Pod(Wrapping(7_u32)))?;
/// assert_eq!(receiver.recv_value::<Pod<Wrapping<u32>>>()?.0, Wrapping(7));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "bytemuck")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[repr(transparent)]
pub struct Pod<T>(pub T);

// SAFETY: `Pod` promises the same as `PlainData`: no padding, no pointers, and every
// pattern of bytes is a value. The wrapper is transparent.
#[cfg(feature = "bytemuck")]
unsafe impl<T: bytemuck::Pod + Send> PlainData for Pod<T> {}

/// A value that is plain data according to zerocopy's traits.
///
/// ```
/// use blitz_io::ipc::{Route, Zerocopy};
/// use zerocopy::byteorder::big_endian::U32;
///
/// # if blitz_io::ipc::is_supported() {
/// let route = Route::builder().anonymous()?;
/// let (mut sender, mut receiver) = (route.sender()?, route.receiver()?);
/// sender.send_value(&Zerocopy(U32::new(7)))?;
/// assert_eq!(receiver.recv_value::<Zerocopy<U32>>()?.0.get(), 7);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "zerocopy")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[repr(transparent)]
pub struct Zerocopy<T>(pub T);

// SAFETY: `IntoBytes` promises that there is no padding, and `FromBytes` that every pattern
// of bytes is a value, which rules out references. `Immutable` rules out cells. The wrapper
// is transparent.
#[cfg(feature = "zerocopy")]
unsafe impl<T> PlainData for Zerocopy<T> where
    T: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + Copy + Send + 'static
{
}
