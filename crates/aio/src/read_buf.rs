//! `ReadBuf`: memory that a read fills, part of which need not be initialised.
//!
//! The memory has three parts: what has been filled, what is initialised behind it, and
//! the rest. `filled <= initialized <= buf.len()` holds always, and every byte before
//! `initialized` has been written.

use std::fmt;
use std::mem::MaybeUninit;

use bytes::BufMut;
use bytes::buf::UninitSlice;

/// A buffer that is filled step by step, and initialised only as far as needed.
///
/// ```
/// use blitz_io::io::ReadBuf;
///
/// let mut memory = [0; 8];
/// let mut buf = ReadBuf::new(&mut memory);
/// buf.put_slice(b"abc");
/// assert_eq!(buf.filled(), b"abc");
/// assert_eq!(buf.remaining(), 5);
/// ```
pub struct ReadBuf<'a> {
    buf: &'a mut [MaybeUninit<u8>],
    filled: usize,
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// Creates a buffer of memory that is initialised.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        let memory = (&raw mut *buf) as *mut [MaybeUninit<u8>];
        ReadBuf {
            // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the memory is borrowed
            // for `'a`. Nothing here writes uninitialised bytes: who gets the memory as
            // `MaybeUninit` (`inner_mut`, `unfilled_mut`) promises the same.
            buf: unsafe { &mut *memory },
            filled: 0,
            initialized,
        }
    }

    /// Creates a buffer of memory that need not be initialised.
    ///
    /// [`assume_init`](ReadBuf::assume_init) tells it about parts that are.
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf {
            buf,
            filled: 0,
            initialized: 0,
        }
    }

    /// Returns the size of the whole buffer, in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Returns the bytes that have been filled.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: what is filled is initialised.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// Returns the bytes that have been filled, to change them.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: what is filled is initialised.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// Returns an empty buffer of the first `n` bytes of the unfilled part, or of all of
    /// it if that is shorter.
    ///
    /// What is filled there does not count as filled here:
    /// [`assume_init`](ReadBuf::assume_init) and [`advance`](ReadBuf::advance) make it so.
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let count = self.remaining().min(n);
        ReadBuf::uninit(&mut self.buf[self.filled..][..count])
    }

    /// Returns the bytes that are initialised: the filled ones, and some behind them.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: so says the invariant.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// Returns the bytes that are initialised, to change them.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: so says the invariant.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// Returns the whole memory.
    ///
    /// # Safety
    ///
    /// The caller must not make bytes uninitialised that are initialised.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// Returns the part that has not been filled, whether it is initialised or not.
    ///
    /// # Safety
    ///
    /// The caller must not make bytes uninitialised that are initialised.
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// Returns the unfilled part, initialised.
    ///
    /// Bytes are set to zero that were not initialised yet, so the second call is cheap.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// Returns the first `n` bytes of the unfilled part, initialised.
    ///
    /// # Panics
    ///
    /// If fewer than `n` bytes are unfilled.
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(self.remaining() >= n, "n overflows remaining");
        let end = self.filled + n;
        if self.initialized < end {
            self.buf[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: everything before `end` is initialised now.
        unsafe { assume_init_mut(&mut self.buf[self.filled..end]) }
    }

    /// Returns how many bytes are unfilled.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Makes the buffer empty. What is initialised stays so.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Counts the next `n` bytes as filled.
    ///
    /// # Panics
    ///
    /// If they are not initialised.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// Sets how many bytes are filled, from the start. The number may become smaller.
    ///
    /// # Panics
    ///
    /// If they are not initialised.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "filled must not become larger than initialized"
        );
        self.filled = n;
    }

    /// Counts the next `n` unfilled bytes as initialised.
    ///
    /// # Safety
    ///
    /// They must be, and there must be as many.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        debug_assert!(n <= self.remaining());
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Appends `buf`.
    ///
    /// # Panics
    ///
    /// If there is not enough room for it.
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, buf: &[u8]) {
        assert!(
            self.remaining() >= buf.len(),
            "buf.len() must fit in remaining(); buf.len() = {}, remaining() = {}",
            buf.len(),
            self.remaining()
        );
        let end = self.filled + buf.len();
        let place = self.buf[self.filled..end].as_mut_ptr().cast::<u8>();
        // SAFETY: `place` has `buf.len()` bytes, and as it is borrowed mutably, `buf` is
        // no part of it.
        unsafe { place.copy_from_nonoverlapping(buf.as_ptr(), buf.len()) };
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

// SAFETY: `chunk_mut` is the unfilled part of memory that stays where it is, and
// `advance_mut` counts no more of it as filled than there is.
unsafe impl BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, count: usize) {
        // SAFETY: the caller has initialised `count` bytes.
        unsafe { self.assume_init(count) };
        self.advance(count);
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::uninit(&mut self.buf[self.filled..])
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// # Safety
///
/// Every byte must be initialised.
#[inline]
unsafe fn assume_init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    let bytes = bytes as *const [MaybeUninit<u8>] as *const [u8];
    // SAFETY: the layout is the same, and the caller says that the bytes are initialised.
    unsafe { &*bytes }
}

/// # Safety
///
/// Every byte must be initialised.
#[inline]
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let bytes = bytes as *mut [MaybeUninit<u8>] as *mut [u8];
    // SAFETY: the layout is the same, and the caller says that the bytes are initialised.
    unsafe { &mut *bytes }
}
