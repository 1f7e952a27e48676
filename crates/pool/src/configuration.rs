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
    /// Does what [`ThreadPoolBuilder::new`] does.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does what [`ThreadPoolBuilder::build`] does.
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

    /// Does what [`ThreadPoolBuilder::thread_name`] does.
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        self.with(|builder| builder.thread_name(closure))
    }

    /// Does what [`ThreadPoolBuilder::num_threads`] does.
    pub fn num_threads(self, num_threads: usize) -> Self {
        self.with(|builder| builder.num_threads(num_threads))
    }

    /// Does what [`ThreadPoolBuilder::panic_handler`] does.
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.with(|builder| builder.panic_handler(panic_handler))
    }

    /// Does what [`ThreadPoolBuilder::stack_size`] does.
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.with(|builder| builder.stack_size(stack_size))
    }

    /// Does what [`ThreadPoolBuilder::breadth_first`] does.
    pub fn breadth_first(self) -> Self {
        self.with(ThreadPoolBuilder::breadth_first)
    }

    /// Does what [`ThreadPoolBuilder::start_handler`] does.
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, start_handler: H) -> Self {
        self.with(|builder| builder.start_handler(start_handler))
    }

    /// Does what [`ThreadPoolBuilder::exit_handler`] does.
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
