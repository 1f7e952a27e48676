//! Fork-join on the processor's cores.

use std::ffi::{c_int, c_void};

use blitz_io::pool::{self, Scope, ThreadPool, ThreadPoolBuilder};

use crate::args::{Foreign, arg, check, null, put};
use crate::error::{BLITZ_EUNSUPPORTED, Outcome, entry, entry_or, in_process, invalid, record};
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::wait::{self, Limit, is_fiber};

/// A body of `blitz_parallel_for`: it is called for the indices from `begin` up to, but not
/// including, `end`.
pub type blitz_loop_body = Option<extern "C" fn(argument: *mut c_void, begin: usize, end: usize)>;

/// A job.
pub type blitz_job = Option<extern "C" fn(argument: *mut c_void)>;

/// A pool of threads for fork-join. Any thread or fiber may use it, several at once.
pub struct blitz_pool {
    pool: ThreadPool,
    process: Process,
}

impl OfProcess for blitz_pool {
    fn process(&self) -> Process {
        self.process
    }
}

/// A scope: jobs that end before the call that made the scope. It is valid until that call
/// returns.
pub struct blitz_scope {
    _private: [u8; 0],
}

/// Makes a pool with a number of threads (1 to 1,024); 0 is one for each processor. Most programs
/// need none: the functions take NULL for the pool of the process.
///
/// The caller frees it with `blitz_pool_free`. Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or too
/// many threads, or `BLITZ_EUNSUPPORTED` if the system gives no threads. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pool_new(threads: usize, pool: *mut *mut blitz_pool) -> c_int {
    entry(|| {
        check(pool)?;
        if threads > 1024 {
            return Err(invalid("a pool has 1024 threads at most"));
        }
        let process = Process::current();
        let built = ThreadPoolBuilder::new().num_threads(threads).build();
        let built = built.map_err(|error| record(BLITZ_EUNSUPPORTED, error))?;
        put(
            pool,
            handle(blitz_pool {
                pool: built,
                process,
            }),
        )
    })
}

/// Frees a pool, when its threads have nothing more to do. NULL is fine. No other call may use it,
/// now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pool_free(pool: *mut blitz_pool) {
    entry_or((), || fork::free(pool));
}

/// The pool in which a fork-join operation runs.
enum Place<'a> {
    Global,
    Pool(&'a ThreadPool),
}

/// The process that first used the pool of the process. Its children have no such pool.
static GLOBAL: std::sync::OnceLock<Process> = std::sync::OnceLock::new();

fn place<'a>(pool: *mut blitz_pool) -> Outcome<Place<'a>> {
    if pool.is_null() {
        in_process(*GLOBAL.get_or_init(Process::current))?;
        return Ok(Place::Global);
    }
    let pool = arg(pool)?;
    in_process(pool.process)?;
    Ok(Place::Pool(&pool.pool))
}

/// Runs `work` in the pool. Suspends a fiber until `work` has ended: `work` uses data of the caller, so
/// a cancelled fiber waits too.
fn run(place: Place<'_>, work: impl FnOnce() + Send + 'static) -> Outcome {
    if is_fiber() {
        let run = match place {
            Place::Global => pool::run(work),
            Place::Pool(pool) => pool.run(work),
        };
        return wait::on_masked(run, Limit::Never);
    }
    match place {
        // In a thread of a pool, that pool runs the work.
        Place::Global => work(),
        Place::Pool(pool) => pool.install(work),
    }
    Ok(())
}

/// Calls `body(argument, from, to)` for parts that together are the indices from `begin` up to, but
/// not including, `end`, each once, in parallel and in any order. A part has `grain` indices at
/// most; 0 lets the library choose. `pool` may be NULL. Returns when all parts have ended: suspends
/// the calling fiber, or works on the loop in the calling thread.
///
/// The body runs in threads of the pool and in the calling thread, several at once; it must not wait
/// for another part. Everything that the parts did is visible afterwards. Returns `BLITZ_OK`,
/// `BLITZ_EINVAL` if `body` is NULL or `end` is less than `begin`, or `BLITZ_EFORKED` in a child
/// process whose parent has used the pool.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_parallel_for(
    pool: *mut blitz_pool,
    begin: usize,
    end: usize,
    grain: usize,
    body: blitz_loop_body,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let body = body.ok_or_else(null)?;
        let len = end
            .checked_sub(begin)
            .ok_or_else(|| invalid("the loop ends before it begins"))?;
        let place = place(pool)?;
        if len == 0 {
            return Ok(());
        }
        let threads = match place {
            Place::Global => pool::current_num_threads(),
            Place::Pool(pool) => pool.current_num_threads(),
        };
        let grain = if grain == 0 {
            len.div_ceil(threads * PARTS).max(1)
        } else {
            grain
        };
        let parts = len.div_ceil(grain);
        let argument = Foreign::new(argument);
        run(place, move || {
            pool::for_each(0..parts, 1, |part| {
                let from = part * grain;
                body(
                    argument.get(),
                    begin + from,
                    begin + len.min(from.saturating_add(grain)),
                );
            });
        })
    })
}

/// The number of parts of a loop for each thread, if the caller does not choose.
const PARTS: usize = 8;

/// Calls `one(one_argument)` and `other(other_argument)`, in parallel if a thread is free, and
/// returns when both have ended. `pool` may be NULL. Suspends the calling fiber, or works in the
/// calling thread. Both may call this again.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` if a function is NULL, or `BLITZ_EFORKED` in a child process
/// whose parent has used the pool.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_join(
    pool: *mut blitz_pool,
    one: blitz_job,
    one_argument: *mut c_void,
    other: blitz_job,
    other_argument: *mut c_void,
) -> c_int {
    entry(|| {
        let (one, other) = (one.ok_or_else(null)?, other.ok_or_else(null)?);
        let (first, second) = (Foreign::new(one_argument), Foreign::new(other_argument));
        run(place(pool)?, move || {
            pool::join(move || one(first.get()), move || other(second.get()));
        })
    })
}

/// Calls `body(scope, argument)` in a thread of the pool or in the calling thread, and returns when
/// it and all jobs of the scope have ended. `pool` may be NULL. Suspends the calling fiber, or works
/// in the calling thread.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` if `body` is NULL, or `BLITZ_EFORKED` in a child process whose
/// parent has used the pool.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_scope_run(
    pool: *mut blitz_pool,
    body: Option<extern "C" fn(scope: *mut blitz_scope, argument: *mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let body = body.ok_or_else(null)?;
        let argument = Foreign::new(argument);
        run(place(pool)?, move || {
            pool::scope(move |scope: &Scope<'static>| {
                body((&raw const *scope).cast_mut().cast(), argument.get());
            });
        })
    })
}

/// Adds a job to a scope: `job(argument)` runs in a thread of the pool. Call it from the scope's body
/// or from one of its jobs. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `scope` or `job` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_scope_spawn(
    scope: *mut blitz_scope,
    job: blitz_job,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        // The pointer comes from `blitz_scope_run`, whose scope lives: rule 1 of `args`.
        let scope: &Scope<'static> = arg(scope.cast_const().cast())?;
        let job = job.ok_or_else(null)?;
        let argument = Foreign::new(argument);
        scope.spawn(move |_| job(argument.get()));
        Ok(())
    })
}

/// Returns the number of threads of a pool, or of the pool of the process for NULL. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pool_threads(pool: *mut blitz_pool) -> usize {
    entry_or(0, || match place(pool) {
        Ok(Place::Global) => pool::current_num_threads(),
        Ok(Place::Pool(pool)) => pool.current_num_threads(),
        Err(_) => 0,
    })
}
