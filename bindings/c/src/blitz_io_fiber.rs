//! A fiber: a future whose poll resumes a stack.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::ptr;
use std::task::{Context, Poll, Waker};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

thread_local! {
    static CURRENT: Cell<*const Yielder<Waker, ()>> = const { Cell::new(ptr::null()) };
}

#[derive(Default)]
pub(crate) struct Builder {
    stack_size: Option<usize>,
}

struct Sendable<T>(T);

// SAFETY: the functions of C may move between threads, by the contract of `blitz_spawn`.
unsafe impl<T> Send for Sendable<T> {}

impl<T> Sendable<T> {
    fn get(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    pub(crate) fn name(self, _: &str) -> Self {
        self
    }

    pub(crate) fn build<R: Send + 'static>(
        self,
        function: impl FnOnce() -> R + Send + 'static,
    ) -> impl Future<Output = R> + Send + 'static {
        let stack = DefaultStack::new(self.stack_size.unwrap_or(128 * 1024)).unwrap();
        let coroutine: Coroutine<Waker, (), R> =
            Coroutine::with_stack(stack, move |yielder, waker| {
                drop(waker);
                CURRENT.set(yielder);
                function()
            });
        let mut coroutine = Sendable(coroutine);
        poll_fn(move |cx| {
            let result = coroutine.get().resume(cx.waker().clone());
            CURRENT.set(ptr::null());
            match result {
                CoroutineResult::Yield(()) => Poll::Pending,
                CoroutineResult::Return(result) => Poll::Ready(result),
            }
        })
    }
}

#[inline(never)]
pub(crate) fn is_fiber() -> bool {
    !CURRENT.get().is_null()
}

#[inline(never)]
fn current() -> *const Yielder<Waker, ()> {
    CURRENT.get()
}

#[inline(never)]
fn set(yielder: *const Yielder<Waker, ()>) {
    CURRENT.set(yielder);
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let yielder = current();
    let mut future = pin!(future);
    // SAFETY: the fiber that runs has set it.
    let on = unsafe { &*yielder };
    let mut waker: Option<Waker> = None;
    loop {
        let current = match waker.take() {
            Some(waker) => waker,
            None => crate::fiber::current()
                .and_then(|fiber| fiber.waker())
                .unwrap(),
        };
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&current)) {
            return output;
        }
        waker = Some(on.suspend(()));
        set(yielder);
    }
}
