//! A fiber's name and the size of its stack.

use std::io;

/// The size of a stack in bytes, if the user has not chosen one.
pub const DEFAULT_STACK_SIZE: usize = 236 * 1024;
/// The size in bytes of the smallest stack.
pub const MIN_STACK_SIZE: usize = 16 * 1024;
/// The size in bytes of the largest stack.
pub const MAX_STACK_SIZE: usize = 1 << 30;
/// The size in bytes of the largest guard that can be chosen.
pub const MAX_GUARD_SIZE: usize = 1 << 20;

/// Starts a fiber that has a name or a stack of another size.
///
/// ```
/// use blitz_io::{fiber, runtime::Runtime};
///
/// let runtime = Runtime::new()?;
/// let _guard = runtime.enter();
/// let fiber = fiber::Builder::new()
///     .name("parser")
///     .stack_size(1024 * 1024)
///     .spawn(|| "parsed")?;
/// assert_eq!(runtime.block_on(fiber).unwrap(), "parsed");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct Builder {
    pub(crate) settings: Settings,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) name: Option<Box<str>>,
    pub(crate) stack_size: usize,
    pub(crate) guard_size: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: None,
            stack_size: DEFAULT_STACK_SIZE,
            guard_size: 0,
        }
    }
}

impl Builder {
    /// Creates a builder of fibers without a name, with stacks of [`DEFAULT_STACK_SIZE`].
    ///
    /// ```
    /// let builder = blitz_io::fiber::Builder::new();
    /// # drop(builder);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the fiber, for the message of a stack overflow and for `tracing`.
    ///
    /// ```
    /// let builder = blitz_io::fiber::Builder::new().name("parser");
    /// # drop(builder);
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = Some(name.into().into_boxed_str());
        self
    }

    /// Sets the size of the stack in bytes. The stack has at least that size.
    ///
    /// Memory is used only as far as the fiber has gone down its stack. Stacks are rounded up so
    /// that, with 20 KiB for a guard and for other purposes, their size is a power of two.
    ///
    /// ```
    /// let builder = blitz_io::fiber::Builder::new().stack_size(1024 * 1024);
    /// # drop(builder);
    /// ```
    pub fn stack_size(mut self, size: usize) -> Self {
        self.settings.stack_size = size;
        self
    }

    /// Sets the size of the guard below the stack in bytes. The guard has at least that size.
    ///
    /// A use of the guard ends the process. Rust's functions touch each page of their frames, so they
    /// cannot step over the guard of 16 or 64 KiB that every stack has. A function in another language
    /// can, with a large local array, unless it was compiled with `-fstack-clash-protection`; then it
    /// writes into the stack of another fiber. For fibers that call such functions use
    /// [`MAX_GUARD_SIZE`]. A guard takes addresses, and no memory. On Windows this has no effect, since all
    /// compilers there touch each page.
    ///
    /// ```
    /// use blitz_io::fiber::{Builder, MAX_GUARD_SIZE};
    ///
    /// let builder = Builder::new().guard_size(MAX_GUARD_SIZE);
    /// # drop(builder);
    /// ```
    pub fn guard_size(mut self, size: usize) -> Self {
        self.settings.guard_size = size;
        self
    }

    pub(crate) fn settings(self) -> io::Result<Settings> {
        let Settings {
            stack_size,
            guard_size,
            ..
        } = self.settings;
        let message = if !(MIN_STACK_SIZE..=MAX_STACK_SIZE).contains(&stack_size) {
            format!(
                "the stack size of a fiber must be between {MIN_STACK_SIZE} and {MAX_STACK_SIZE} bytes, and is {stack_size}"
            )
        } else if guard_size > MAX_GUARD_SIZE {
            format!(
                "the guard of a fiber's stack must have {MAX_GUARD_SIZE} bytes at most, and has {guard_size}"
            )
        } else {
            return Ok(self.settings);
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}
