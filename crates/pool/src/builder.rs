//! How a pool is made: `ThreadPoolBuilder`, and the types that start its threads.

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use blitz_io_core::{OnDrop, debug_fields, fences, processors};
use blitz_io_observe as observe;

use crate::context::max_num_threads;
use crate::error::ThreadPoolBuildError;
use crate::pin::{self, Pin};
use crate::policy::Spin;
use crate::registry::{Handlers, Registry};
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
    settings: Settings,
    spawn_handler: S,
}

#[derive(Default)]
struct Settings {
    num_threads: usize,
    use_current_thread: bool,
    get_thread_name: Option<Box<ThreadName>>,
    stack_size: Option<usize>,
    pin: Pin,
    handlers: Handlers,
    /// The pool is the global one, which no one ends.
    is_global: bool,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            spawn_handler: DefaultSpawn,
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
    /// Starts the threads of the global pool.
    pub(crate) fn start_global(mut self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        self.settings.is_global = true;
        self.start()
    }

    /// Starts the pool's threads.
    pub(crate) fn start(mut self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let mut settings = self.settings;
        let threads = settings.threads().min(max_num_threads());
        if settings.use_current_thread && Worker::is_current() {
            return Err(ThreadPoolBuildError::current_thread_already_in_pool());
        }
        let cores = settings.pin.cores().map_err(ThreadPoolBuildError::io)?;
        // Makes the cached queries of the system now. Later, each thread may be bound to one
        // processor. And with many threads, preparing the fences takes the system milliseconds.
        let _ = processors();
        fences::light();
        let handlers = std::mem::take(&mut settings.handlers);
        let registry = Arc::new(Registry::new(threads, handlers));
        // Ends the threads that were started if not all could be.
        let on_failure = OnDrop(|| registry.release());
        for index in 0..threads {
            let thread = settings.thread(&registry, index, &cores);
            if index == 0 && settings.use_current_thread {
                Worker::adopt_current_thread(registry.clone());
            } else {
                self.spawn_handler
                    .spawn(thread)
                    .map_err(ThreadPoolBuildError::io)?;
            }
        }
        std::mem::forget(on_failure);
        Ok(registry)
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
            settings: self.settings,
        }
    }

    /// Sets the names of the threads, by their index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.settings.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets how many threads the pool has. 0, the default, means the number in the
    /// environment variable `RAYON_NUM_THREADS`, or else the number of processors. A larger number than
    /// [`max_num_threads`](crate::max_num_threads) is that one, as with rayon.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.settings.num_threads = num_threads;
        self
    }

    /// Makes the current thread worker 0. It runs jobs only while it waits in the pool or
    /// yields to it, and stays a worker for the rest of its life.
    pub fn use_current_thread(mut self) -> Self {
        self.settings.use_current_thread = true;
        self
    }

    /// Sets the handler that gets the panics of detached jobs. Without a handler, such a
    /// panic aborts the process, and so does a panic in the handler.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.settings.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// Sets the size of the threads' stacks, in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.settings.stack_size = Some(stack_size);
        self
    }

    /// Runs a worker's own jobs first in, first out.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.settings.handlers.breadth_first = true;
        self
    }

    /// Sets a function that each thread calls, with its index, before it runs anything.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Sets a function that each thread calls, with its index, when it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.exit = Some(Box::new(exit_handler));
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
        self.settings.handlers.spin = spin;
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
        self.settings.pin = pin;
        self
    }
}

impl Settings {
    fn threads(&self) -> usize {
        match self.num_threads {
            0 => from_environment("RAYON_NUM_THREADS")
                .or_else(|| from_environment("RAYON_RS_NUM_CPUS"))
                .filter(|&threads| threads > 0)
                .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
            threads => threads,
        }
    }

    fn thread(
        &mut self,
        registry: &Arc<Registry>,
        index: usize,
        cores: &[pin::Core],
    ) -> ThreadBuilder {
        ThreadBuilder {
            name: self.get_thread_name.as_mut().map(|name| name(index)),
            stack_size: self.stack_size,
            registry: registry.clone(),
            index,
            core: (!cores.is_empty()).then(|| cores[index % cores.len()]),
            is_global: self.is_global,
        }
    }
}

/// Returns a number from the environment. A value that is not a number counts as not set.
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
        let closure = |is_set: bool| is_set.then_some(Closure);
        let Settings { handlers, .. } = &self.settings;
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.settings.num_threads)
            .field("use_current_thread", &self.settings.use_current_thread)
            .field(
                "get_thread_name",
                &closure(self.settings.get_thread_name.is_some()),
            )
            .field("panic_handler", &closure(handlers.panic.is_some()))
            .field("stack_size", &self.settings.stack_size)
            .field("start_handler", &closure(handlers.start.is_some()))
            .field("exit_handler", &closure(handlers.exit.is_some()))
            .field("breadth_first", &handlers.breadth_first)
            .field("spin", &handlers.spin)
            .field("pin", &self.settings.pin)
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
    is_global: bool,
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
    if thread.is_global {
        observe::serves_process();
    }
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

debug_fields! {
    impl ThreadBuilder, |this| {
        pool: this.registry.id(),
        index: this.index,
        name: this.name,
        stack_size: this.stack_size,
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
        // In a simulation it stays idle.
        observe::decisions::with_system(|| thread.std_builder().spawn(|| thread.run()))?;
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
