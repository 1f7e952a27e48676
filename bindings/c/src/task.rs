//! Fibers, and functions that block, as tasks of a runtime.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use blitz_io::task::JoinHandle;

use crate::args::{Foreign, arg, null, put, put_if_wanted, text};
use crate::error::{
    BLITZ_ECLOSED, BLITZ_EINVAL, BLITZ_EPANIC, Outcome, entry, entry_or, in_process, invalid,
    of_io, of_join, record, returned,
};
use crate::exclusive::Exclusive;
use crate::fiber::{self, Fiber};
use crate::fork::{self, Process};
use crate::handle::take;
use crate::runtime::{blitz_runtime, group_of};
use crate::settings::{read_if_given, settings};
use crate::wait::{self, Limit};

/// The smallest stack of a fiber, in bytes.
pub const BLITZ_STACK_MIN: usize = 16 * 1024;
/// The largest stack of a fiber, in bytes.
pub const BLITZ_STACK_MAX: usize = 1 << 30;

/// The function of a fiber, or one that blocks. Its result goes to `blitz_task_join`.
pub type blitz_task_function = Option<extern "C" fn(argument: *mut c_void) -> *mut c_void>;

/// Frees the argument of a function that does not run.
pub type blitz_drop = Option<extern "C" fn(argument: *mut c_void)>;

/// The argument of a task's function, until the function takes it.
struct Argument {
    value: Foreign<c_void>,
    drop: blitz_drop,
}

impl Argument {
    fn new(value: *mut c_void, drop: blitz_drop) -> Self {
        Self {
            value: Foreign::new(value),
            drop,
        }
    }

    fn take(mut self) -> *mut c_void {
        self.drop = None;
        self.value.get()
    }
}

impl Drop for Argument {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            drop(self.value.get());
        }
    }
}

/// A fiber, or a function that blocks, until it was joined or detached. Any thread or fiber may use
/// it; a second join at the same time returns `BLITZ_EBUSY`.
pub struct blitz_task {
    handle: Exclusive<JoinHandle<Foreign<c_void>>>,
    fiber: Option<Arc<Fiber>>,
    process: Process,
}

/// Settings of a fiber. Initialise them with `BLITZ_FIBER_SETTINGS_INIT`, or with zeros and `size`, and
/// change the fields that need another value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_fiber_settings {
    /// The size of this structure, `sizeof(blitz_fiber_settings)`.
    pub size: usize,
    /// The size of the stack in bytes, `BLITZ_STACK_MIN` to `BLITZ_STACK_MAX`, rounded up to whole
    /// pages. 0: the default of the library.
    pub stack_size: usize,
    /// The name, in UTF-8, which the message about an overflow of the stack has. NULL: none. It is
    /// copied.
    pub name: *const c_char,
    /// Must be 0.
    pub reserved: [u64; 4],
}

settings!(blitz_fiber_settings);

/// Starts a fiber: `function(argument)` runs in the runtime's threads, and each of its waits
/// suspends it alone. `runtime` may be NULL: the runtime that runs the caller, or else one of the
/// process, which is started for the first. `settings` may be NULL.
///
/// A fiber stays in the thread in which it begins. It must not hold a lock of another library while
/// it waits in a function of this library, as other fibers of the thread may want that lock. An
/// overflow of the stack ends the process with a message; a function with more than 1 MiB of local
/// variables can step over the guard, unless it was compiled with `-fstack-clash-protection`.
///
/// `task` gets the handle, which the caller ends with `blitz_task_join` or `blitz_task_detach`; NULL
/// detaches the fiber at once. Returns `BLITZ_OK`; `BLITZ_EINVAL` if `function` is NULL or a setting
/// is out of range; `BLITZ_ECLOSED` if the runtime shuts down; `BLITZ_EFORKED`; or an error of the
/// system without memory for a stack. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_spawn(
    runtime: *mut blitz_runtime,
    settings: *const blitz_fiber_settings,
    function: blitz_task_function,
    argument: *mut c_void,
    task: *mut *mut blitz_task,
) -> c_int {
    start_fiber(
        runtime,
        settings,
        function,
        Argument::new(argument, None),
        task,
    )
}

/// Starts a fiber as `blitz_spawn` does, and takes the argument over: `drop(argument)` is called
/// instead of the function if the fiber never begins, because this returns an error or the runtime
/// ends before. That may be in any thread, during this call or later.
///
/// Returns what `blitz_spawn` returns, or `BLITZ_EINVAL` if `drop` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_spawn_owned(
    runtime: *mut blitz_runtime,
    settings: *const blitz_fiber_settings,
    function: blitz_task_function,
    drop: blitz_drop,
    argument: *mut c_void,
    task: *mut *mut blitz_task,
) -> c_int {
    if drop.is_none() {
        return returned(BLITZ_EINVAL);
    }
    start_fiber(
        runtime,
        settings,
        function,
        Argument::new(argument, drop),
        task,
    )
}

/// Compilers of C do not probe each page of a large frame by default. 32-bit processes lack the addresses
/// for this guard.
const GUARD_SIZE: usize = if cfg!(target_pointer_width = "64") {
    blitz_io::fiber::MAX_GUARD_SIZE
} else {
    0
};

fn start_fiber(
    runtime: *mut blitz_runtime,
    settings: *const blitz_fiber_settings,
    function: blitz_task_function,
    argument: Argument,
    task: *mut *mut blitz_task,
) -> c_int {
    entry(|| {
        let function = function.ok_or_else(null)?;
        let mut builder = blitz_io::fiber::Builder::new().guard_size(GUARD_SIZE);
        if let Some(settings) = read_if_given(settings)? {
            if settings.stack_size != 0 {
                if !(BLITZ_STACK_MIN..=BLITZ_STACK_MAX).contains(&settings.stack_size) {
                    return Err(invalid(format_args!(
                        "the stack has {} bytes, and not {BLITZ_STACK_MIN} to {BLITZ_STACK_MAX}",
                        settings.stack_size
                    )));
                }
                builder = builder.stack_size(settings.stack_size);
            }
            if !settings.name.is_null() {
                builder = builder.name(text(settings.name)?);
            }
        }
        let group = group_of(runtime)?;
        in_process(group.process)?;
        let Some(listed) = group.add() else {
            return Err(record(BLITZ_ECLOSED, "the runtime shuts down"));
        };
        let fiber = listed.fiber().clone();
        let body = move || listed.run(|| Foreign::new(function(argument.take())));
        let started = builder.spawn_on(body, &fiber.group.handle);
        let joined = started.map_err(|error| of_io(&error))?;
        let process = fiber.group.process;
        finish(task, joined, Some(fiber), process)
    })
}

/// Runs `function(argument)` in a thread that may block, of the runtime's pool for that. `runtime`
/// may be NULL as for `blitz_spawn`. The function is not a fiber: its waits block the thread.
///
/// `task` gets the handle, which the caller ends with `blitz_task_join` or `blitz_task_detach`; NULL
/// detaches it at once. Returns `BLITZ_OK`, `BLITZ_EINVAL` if `function` is NULL, or
/// `BLITZ_EFORKED`. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_spawn_blocking(
    runtime: *mut blitz_runtime,
    function: blitz_task_function,
    argument: *mut c_void,
    task: *mut *mut blitz_task,
) -> c_int {
    start_blocking(runtime, function, Argument::new(argument, None), task)
}

/// Runs a function as `blitz_spawn_blocking` does, and takes the argument over:
/// `drop(argument)` is called instead of the function if that never begins, because this returns
/// an error or the runtime ends before. That may be in any thread, during this call or later.
///
/// Returns what `blitz_spawn_blocking` returns, or `BLITZ_EINVAL` if `drop` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_spawn_blocking_owned(
    runtime: *mut blitz_runtime,
    function: blitz_task_function,
    drop: blitz_drop,
    argument: *mut c_void,
    task: *mut *mut blitz_task,
) -> c_int {
    if drop.is_none() {
        return returned(BLITZ_EINVAL);
    }
    start_blocking(runtime, function, Argument::new(argument, drop), task)
}

fn start_blocking(
    runtime: *mut blitz_runtime,
    function: blitz_task_function,
    argument: Argument,
    task: *mut *mut blitz_task,
) -> c_int {
    entry(|| {
        let function = function.ok_or_else(null)?;
        let group = group_of(runtime)?;
        in_process(group.process)?;
        let process = group.process;
        let body = move || {
            fork::serve(process);
            Foreign::new(function(argument.take()))
        };
        finish(task, group.handle.spawn_blocking(body), None, process)
    })
}

fn finish(
    task: *mut *mut blitz_task,
    handle: JoinHandle<Foreign<c_void>>,
    fiber: Option<Arc<Fiber>>,
    process: Process,
) -> Outcome {
    if !task.is_null() {
        let new = blitz_task {
            handle: Exclusive::new(handle),
            fiber,
            process,
        };
        put(task, crate::handle::handle(new))?;
    }
    Ok(())
}

/// Waits until a task has ended, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or
/// `BLITZ_NEVER`), and frees it. Suspends the calling fiber, or blocks the calling thread. The effects
/// of the task are visible afterwards.
///
/// `result` gets the function's result; it may be NULL. Returns `BLITZ_OK`. After every other result
/// except `BLITZ_EPANIC` the caller still owns the task: `BLITZ_ETIMEDOUT`; `BLITZ_ECANCELED` if
/// the calling fiber is cancelled, or the task did not run because its runtime has ended;
/// `BLITZ_EBUSY`; `BLITZ_EINVAL` for NULL; `BLITZ_EFORKED`. `BLITZ_EPANIC` means that the task ended
/// by a panic of the library.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_task_join(
    task: *mut blitz_task,
    deadline_ns: u64,
    result: *mut *mut c_void,
) -> c_int {
    let joined = entry(|| {
        let task = arg(task)?;
        in_process(task.process)?;
        let mut handle = task.handle.enter()?;
        match wait::on(&mut *handle, Limit::at(deadline_ns))? {
            Ok(returned) => {
                put_if_wanted(result, returned.get());
                Ok(())
            }
            Err(error) => Err(of_join(error)),
        }
    });
    if matches!(joined, 0 | BLITZ_EPANIC) {
        entry_or((), || drop(take(task)));
    }
    joined
}

/// Frees the handle of a task, which keeps running without it. NULL is fine. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_task_detach(task: *mut blitz_task) {
    entry_or((), || drop(take(task)));
}

/// Cancels a fiber: its waits, the current one and those that come, return `BLITZ_ECANCELED`, except
/// those for mutexes and read-write locks. The fiber ends when its function returns. No effect on a
/// fiber that has ended. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL, or a function of `blitz_spawn_blocking`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_task_cancel(task: *mut blitz_task) -> c_int {
    entry(|| {
        let task = arg(task)?;
        in_process(task.process)?;
        task.fiber
            .as_ref()
            .ok_or_else(|| invalid("only a fiber can be cancelled"))?
            .cancel();
        Ok(())
    })
}

/// Returns true if a task has ended, and for NULL. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_task_is_done(task: *const blitz_task) -> bool {
    entry_or(true, || match arg(task) {
        Ok(task) => task.handle.enter().is_ok_and(|handle| handle.is_finished()),
        Err(_) => true,
    })
}

/// Returns true if the caller runs in a fiber. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_is_fiber() -> bool {
    wait::is_fiber()
}

/// Returns the number of the calling fiber, which no other fiber of this process has; 0 in a thread.
/// Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_fiber_id() -> u64 {
    fiber::number().unwrap_or(0)
}

/// Returns the pointer that the calling fiber has last given to `blitz_fiber_set_local`; NULL in a
/// fiber that has given none, and in a thread. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_fiber_local() -> *mut c_void {
    entry_or(ptr::null_mut(), || {
        fiber::with_current(|fiber| {
            fiber.map_or(ptr::null_mut(), |fiber| fiber.local.load(Ordering::Relaxed))
        })
    })
}

/// Keeps a pointer for the calling fiber, which `blitz_fiber_local` returns. The library does not
/// dereference it. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` in a thread.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_fiber_set_local(pointer: *mut c_void) -> c_int {
    entry(|| {
        fiber::with_current(|fiber| {
            let fiber = fiber.ok_or_else(|| invalid("this is not called in a fiber"))?;
            fiber.local.store(pointer, Ordering::Relaxed);
            Ok(())
        })
    })
}

/// Returns true if the waits of the calling fiber return `BLITZ_ECANCELED`; false in a thread. Does
/// not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_fiber_is_cancelled() -> bool {
    entry_or(false, fiber::is_cancelled)
}

/// Begins (true) or ends (false) a part of the calling fiber in which its waits are not cancelled,
/// for example to clean up. Parts may be nested. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` in a thread, or if there is no part to end.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_fiber_mask_cancel(begins: bool) -> c_int {
    entry(|| {
        let masked = fiber::with_current(|fiber| fiber.is_some_and(|fiber| fiber.mask(begins)));
        if masked {
            Ok(())
        } else {
            Err(invalid("this is not called in a fiber, or no part begins"))
        }
    })
}

/// Lets other fibers of this thread run, or other threads if the caller is not a fiber.
///
/// Returns `BLITZ_OK`, or `BLITZ_ECANCELED` in a fiber that is cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_yield() -> c_int {
    entry(|| {
        if wait::is_fiber() {
            return wait::on(blitz_io::task::yield_now(), Limit::Never);
        }
        std::thread::yield_now();
        Ok(())
    })
}
