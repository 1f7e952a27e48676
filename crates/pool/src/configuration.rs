//! The deprecated old name of the builder.
#![allow(deprecated)]

use std::any::Any;
use std::error::Error;
use std::fmt;

use crate::{ThreadPool, ThreadPoolBuilder};

/// The old name of [`ThreadPoolBuilder`].
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

impl Configuration {
    /// The same as [`ThreadPoolBuilder::new`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The same as [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    ///
    /// As [`ThreadPoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    fn with(self, change: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Self {
        Self {
            builder: change(self.builder),
        }
    }

    /// The same as [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        self.with(|builder| builder.thread_name(closure))
    }

    /// The same as [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Self {
        self.with(|builder| builder.num_threads(num_threads))
    }

    /// The same as [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.with(|builder| builder.panic_handler(panic_handler))
    }

    /// The same as [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.with(|builder| builder.stack_size(stack_size))
    }

    /// The same as [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        self.with(ThreadPoolBuilder::breadth_first)
    }

    /// The same as [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, start_handler: H) -> Self {
        self.with(|builder| builder.start_handler(start_handler))
    }

    /// The same as [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, exit_handler: H) -> Self {
        self.with(|builder| builder.exit_handler(exit_handler))
    }
}

impl ThreadPool {
    /// Makes a pool.
    ///
    /// # Errors
    ///
    /// See [`ThreadPoolBuilder::build`].
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}

/// Makes the global pool.
///
/// # Errors
///
/// See [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.builder.build_global().map_err(Box::from)
}
