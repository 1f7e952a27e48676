//! `ReadBuf`: memory that a read fills, and that may be partly uninitialised.
//!
//! The memory has three parts: the filled part, an initialised part behind it, and the
//! rest. `filled <= initialized <= buf.len()` always holds, and every byte before
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
    /// Creates a buffer of initialised memory.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        let memory = (&raw mut *buf) as *mut [MaybeUninit<u8>];
        ReadBuf {
            // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the memory is borrowed
            // for `'a`. Nothing here writes uninitialised bytes: a caller that gets the
            // memory as `MaybeUninit` (`inner_mut`, `unfilled_mut`) promises the same.
            buf: unsafe { &mut *memory },
            filled: 0,
            initialized,
        }
    }

    /// Creates a buffer of memory that may be uninitialised.
    ///
    /// [`assume_init`](ReadBuf::assume_init) marks parts of it as initialised.
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

    /// Returns the filled bytes.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: filled bytes are initialised.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// Returns the filled bytes mutably.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: filled bytes are initialised.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// Returns an empty buffer of the first `n` bytes of the unfilled part, or of the whole
    /// part if it is shorter.
    ///
    /// Bytes filled in that buffer do not count as filled in this one until
    /// [`assume_init`](ReadBuf::assume_init) and [`advance`](ReadBuf::advance) are called.
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let count = self.remaining().min(n);
        ReadBuf::uninit(&mut self.buf[self.filled..][..count])
    }

    /// Returns the initialised bytes: the filled ones, and those behind them that are
    /// initialised.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: every byte before `initialized` has been written.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// Returns the initialised bytes mutably.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: every byte before `initialized` has been written.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// Returns the whole memory.
    ///
    /// # Safety
    ///
    /// The caller must not de-initialise bytes that are initialised.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// Returns the unfilled part, whether it is initialised or not.
    ///
    /// # Safety
    ///
    /// The caller must not de-initialise bytes that are initialised.
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// Returns the unfilled part, initialised.
    ///
    /// Zeroes the uninitialised bytes, so a second call is cheap.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// Returns the first `n` bytes of the unfilled part, initialised.
    ///
    /// # Panics
    ///
    /// Panics if fewer than `n` bytes are unfilled.
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(self.remaining() >= n, "n overflows remaining");
        let end = self.filled + n;
        if self.initialized < end {
            self.buf[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: every byte before `end` is initialised now.
        unsafe { assume_init_mut(&mut self.buf[self.filled..end]) }
    }

    /// Returns the number of unfilled bytes.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Empties the buffer. Initialised bytes stay initialised.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Marks the next `n` bytes as filled.
    ///
    /// # Panics
    ///
    /// Panics if they are not initialised.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// Sets the number of filled bytes, from the start. The number may become smaller.
    ///
    /// # Panics
    ///
    /// Panics if they are not initialised.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "filled must not become larger than initialized"
        );
        self.filled = n;
    }

    /// Marks the next `n` unfilled bytes as initialised.
    ///
    /// # Safety
    ///
    /// There must be at least `n` unfilled bytes, and the first `n` of them must be
    /// initialised.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        debug_assert!(n <= self.remaining());
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Appends `buf`.
    ///
    /// # Panics
    ///
    /// Panics if there is not enough room for it.
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
        // SAFETY: `place` has `buf.len()` bytes, and as it is borrowed mutably, `buf` does
        // not overlap it.
        unsafe { place.copy_from_nonoverlapping(buf.as_ptr(), buf.len()) };
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

// SAFETY: `chunk_mut` is the unfilled part of memory that does not move, and `advance_mut`
// counts no more of it as filled than there is.
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
    // SAFETY: the layout is the same, and the caller guarantees that the bytes are
    // initialised.
    unsafe { &*bytes }
}

/// # Safety
///
/// Every byte must be initialised.
#[inline]
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let bytes = bytes as *mut [MaybeUninit<u8>] as *mut [u8];
    // SAFETY: the layout is the same, and the caller guarantees that the bytes are
    // initialised.
    unsafe { &mut *bytes }
}
