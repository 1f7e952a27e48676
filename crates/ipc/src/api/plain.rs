use std::mem;
use std::time::{Duration, Instant};

use crate::api::error::{RecvError, SendError};
use crate::api::fingerprint::Fingerprint;
use crate::kernel::wait::Wait;
use crate::{Message, Receiver, Sender};

/// A type whose values are plain bytes, and whose every pattern of bytes is a value.
///
/// Integers, floats and arrays of them are plain data. For structs, derive it (with the
/// feature `derive`, which `macros` of `blitz-io` switches on), or implement it by
/// [`plain_data!`](crate::plain_data), which needs no procedural macro. Both check the
/// struct.
///
/// # Safety
///
/// The type has no padding, no pointers or other values that mean something in one process
/// only, and no invalid values (as `bool`, `char` and enums have).
pub unsafe trait PlainData: Copy + Send + 'static {
    /// The fingerprint of the type: of its name, and of the names and types of its fields. The
    /// derive macro and [`plain_data!`](crate::plain_data) set it. By default it is unknown.
    ///
    /// If sender and receiver know the fingerprints of their types, and these differ, the receiver
    /// gets [`RecvError::WrongType`].
    const FINGERPRINT: Fingerprint = Fingerprint::UNKNOWN;
}

macro_rules! plain {
    ($($type:ty)*) => {
        $(
            // SAFETY: bytes, each pattern of which is a value.
            unsafe impl PlainData for $type {
                const FINGERPRINT: Fingerprint = Fingerprint::of_primitive(stringify!($type));
            }
        )*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

// SAFETY: the elements follow one another without padding.
unsafe impl<T: PlainData, const N: usize> PlainData for [T; N] {
    const FINGERPRINT: Fingerprint = Fingerprint::of_array(T::FINGERPRINT, N);
}

/// Declares structures that are [`PlainData`], as its derive macro does, without a
/// procedural macro.
///
/// They get `#[repr(C)]`, `Clone` and `Copy`. It does not compile if a field is not
/// [`PlainData`], or if there is padding between the fields or after them. To avoid
/// padding, put the larger fields first, and fill the rest with a field of bytes.
///
/// ```
/// use blitz_io::ipc::{Route, plain_data};
///
/// plain_data! {
///     /// What was paid for how much.
///     #[derive(Debug, PartialEq)]
///     pub struct Trade {
///         pub price: f64,
///         pub volume: u32,
///         pub market: [u8; 4],
///     }
/// }
///
/// # if blitz_io::ipc::is_supported() {
/// # let name = &format!("trades-doc-{}", std::process::id());
/// # let _ = r#"
/// let name = "trades";
/// # "#;
/// let (mut sender, mut receiver) = (Route::sender(name)?, Route::receiver(name)?);
/// let trade = Trade { price: 12.5, volume: 100, market: *b"XETR" };
/// sender.send_value(&trade)?;
/// assert_eq!(receiver.recv_value::<Trade>()?, trade);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail
/// blitz_io::ipc::plain_data! {
///     struct Padded { small: u8, large: u64 }
/// }
/// ```
///
/// ```compile_fail
/// blitz_io::ipc::plain_data! {
///     struct Pointing { text: &'static str }
/// }
/// ```
#[macro_export]
macro_rules! plain_data {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$of_field:meta])* $of:vis $field:ident: $type:ty),* $(,)?
        }
    )*) => {
        $(
            $(#[$attribute])*
            #[derive(Clone, Copy)]
            #[repr(C)]
            $visibility struct $name {
                $($(#[$of_field])* $of $field: $type,)*
            }

            const _: () = {
                const fn is_plain<T: $crate::PlainData>() {}
                $(is_plain::<$type>();)*
                let fields = 0 $(+ ::core::mem::size_of::<$type>())*;
                assert!(
                    fields == ::core::mem::size_of::<$name>(),
                    "there is padding between the fields or after them",
                );
            };

            // SAFETY: the constant above does not compile unless every field is plain data
            // and there is no padding.
            unsafe impl $crate::PlainData for $name {
                const FINGERPRINT: $crate::Fingerprint = $crate::Fingerprint::of_struct(
                    ::core::stringify!($name),
                    &[$((
                        ::core::stringify!($field),
                        <$type as $crate::PlainData>::FINGERPRINT,
                    ),)*],
                );
            }
        )*
    };
}

impl Sender {
    /// Sends a copy of `value`, as [`send`](Self::send) does with bytes.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    #[inline]
    #[track_caller]
    pub fn send_value<T: PlainData>(&mut self, value: &T) -> Result<(), SendError> {
        self.ring
            .send(bytes_of(value), T::FINGERPRINT, Wait::Forever)
    }

    /// Sends a copy of `value` if there is room, as [`try_send`](Self::try_send) does with
    /// bytes.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send).
    #[inline]
    pub fn try_send_value<T: PlainData>(&mut self, value: &T) -> Result<(), SendError> {
        self.ring.send(bytes_of(value), T::FINGERPRINT, Wait::No)
    }

    /// Sends as [`send_value`](Self::send_value) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`send_timeout`](Self::send_timeout).
    #[track_caller]
    pub fn send_value_timeout<T: PlainData>(
        &mut self,
        value: &T,
        timeout: Duration,
    ) -> Result<(), SendError> {
        let wait = Wait::after(timeout);
        self.ring.send(bytes_of(value), T::FINGERPRINT, wait)
    }

    /// Sends as [`send_value`](Self::send_value) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`send_timeout`](Self::send_timeout).
    #[doc(alias = "send_value_until")]
    #[track_caller]
    pub fn send_value_deadline<T: PlainData>(
        &mut self,
        value: &T,
        deadline: Instant,
    ) -> Result<(), SendError> {
        let wait = Wait::Until(deadline);
        self.ring.send(bytes_of(value), T::FINGERPRINT, wait)
    }

    /// Sends as [`send_value`](Self::send_value) does, without blocking the runtime of
    /// blitz-io: see `send_async`.
    ///
    /// # Errors
    ///
    /// As `send_async`.
    ///
    /// # Panics
    ///
    /// Panics as `send_async` does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has sent nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn send_value_async<T: PlainData>(
        &mut self,
        value: &T,
    ) -> impl Future<Output = Result<(), SendError>> {
        self.send_async_as(bytes_of(value), T::FINGERPRINT)
    }
}

impl Receiver {
    /// Receives the next message as a value, blocking until there is one.
    ///
    /// # Errors
    ///
    /// [`RecvError::WrongLength`] if the message is longer or shorter than a `T`, and
    /// [`RecvError::WrongType`] if it was sent as a value of another type; the message is then
    /// lost. Otherwise as [`recv`](Self::recv).
    #[inline]
    #[track_caller]
    pub fn recv_value<T: PlainData>(&mut self) -> Result<T, RecvError> {
        self.recv()?.value()
    }

    /// Receives the next message as a value if there is one.
    ///
    /// # Errors
    ///
    /// As [`recv_value`](Self::recv_value) and [`try_recv`](Self::try_recv).
    #[inline]
    pub fn try_recv_value<T: PlainData>(&mut self) -> Result<T, RecvError> {
        self.try_recv()?.value()
    }

    /// Receives as [`recv_value`](Self::recv_value) does, but waits no longer than
    /// `timeout`.
    ///
    /// # Errors
    ///
    /// As [`recv_value`](Self::recv_value) and [`recv_timeout`](Self::recv_timeout).
    #[track_caller]
    pub fn recv_value_timeout<T: PlainData>(&mut self, timeout: Duration) -> Result<T, RecvError> {
        self.recv_timeout(timeout)?.value()
    }

    /// Receives as [`recv_value`](Self::recv_value) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`recv_value`](Self::recv_value) and [`recv_deadline`](Self::recv_deadline).
    #[doc(alias = "recv_value_until")]
    #[track_caller]
    pub fn recv_value_deadline<T: PlainData>(&mut self, deadline: Instant) -> Result<T, RecvError> {
        self.recv_deadline(deadline)?.value()
    }

    /// Receives as [`recv_value`](Self::recv_value) does, without blocking the runtime of
    /// blitz-io: see `recv_async`.
    ///
    /// # Errors
    ///
    /// As [`recv_value`](Self::recv_value) and `recv_async`.
    ///
    /// # Panics
    ///
    /// Panics as `recv_async` does.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has received nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn recv_value_async<T: PlainData>(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        let received = self.recv_async();
        async move { received.await?.value() }
    }
}

impl Message<'_> {
    /// Returns a copy of the message as a value.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::Route;
    /// # let name = &format!("ticks-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "ticks";
    /// # "#;
    /// let (mut sender, mut receiver) = (Route::sender(name)?, Route::receiver(name)?);
    /// sender.send_value(&42_u64)?;
    /// assert_eq!(receiver.recv()?.value::<u64>()?, 42);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecvError::WrongLength`] if the message is longer or shorter than a `T`, and
    /// [`RecvError::WrongType`] if it was sent as a value of another type. A message that was not
    /// sent as a value (by [`Sender::send`], or from C) is taken for every type of its length.
    #[inline]
    pub fn value<T: PlainData>(&self) -> Result<T, RecvError> {
        let value = value_of(self)?;
        if !T::FINGERPRINT.matches(self.fingerprint()) {
            return Err(wrong_type::<T>());
        }
        Ok(value)
    }
}

#[cold]
fn wrong_type<T>() -> RecvError {
    RecvError::WrongType {
        expected: std::any::type_name::<T>(),
    }
}

fn bytes_of<T: PlainData>(value: &T) -> &[u8] {
    // SAFETY: plain data has no padding, so all its bytes are initialised. They are
    // borrowed with `value`.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), mem::size_of::<T>()) }
}

fn value_of<T: PlainData>(message: &[u8]) -> Result<T, RecvError> {
    if message.len() != mem::size_of::<T>() {
        return Err(RecvError::WrongLength {
            len: message.len(),
            expected: mem::size_of::<T>(),
        });
    }
    // SAFETY: as many bytes as a `T` has, each pattern of which is a value; an unaligned
    // read needs no alignment.
    Ok(unsafe { message.as_ptr().cast::<T>().read_unaligned() })
}
