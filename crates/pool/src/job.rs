//! Jobs that a worker can run: a header that holds a function, followed by a closure.
//!
//! A queue knows only the header of a job. A [`StackJob`] lives in the frame that waits for
//! it; a [`HeapJob`] frees itself.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use blitz_io_observe::trace::RunsJob;

use crate::job_ref::{Header, JobRef};
use crate::latch::Latch;
use crate::worker::Worker;

/// The outcome of a job.
enum JobResult<R> {
    None,
    Ok(R),
    Panic(Box<dyn Any + Send>),
}

/// A job in the frame of the thread that waits for it.
#[repr(C)]
pub(crate) struct StackJob<L, F, R> {
    header: Header,
    pub(crate) latch: L,
    /// Taken by the thread that runs the job.
    func: ManuallyDrop<F>,
    result: UnsafeCell<JobResult<R>>,
}

impl<L, F, R> StackJob<L, F, R>
where
    L: Latch,
    F: FnOnce(&Worker, bool) -> R + Send,
    R: Send,
{
    #[inline(always)]
    pub(crate) fn new(func: F, latch: L) -> Self {
        Self {
            header: Header::new(Self::execute),
            latch,
            func: ManuallyDrop::new(func),
            result: UnsafeCell::new(JobResult::None),
        }
    }

    /// Identifies the closure's type, and so the place in the program.
    #[inline(always)]
    pub(crate) fn site() -> usize {
        Self::execute as unsafe fn(*const Header) as usize
    }

    #[inline(always)]
    pub(crate) fn as_ref(&self) -> JobRef {
        // SAFETY: the pointer is that of a job's header.
        unsafe { JobRef::from_ptr(&raw const self.header) }
    }

    /// Runs the job as an ordinary call.
    ///
    /// # Safety
    ///
    /// It has not run, and no other thread can get it any more.
    #[inline(always)]
    pub(crate) unsafe fn run_inline(&self, worker: &Worker, injected: bool) -> R {
        // SAFETY: by this function's contract, no other thread runs the job: the closure is taken once.
        let func = unsafe { ptr::read(&*self.func) };
        func(worker, injected)
    }

    /// Returns the result of a job whose latch is set. Resumes the job's panic.
    pub(crate) fn into_result(self) -> R {
        match self.result.into_inner() {
            JobResult::Ok(result) => result,
            JobResult::Panic(payload) => panic::resume_unwind(payload),
            JobResult::None => unreachable!("the latch is set after the result"),
        }
    }

    /// Drops the result of a job that has run.
    pub(crate) fn discard_result(&self) {
        // SAFETY: no other thread touches the result after the latch is set.
        drop(unsafe { std::mem::replace(&mut *self.result.get(), JobResult::None) });
    }

    unsafe fn execute(header: *const Header) {
        let worker = Worker::running();
        let this = header.cast::<Self>();
        // SAFETY: the frame lives until the latch is set.
        let object = unsafe { L::job(&raw const (*this).latch) };
        if let Some(object) = object {
            object.acquired();
        }
        {
            let _runs = RunsJob::new(header as usize);
            worker.run_stolen(header as usize, || {
                // SAFETY: the thread that has the job's `JobRef` is the only one to touch these
                // fields until the latch is set, and the frame lives until then. A job runs
                // once.
                unsafe {
                    let func = ptr::read((&raw const (*this).func).cast::<F>());
                    let result = match panic::catch_unwind(AssertUnwindSafe(|| func(worker, true)))
                    {
                        Ok(value) => JobResult::Ok(value),
                        Err(payload) => JobResult::Panic(payload),
                    };
                    *(*this).result.get() = result;
                }
            });
        }
        if let Some(object) = object {
            object.released();
        }
        // SAFETY: the frame lives until the latch is set.
        unsafe { L::set(&raw const (*this).latch) }
    }
}

/// A job on the heap that no thread waits for individually.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    header: Header,
    /// The owner of the job: a scope's address, or 0.
    tag: usize,
    func: F,
}

impl<F: FnOnce(&Worker) + Send> HeapJob<F> {
    /// # Safety
    ///
    /// The borrows of `func` live until it has run, and the job does run.
    pub(crate) unsafe fn into_ref(tag: usize, func: F) -> JobRef {
        let job = Box::new(Self {
            header: Header::new(Self::execute),
            tag,
            func,
        });
        // SAFETY: a job begins with its header.
        unsafe { JobRef::from_ptr(Box::into_raw(job).cast()) }
    }

    unsafe fn execute(header: *const Header) {
        let worker = Worker::running();
        // SAFETY: the pointer came from `into_ref`, and a job runs once.
        let job = unsafe { Box::from_raw(header.cast_mut().cast::<Self>()) };
        let Self { tag, func, .. } = *job;
        let _runs = RunsJob::new(JobRef::number(tag, header));
        worker.run_stolen(tag, || func(worker));
    }
}

/// A job that every worker of a pool runs once.
#[repr(C)]
pub(crate) struct ArcJob<F> {
    header: Header,
    /// The owner of the job: a scope's address, or 0.
    tag: usize,
    func: F,
}

impl<F: Fn(&Worker) + Send + Sync> ArcJob<F> {
    pub(crate) fn new(tag: usize, func: F) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new(Self::execute),
            tag,
            func,
        })
    }

    /// # Safety
    ///
    /// The borrows of `func` live until it has run, and the job does run.
    pub(crate) unsafe fn as_ref(this: &Arc<Self>) -> JobRef {
        // SAFETY: a job begins with its header.
        unsafe { JobRef::from_ptr(Arc::into_raw(this.clone()).cast()) }
    }

    unsafe fn execute(header: *const Header) {
        let worker = Worker::running();
        // SAFETY: the pointer came from `as_ref`, which gave one count away with it.
        let this = unsafe { Arc::from_raw(header.cast::<Self>()) };
        let _runs = RunsJob::new(JobRef::number(this.tag, header));
        (this.func)(worker);
    }
}
