//! How a pool is made: `ThreadPoolBuilder`, and what starts its threads.

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use crate::error::ThreadPoolBuildError;
use crate::idle::Spin;
use crate::pin::{self, Pin};
use crate::registry::{self, Registry};
use crate::thread_pool::ThreadPool;

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type ThreadHandler = dyn Fn(usize) + Send + Sync;
type ThreadName = dyn FnMut(usize) -> String;

/// What a pool keeps of its builder.
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<PanicHandler>>,
    pub(crate) start: Option<Box<ThreadHandler>>,
    pub(crate) exit: Option<Box<ThreadHandler>>,
    pub(crate) breadth_first: bool,
    pub(crate) spin: Spin,
}

/// Makes a pool: how many threads, their names and stacks, and who is told of what.
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
    /// A builder with the defaults: a thread for each processor that this process may use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool whose threads `wrapper` runs, for as long as `with_pool` runs; the
    /// threads may borrow, and have ended when this returns.
    ///
    /// `wrapper` is to call [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// As [`build`](ThreadPoolBuilder::build).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    thread
                        .std_builder()
                        .spawn_scoped(scope, move || wrapper(thread))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

#[allow(private_bounds, reason = "sealed: only the two kinds of this file")]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes the pool.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started, those that were end again; if the current thread is to
    /// be used and is a worker already; if [`pin`](Self::pin) names a core that this process
    /// may not use.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        ThreadPool::build(self)
    }

    /// Makes the global pool, which all use who are in no other. Returns when its threads
    /// run.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), and if there is a global pool already: the first use of
    /// one makes it.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        registry::init_global(self)?.wait_until_started();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Calls `spawn` for each thread instead of starting it; `spawn` is to call
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

    /// Names the threads, by their index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets how many threads the pool has. With 0, the default, it is the number in the
    /// environment variable `RAYON_NUM_THREADS`, or else that of the processors.
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

    /// Gets the panics of detached jobs. Without a handler, such a panic aborts the process,
    /// and so does a panic in the handler.
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

    /// Is called in each thread, with its index, before it runs anything.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Is called in each thread, with its index, when it ends.
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

    /// Binds each thread to a core.
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

    pub(crate) fn uses_current_thread(&self) -> bool {
        self.use_current_thread
    }

    pub(crate) fn threads(&self) -> usize {
        match self.num_threads {
            0 => from_environment("RAYON_NUM_THREADS")
                .or_else(|| from_environment("RAYON_RS_NUM_CPUS"))
                .filter(|&threads| threads > 0)
                .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
            threads => threads,
        }
    }

    pub(crate) fn take_handlers(&mut self) -> Handlers {
        Handlers {
            panic: self.panic_handler.take(),
            start: self.start_handler.take(),
            exit: self.exit_handler.take(),
            breadth_first: self.breadth_first,
            spin: self.spin,
        }
    }

    /// Finds out which cores the threads are to be bound to.
    pub(crate) fn resolve_pinning(&mut self) -> Result<(), ThreadPoolBuildError> {
        self.cores = self.pin.cores().map_err(ThreadPoolBuildError::io)?;
        Ok(())
    }

    pub(crate) fn thread(&mut self, registry: &Arc<Registry>, index: usize) -> ThreadBuilder {
        ThreadBuilder {
            name: self.get_thread_name.as_mut().map(|name| name(index)),
            stack_size: self.stack_size,
            registry: registry.clone(),
            index,
            core: (!self.cores.is_empty()).then(|| self.cores[index % self.cores.len()]),
        }
    }
}

#[allow(private_bounds, reason = "sealed: only the two kinds of this file")]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    pub(crate) fn spawn_thread(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        self.spawn_handler.spawn(thread)
    }
}

/// A number from the environment. What is no number counts as not set.
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

/// A thread of a pool that has not begun yet.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    registry: Arc<Registry>,
    index: usize,
    core: Option<pin::Core>,
}

impl ThreadBuilder {
    /// The index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that it should have.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size that its stack should have, in bytes.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Is the thread: returns when the pool has ended.
    pub fn run(self) {
        if let Some(core) = self.core {
            pin::pin_current_thread(core);
        }
        registry::main_loop(self);
    }

    fn std_builder(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    pub(crate) fn into_registry(self) -> Arc<Registry> {
        self.registry
    }
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

/// What starts a pool's threads.
pub(crate) trait ThreadSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads as the standard library does.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.std_builder().spawn(|| thread.run())?;
        Ok(())
    }
}

/// Leaves it to a closure to start threads.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
