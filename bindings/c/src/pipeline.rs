//! Ordered parallel pipelines of callbacks.

use std::ffi::{c_int, c_void};

use blitz_io::pipeline::{self, Control, Error};
use blitz_io::task;

use crate::args::{Foreign, arg, check, list, null, put_if_wanted};
use crate::error::{
    BLITZ_ECALLBACK, BLITZ_ECANCELED, BLITZ_EINVAL, Outcome, entry, entry_or, invalid, of_join,
    record,
};
use crate::settings::{read, settings};
use crate::wait::{self, Limit, is_fiber};

/// Makes the next item: writes it to `item`, and returns 1; or returns 0 at the end, or a negative
/// number to fail.
pub type blitz_source =
    Option<extern "C" fn(argument: *mut c_void, item: *mut *mut c_void) -> c_int>;

/// Works on an item: may write another item to `item`, or NULL to leave it out, and then has taken
/// the first over. Returns 0, or a negative number to fail, which leaves the item to the library.
pub type blitz_stage_function =
    Option<extern "C" fn(argument: *mut c_void, item: *mut *mut c_void) -> c_int>;

/// Takes an item over. Returns 0, or a negative number to fail.
pub type blitz_sink = Option<extern "C" fn(argument: *mut c_void, item: *mut c_void) -> c_int>;

/// A stage of a pipeline.
#[repr(C)]
pub struct blitz_stage {
    /// Called by several threads at once.
    pub function: blitz_stage_function,
    /// The argument of the function. All its calls share it.
    pub argument: *mut c_void,
}

/// A pipeline. Initialise it with `BLITZ_PIPELINE_INIT`, or with zeros and `size`, then fill in at least
/// `source` and `sink`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_pipeline {
    /// The size of this structure, `sizeof(blitz_pipeline)`.
    pub size: usize,
    /// Makes the items. Its calls do not overlap.
    pub source: blitz_source,
    /// The argument of the source.
    pub source_argument: *mut c_void,
    /// The stages, in their order. May be NULL without stages.
    pub stages: *const blitz_stage,
    /// The number of stages.
    pub stage_count: usize,
    /// Takes the items, in the order in which the source made them. Its calls do not overlap.
    pub sink: blitz_sink,
    /// The argument of the sink.
    pub sink_argument: *mut c_void,
    /// Frees an item that does not reach the sink after a failure. May be NULL.
    pub free_item: Option<extern "C" fn(item: *mut c_void)>,
    /// The number of threads that work in all. 0: one for each processor.
    pub workers: usize,
    /// The most items in memory. 0: 4 for each worker.
    pub capacity: usize,
    /// If true, the sink gets the items in any order.
    pub unordered: bool,
    /// Cancels the run from another thread or fiber. May be NULL. It is for one run.
    pub control: *mut blitz_pipeline_control,
    /// Must be 0.
    pub reserved: [u64; 4],
}

settings!(blitz_pipeline);

/// The result of a run of a pipeline.
#[repr(C)]
pub struct blitz_pipeline_result {
    /// The number of items that the sink has taken, without a gap.
    pub written: u64,
    /// The item that failed, counted from 0, if the result is `BLITZ_ECALLBACK`.
    pub failed_item: u64,
    /// The number that the callback returned, if the result is `BLITZ_ECALLBACK`.
    pub callback_result: c_int,
    /// 0.
    pub reserved: [u64; 4],
}

/// Cancels a pipeline. Any thread or fiber may use it.
pub struct blitz_pipeline_control {
    control: Control,
}

/// An item of the caller.
struct Item {
    pointer: Foreign<c_void>,
    free: Option<extern "C" fn(item: *mut c_void)>,
}

impl Item {
    /// Hands the item over.
    fn take(self) -> *mut c_void {
        let pointer = self.pointer.get();
        std::mem::forget(self);
        pointer
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            free(self.pointer.get());
        }
    }
}

/// The callbacks of one run.
struct Callbacks {
    source: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    source_argument: Foreign<c_void>,
    stages: Vec<(
        extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
        Foreign<c_void>,
    )>,
    sink: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    sink_argument: Foreign<c_void>,
    free: Option<extern "C" fn(item: *mut c_void)>,
}

impl Callbacks {
    fn new(pipeline: &blitz_pipeline) -> Outcome<Self> {
        let stages = list(pipeline.stages, pipeline.stage_count)?
            .iter()
            .map(|stage| {
                Ok((
                    stage.function.ok_or_else(null)?,
                    Foreign::new(stage.argument),
                ))
            })
            .collect::<Outcome<_>>()?;
        Ok(Self {
            source: pipeline.source.ok_or_else(null)?,
            source_argument: Foreign::new(pipeline.source_argument),
            stages,
            sink: pipeline.sink.ok_or_else(null)?,
            sink_argument: Foreign::new(pipeline.sink_argument),
            free: pipeline.free_item,
        })
    }

    fn next(&self) -> Result<Option<Item>, c_int> {
        let mut pointer = std::ptr::null_mut();
        match (self.source)(self.source_argument.get(), &mut pointer) {
            0 => Ok(None),
            1 => Ok(Some(self.item(pointer))),
            error => Err(error),
        }
    }

    fn item(&self, pointer: *mut c_void) -> Item {
        Item {
            pointer: Foreign::new(pointer),
            free: self.free,
        }
    }

    /// Runs the stages. Returns `None` if one left the item out.
    fn work(&self, mut item: Item) -> Result<Option<Item>, c_int> {
        for (function, argument) in &self.stages {
            let mut pointer = item.pointer.get();
            let result = function(argument.get(), &mut pointer);
            if result < 0 {
                return Err(result);
            }
            // The stage has taken the item over, and made another.
            let _taken = item.take();
            if pointer.is_null() {
                return Ok(None);
            }
            item = self.item(pointer);
        }
        Ok(Some(item))
    }

    fn write(&self, item: Item) -> Result<(), c_int> {
        match (self.sink)(self.sink_argument.get(), item.take()) {
            error if error < 0 => Err(error),
            _ => Ok(()),
        }
    }
}

const CAPACITY_MAX: usize = 1 << 24;

/// Runs a pipeline to its end: items from `source` go through the stages in parallel, and to `sink`
/// in their order. Suspends the calling fiber while other threads run it, or works in the calling
/// thread. The callbacks run in threads of the library and, if the caller is no fiber, in the calling
/// thread. They must not wait for each other.
///
/// After a failure everything before the failed item is written, and nothing after it (if the
/// pipeline is ordered). `result` may be NULL. It is filled after `BLITZ_OK`, `BLITZ_ECALLBACK` and
/// `BLITZ_ECANCELED`. Returns `BLITZ_OK`; `BLITZ_ECALLBACK` if a callback failed; `BLITZ_ECANCELED`
/// after `blitz_pipeline_cancel`; or `BLITZ_EINVAL` for NULL, a missing callback, more than 1,024
/// workers, or a capacity of more than 16,777,216. Cancelling the calling fiber does not end the run.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pipeline_run(
    pipeline: *const blitz_pipeline,
    result: *mut blitz_pipeline_result,
) -> c_int {
    entry(|| {
        let pipeline = read(pipeline)?;
        let callbacks = Callbacks::new(&pipeline)?;
        if pipeline.workers > 1024 || pipeline.capacity > CAPACITY_MAX {
            return Err(invalid("too many workers, or too much capacity"));
        }
        let control = if pipeline.control.is_null() {
            Control::new()
        } else {
            arg(pipeline.control)?.control.clone()
        };
        let (workers, capacity) = (pipeline.workers, pipeline.capacity);
        let unordered = pipeline.unordered;
        let run = move || run(&callbacks, workers, capacity, unordered, &control);
        let ended = if is_fiber() {
            let joined = wait::on_masked(task::spawn_blocking(run), Limit::Never)?;
            joined.map_err(of_join)?
        } else {
            run()
        };
        report(ended, result)
    })
}

fn run(
    callbacks: &Callbacks,
    workers: usize,
    capacity: usize,
    unordered: bool,
    control: &Control,
) -> Result<u64, Error<c_int>> {
    let stages = pipeline::source(|| callbacks.next()).flat_map(|item, emit| {
        if let Some(item) = callbacks.work(item)? {
            emit.push(item);
        }
        Ok(())
    });
    let mut pipeline = stages.sink(|item| callbacks.write(item)).control(control);
    if workers > 0 {
        pipeline = pipeline.workers(workers);
    }
    if capacity > 0 {
        pipeline = pipeline.capacity(capacity);
    }
    if unordered {
        pipeline = pipeline.unordered();
    }
    pipeline.run().map(|progress| progress.written)
}

fn report(ended: Result<u64, Error<c_int>>, result: *mut blitz_pipeline_result) -> Outcome {
    let mut report = blitz_pipeline_result {
        written: 0,
        failed_item: 0,
        callback_result: 0,
        reserved: [0; 4],
    };
    let outcome = match ended {
        Ok(written) => {
            report.written = written;
            Ok(())
        }
        Err(Error::Failed {
            item,
            error,
            ref place,
        }) => {
            report.written = item;
            report.failed_item = item;
            report.callback_result = error;
            Err(record(
                BLITZ_ECALLBACK,
                format_args!("{place} returned {error} for item {item}"),
            ))
        }
        Err(Error::Cancelled { written }) => {
            report.written = written;
            Err(record(BLITZ_ECANCELED, "the pipeline was cancelled"))
        }
        Err(error) => return Err(record(BLITZ_EINVAL, error)),
    };
    put_if_wanted(result, report);
    outcome
}

/// Makes a control, with which another thread or fiber can cancel one run of a pipeline. The caller
/// frees it with `blitz_pipeline_control_free`, after the run.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pipeline_control_new(
    control: *mut *mut blitz_pipeline_control,
) -> c_int {
    entry(|| {
        check(control)?;
        let new = crate::handle::handle(blitz_pipeline_control {
            control: Control::new(),
        });
        crate::args::put(control, new)
    })
}

/// Cancels the run of a pipeline: callbacks that run come to their end, and no more begin. Does not
/// wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pipeline_cancel(control: *mut blitz_pipeline_control) -> c_int {
    entry(|| {
        arg(control)?.control.cancel();
        Ok(())
    })
}

/// Frees a control. NULL is fine. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_pipeline_control_free(control: *mut blitz_pipeline_control) {
    entry_or((), || drop(crate::handle::take(control)));
}
