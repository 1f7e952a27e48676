//! `Run`: what the workers of a run share, whether they are threads or tasks.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cells::Cells;
use crate::closures::Work;
use crate::emit::{Emit, Results};
use crate::error::{Error, Place};
use crate::scheduler::Scheduler;
use crate::state::Size;

/// The first failure.
struct Failure<E> {
    item: u64,
    place: Place,
    error: E,
}

/// The state that the workers of a run share, including sources of type `S` and sinks of type `K`.
pub struct Run<P, T, E, S, K> {
    pub sources: Cells<S>,
    pub sinks: Cells<K>,
    /// The parts of each source, one for each slot.
    pub parts: Vec<Cells<Option<P>>>,
    /// The results for each sink, one for each slot.
    pub results: Vec<Cells<Results<T>>>,
    failure: Mutex<Option<Failure<E>>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<P, T, E, S, K> Run<P, T, E, S, K> {
    pub fn new(size: Size, sources: Vec<S>, sinks: Vec<K>) -> Self {
        let parts = |_| Cells::new((0..size.slots()).map(|_| None));
        let results = |_| Cells::new((0..size.slots()).map(|_| Results::new()));
        Self {
            sources: Cells::new(sources),
            sinks: Cells::new(sinks),
            parts: (0..size.sources).map(parts).collect(),
            results: (0..size.sinks).map(results).collect(),
            failure: Mutex::new(None),
            panic: Mutex::new(None),
        }
    }

    /// Processes an item. Returns whether that succeeded.
    ///
    /// # Safety
    ///
    /// The step belongs to the caller.
    #[inline]
    pub unsafe fn process(&self, work: &mut Work<'_, P, T, E>, item: u64) -> bool {
        let mut take = |source: usize| {
            // SAFETY: the step is the caller's, and all parts of the item belong to it.
            let part = unsafe { self.parts[source].get(item) };
            part.take().expect("all parts of a claimed item were read")
        };
        let mut push = |sink: usize, value| {
            // SAFETY: the step is the caller's, and all results of the item belong to it.
            unsafe { self.results[sink].get(item) }.push(value);
        };
        match work(&mut take, &mut Emit::new(self.results.len(), &mut push)) {
            Ok(()) => true,
            Err(error) => {
                self.failed(item, Place::Stage, error);
                false
            }
        }
    }

    #[cold]
    pub fn failed(&self, item: u64, place: Place, error: E) {
        let mut first = lock(&self.failure);
        if first.as_ref().is_none_or(|first| item < first.item) {
            *first = Some(Failure { item, place, error });
        }
    }

    /// Keeps the panic of a closure.
    #[cold]
    pub fn panicked(&self, payload: Box<dyn Any + Send>) {
        lock(&self.panic).get_or_insert(payload);
    }

    /// Returns how the run ended, after all workers have left.
    pub fn end(&self, scheduler: &Scheduler) -> Result<(), Error<E>> {
        if let Some(payload) = lock(&self.panic).take() {
            resume_unwind(payload);
        }
        if scheduler.was_stopped() {
            let written = scheduler.written();
            return Err(Error::Cancelled { written });
        }
        let failure = lock(&self.failure).take();
        let uneven = scheduler.uneven();
        match (failure, uneven) {
            (Some(Failure { item, place, error }), uneven)
                if uneven.is_none_or(|(uneven, _)| item <= uneven) =>
            {
                Err(Error::Failed { item, place, error })
            }
            (_, Some((item, source))) => Err(Error::Uneven { item, source }),
            _ => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
