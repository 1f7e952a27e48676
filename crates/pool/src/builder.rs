//! How a pool is made: `ThreadPoolBuilder`, and the types that start its threads.

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use blitz_io_core::{fences, processors};

use crate::context::max_num_threads;
use crate::error::ThreadPoolBuildError;
use crate::pin::{self, Pin};
use crate::policy::Spin;
use crate::registry::{Handlers, PanicHandler, Registry, ThreadHandler};
use crate::worker::Worker;

type ThreadName = dyn FnMut(usize) -> String;

/// Builds a pool: its number of threads, their names and stacks, and its handlers.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let pool = pool::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("worker-{index}"))
///     .build()?;
/// let name = pool.install(|| std::thread::current().name().unwrap().to_owned());
/// assert!(name.starts_with("worker-"));
/// # Ok::<(), pool::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    panic_handler: Option<Box<PanicHandler>>,
    get_thread_name: Option<Box<ThreadName>>,
    stack_size: Option<usize>,
    start_handler: Option<Box<ThreadHandler>>,
    exit_handler: Option<Box<ThreadHandler>>,
    spawn_handler: S,
    breadth_first: bool,
    spin: Spin,
    pin: Pin,
    cores: Vec<pin::Core>,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            use_current_thread: false,
            panic_handler: None,
            get_thread_name: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
            breadth_first: false,
            spin: Spin::Adaptive,
            pin: Pin::None,
            cores: Vec::new(),
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with the default settings: one thread for each processor that this
    /// process may use.
    pub fn new() -> Self {
        Self::default()
    }
}

#[allow(private_bounds, reason = "sealed: only the two kinds of this file")]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts the pool's threads.
    pub(crate) fn start(mut self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let threads = self.threads().min(max_num_threads());
        if self.use_current_thread && Worker::is_current() {
            return Err(ThreadPoolBuildError::current_thread_already_in_pool());
        }
        self.cores = self.pin.cores().map_err(ThreadPoolBuildError::io)?;
        // Makes the cached queries of the system now. Later, each thread may be bound to one
        // processor. And with many threads, preparing the fences takes the system milliseconds.
        let _ = processors();
        fences::light();
        let registry = Arc::new(Registry::new(threads, self.take_handlers()));
        let mut on_failure = EndOnFailure(Some(&registry));
        for index in 0..threads {
            let thread = self.thread(&registry, index);
            if index == 0 && self.use_current_thread {
                Worker::adopt_current_thread(registry.clone());
            } else {
                self.spawn_handler
                    .spawn(thread)
                    .map_err(ThreadPoolBuildError::io)?;
            }
        }
        on_failure.0 = None;
        drop(on_failure);
        Ok(registry)
    }
}

/// Ends the threads that were started if not all of a pool's threads could be.
struct EndOnFailure<'a>(Option<&'a Registry>);

impl Drop for EndOnFailure<'_> {
    fn drop(&mut self) {
        if let Some(registry) = self.0 {
            registry.release();
        }
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Calls `spawn` for each thread instead of starting it. `spawn` must call
    /// [`ThreadBuilder::run`] in a new thread.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            spawn_handler: CustomSpawn(spawn),
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            panic_handler: self.panic_handler,
            get_thread_name: self.get_thread_name,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
            spin: self.spin,
            pin: self.pin,
            cores: self.cores,
        }
    }

    /// Sets the names of the threads, by their index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets how many threads the pool has. 0, the default, means the number in the
    /// environment variable `RAYON_NUM_THREADS`, or else the number of processors.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the current thread worker 0. It runs jobs only while it waits in the pool or
    /// yields to it, and stays a worker for the rest of its life.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets the handler that gets the panics of detached jobs. Without a handler, such a
    /// panic aborts the process, and so does a panic in the handler.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets the size of the threads' stacks, in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Runs a worker's own jobs first in, first out.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets a function that each thread calls, with its index, before it runs anything.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets a function that each thread calls, with its index, when it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }

    /// Sets whether workers spin before they sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// let frugal = pool::ThreadPoolBuilder::new().spin(pool::Spin::Never).build().unwrap();
    /// assert_eq!(frugal.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn spin(mut self, spin: Spin) -> Self {
        self.spin = spin;
        self
    }

    /// Binds each thread that the pool starts to a core. If the current thread
    /// [is used](Self::use_current_thread), it is not bound, and neither are threads that
    /// it starts later.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// let error = pool::ThreadPoolBuilder::new().pin(pool::Pin::List(vec![99_999])).build();
    /// assert!(error.unwrap_err().to_string().contains("99999"));
    /// ```
    pub fn pin(mut self, pin: Pin) -> Self {
        self.pin = pin;
        self
    }

    fn threads(&self) -> usize {
        match self.num_threads {
            0 => from_environment("RAYON_NUM_THREADS")
                .or_else(|| from_environment("RAYON_RS_NUM_CPUS"))
                .filter(|&threads| threads > 0)
                .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
            threads => threads,
        }
    }

    fn take_handlers(&mut self) -> Handlers {
        Handlers {
            panic: self.panic_handler.take(),
            start: self.start_handler.take(),
            exit: self.exit_handler.take(),
            breadth_first: self.breadth_first,
            spin: self.spin,
        }
    }

    fn thread(&mut self, registry: &Arc<Registry>, index: usize) -> ThreadBuilder {
        ThreadBuilder {
            name: self.get_thread_name.as_mut().map(|name| name(index)),
            stack_size: self.stack_size,
            registry: registry.clone(),
            index,
            core: (!self.cores.is_empty()).then(|| self.cores[index % self.cores.len()]),
        }
    }
}

/// A number from the environment. A value that is not a number counts as not set.
fn from_environment(variable: &str) -> Option<usize> {
    env::var(variable).ok()?.parse().ok()
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Closure;
        impl fmt::Debug for Closure {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("<closure>")
            }
        }
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field(
                "get_thread_name",
                &self.get_thread_name.as_ref().map(|_| Closure),
            )
            .field(
                "panic_handler",
                &self.panic_handler.as_ref().map(|_| Closure),
            )
            .field("stack_size", &self.stack_size)
            .field(
                "start_handler",
                &self.start_handler.as_ref().map(|_| Closure),
            )
            .field("exit_handler", &self.exit_handler.as_ref().map(|_| Closure))
            .field("breadth_first", &self.breadth_first)
            .field("spin", &self.spin)
            .field("pin", &self.pin)
            .finish()
    }
}

/// A thread of a pool that has not started yet.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    registry: Arc<Registry>,
    index: usize,
    core: Option<pin::Core>,
}

impl ThreadBuilder {
    /// Returns the index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the name that the thread should have.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the size that the thread's stack should have, in bytes.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the thread's work in the calling thread, and returns when the pool has ended.
    pub fn run(self) {
        if let Some(core) = self.core {
            pin::pin_current_thread(core);
        }
        main_loop(self);
    }

    pub(crate) fn std_builder(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

/// Runs one of a pool's threads from its start to its end.
fn main_loop(thread: ThreadBuilder) {
    let index = thread.index;
    let registry = thread.registry;
    let worker = Worker::enter(registry.clone(), index);
    registry.workers[index].started.open();
    if let Some(handler) = &registry.handlers.start {
        registry.catch_unwind(|| handler(index));
    }
    worker.run_until_end();
    if let Some(handler) = &registry.handlers.exit {
        registry.catch_unwind(|| handler(index));
    }
    drop(worker);
    registry.workers[index].stopped.open();
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// A way to start a pool's threads.
pub(crate) trait ThreadSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.std_builder().spawn(|| thread.run())?;
        Ok(())
    }
}

/// Starts threads with a closure.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
