//! Runtimes: worker threads that run fibers, and watch descriptors and timers.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

use blitz_io::runtime::{Builder, Handle, Runtime};
use blitz_io::thread::Mutex;
use blitz_io_core::PerProcess;

use crate::args::{arg, check, put, text};
use crate::error::{
    BLITZ_EBUSY, BLITZ_EINVAL, BLITZ_ETIMEDOUT, Outcome, entry, entry_or, in_process, invalid,
    of_io, record,
};
use crate::fiber::{self, Group};
use crate::fork::{Process, has_lost_runtime};
use crate::handle::{handle, take};
use crate::settings::{read_if_given, settings};
use crate::time::BLITZ_NEVER;
use crate::wait::{self, Limit, is_fiber};

/// The most worker threads of a runtime.
pub const BLITZ_WORKERS_MAX: usize = 1024;

/// A runtime. Any thread or fiber may use it, several at once.
pub struct blitz_runtime {
    shared: Arc<Shared>,
}

/// A runtime, and the fibers that it runs.
pub(crate) struct Shared {
    /// `None` after the shutdown.
    runtime: Mutex<Option<Runtime>>,
    group: Arc<Group>,
}

impl Shared {
    fn new(runtime: Runtime) -> Self {
        let group = Group::new(runtime.handle().clone());
        Self {
            runtime: Mutex::new(Some(runtime)),
            group,
        }
    }

    /// Cancels the fibers, lets no more begin, and returns once all have ended.
    fn end_fibers(&self, limit: Limit) -> Outcome {
        self.group.close();
        wait::on(self.group.ended(), limit)
    }
}

/// Settings of a runtime. Initialise them with `BLITZ_RUNTIME_SETTINGS_INIT`, or with zeros and `size`,
/// and change the fields that need another value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_runtime_settings {
    /// The size of this structure, `sizeof(blitz_runtime_settings)`.
    pub size: usize,
    /// The number of worker threads, up to `BLITZ_WORKERS_MAX`. 0: one for each processor.
    pub workers: usize,
    /// The most threads for blocking functions. 0: 512.
    pub blocking_threads: usize,
    /// The name of the threads, in UTF-8. NULL: a name of the library. It is copied.
    pub thread_name: *const c_char,
    /// Must be 0.
    pub reserved: [u64; 4],
}

settings!(blitz_runtime_settings);

/// Starts a runtime. `settings` may be NULL.
///
/// The caller ends it with `blitz_runtime_free`. Returns `BLITZ_OK`; `BLITZ_EINVAL` if `runtime`
/// is NULL or a setting is out of range; or an error of the system if it does not give threads or
/// descriptors. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_runtime_new(
    settings: *const blitz_runtime_settings,
    runtime: *mut *mut blitz_runtime,
) -> c_int {
    entry(|| {
        check(runtime)?;
        let mut builder = Builder::new_multi_thread();
        builder.enable_all();
        if let Some(settings) = read_if_given(settings)? {
            configure(&mut builder, &settings)?;
        }
        // The handler must be installed before the threads start.
        Process::current();
        let built = builder.build().map_err(|error| of_io(&error))?;
        put(
            runtime,
            handle(blitz_runtime {
                shared: Arc::new(Shared::new(built)),
            }),
        )
    })
}

fn configure(builder: &mut Builder, settings: &blitz_runtime_settings) -> Outcome {
    if settings.workers > BLITZ_WORKERS_MAX || settings.blocking_threads > 1 << 16 {
        return Err(invalid("too many workers or blocking threads"));
    }
    if settings.workers > 0 {
        builder.worker_threads(settings.workers);
    }
    if settings.blocking_threads > 0 {
        builder.max_blocking_threads(settings.blocking_threads);
    }
    if !settings.thread_name.is_null() {
        builder.thread_name(text(settings.thread_name)?);
    }
    Ok(())
}

/// Shuts a runtime down: no more fibers begin, and the waits of its fibers return
/// `BLITZ_ECANCELED`. Waits until all have ended, until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the calling fiber, which must be one of another
/// runtime, or blocks the calling thread. A second call waits for the remaining fibers.
///
/// Returns `BLITZ_OK`; `BLITZ_ETIMEDOUT` if fibers are left, which then keep running; `BLITZ_EINVAL`
/// if `runtime` is NULL or runs the calling fiber; or `BLITZ_EFORKED`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_runtime_shutdown(
    runtime: *mut blitz_runtime,
    deadline_ns: u64,
) -> c_int {
    entry(|| shutdown(&arg(runtime)?.shared, deadline_ns))
}

fn shutdown(shared: &Shared, deadline_ns: u64) -> Outcome {
    in_process(shared.group.process)?;
    if is_inside(shared) {
        return Err(record(
            BLITZ_EINVAL,
            "a fiber cannot shut down the runtime that runs it",
        ));
    }
    let limit = Limit::at(deadline_ns);
    shared.end_fibers(limit)?;
    let Some(mut runtime) = shared.runtime.try_lock() else {
        return Err(BLITZ_EBUSY);
    };
    let Some(runtime) = runtime.take() else {
        return Ok(());
    };
    // Only threads that run blocking functions can be left.
    let left = limit
        .deadline()
        .map(|at| at.saturating_duration_since(std::time::Instant::now()));
    let end = move || runtime.shutdown_timeout(left.unwrap_or(Duration::MAX));
    if is_fiber() {
        return wait::on_masked(blitz_io::task::spawn_blocking(end), Limit::Never)?
            .map_err(|_| BLITZ_ETIMEDOUT);
    }
    end();
    Ok(())
}

fn is_inside(shared: &Shared) -> bool {
    Handle::try_current().is_ok_and(|current| current.id() == shared.group.handle.id())
}

/// Shuts a runtime down without a deadline, and frees it. NULL is fine. Functions that it runs and
/// that never return, and never wait, keep this from returning. In a fiber of the runtime itself,
/// and in a child process after fork, it frees nothing and returns at once.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_runtime_free(runtime: *mut blitz_runtime) {
    entry_or((), || {
        let Ok(shared) = arg(runtime).map(|runtime| &runtime.shared) else {
            return;
        };
        if shutdown(shared, BLITZ_NEVER).is_ok() {
            drop(take(runtime));
        }
    });
}

/// Returns the number of fibers and other tasks of a runtime that have not ended; 0 for NULL. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_runtime_tasks(runtime: *mut blitz_runtime) -> usize {
    entry_or(0, || {
        arg(runtime).map_or(0, |runtime| {
            runtime.shared.group.handle.metrics().num_alive_tasks()
        })
    })
}

/// The runtime of threads that have none, made at its first use. It lives as long as the process; a
/// forked child makes its own.
static DEFAULT: PerProcess<Mutex<Option<Arc<Shared>>>> = PerProcess::new(Mutex::default);

fn default_runtime() -> Outcome<Arc<Shared>> {
    let mut default = DEFAULT.lock();
    if let Some(shared) = &*default {
        return Ok(shared.clone());
    }
    let built = Builder::new_multi_thread().enable_all().build();
    let shared = Arc::new(Shared::new(built.map_err(|error| of_io(&error))?));
    *default = Some(shared.clone());
    Ok(shared)
}

/// Returns the fibers of the runtime behind a pointer of C; for NULL those of the caller's runtime, or
/// of the default runtime.
pub(crate) fn group_of(runtime: *mut blitz_runtime) -> Outcome<Arc<Group>> {
    if !runtime.is_null() {
        return Ok(arg(runtime)?.shared.group.clone());
    }
    match fiber::with_current(|fiber| Some(fiber?.group.clone())) {
        Some(group) if group.process.is_current() => Ok(group),
        _ => Ok(default_runtime()?.group.clone()),
    }
}

/// Runs `f` with the runtime that runs the caller, or with the default runtime.
pub(crate) fn inside<R>(f: impl FnOnce() -> Outcome<R>) -> Outcome<R> {
    if Handle::try_current().is_ok() && !has_lost_runtime() {
        return f();
    }
    let shared = default_runtime()?;
    let _entered = shared.group.handle.enter();
    f()
}
