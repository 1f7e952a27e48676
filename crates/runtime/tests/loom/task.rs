//! Models of a task's life.
//!
//! The scheduler is one queue. A thread that runs tokens takes them from there. A thread
//! that finds none while it expects one sleeps, so a lost wake-up is a deadlock.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::Arc as Witness;
use std::sync::atomic::{AtomicUsize as Count, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use blitz_io_core::coop::unconstrained;
use blitz_io_runtime::kernel::task::model::{
    Header, ListId, Notified, OwnedTasks, Ran, Schedule, id, unowned,
};
use blitz_io_runtime::kernel::task::{JoinError, JoinHandle};
use blitz_io_runtime::kernel::token::Token;
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::model::model_in_order as model;

/// The queue. Loom counts its copies in tasks, and finds leaks.
#[derive(Clone)]
struct Line(Arc<Shared>);

struct Shared {
    owned: OwnedTasks,
    queue: Mutex<VecDeque<Notified>>,
    bell: Condvar,
    /// The line is used by threads which keep it, and the thread of the test owns a list.
    outlives_calls: bool,
    owner: thread::ThreadId,
}

impl Schedule for Line {
    fn schedule(&self, task: Notified) {
        self.0.queue.lock().unwrap().push_back(task);
        self.0.bell.notify_one();
    }

    fn release(&self, task: &Header) {
        if self.is_owner() {
            // SAFETY: this is the owner.
            unsafe { self.0.owned.remove_by_owner(task, 0) }
        } else {
            self.0.owned.remove(task);
        }
    }

    fn outlives_call(&self) -> bool {
        self.0.outlives_calls
    }
}

impl Line {
    fn new(outlives_calls: bool) -> Calm<Self> {
        Calm::new(Self(Arc::new(Shared {
            owned: OwnedTasks::new(1),
            queue: Mutex::new(VecDeque::new()),
            bell: Condvar::new(),
            outlives_calls,
            owner: thread::current().id(),
        })))
    }

    fn is_owner(&self) -> bool {
        self.0.outlives_calls && thread::current().id() == self.0.owner
    }

    fn close(&self) {
        if self.is_owner() {
            // SAFETY: this is the owner.
            unsafe { self.0.owned.close_own(0) }
        }
        self.0.owned.close_and_cancel_all();
    }

    fn spawn<F>(&self, future: F) -> Calm<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let owned = &self.0.owned;
        let list = if self.is_owner() {
            ListId::own(0)
        } else {
            ListId::shared(0)
        };
        // SAFETY: the own list is the owner's, and the future may go to other threads.
        let (join, token) = unsafe { owned.bind(list, future, self.clone(), id()) };
        self.0.queue.lock().unwrap().extend(token);
        Calm::new(join)
    }

    /// Frees the tasks that have ended elsewhere, which would keep the line otherwise.
    fn drain(&self) {
        assert!(self.is_owner());
        // SAFETY: this is the owner.
        unsafe { self.0.owned.drain(0) }
    }

    fn owned(&self) -> &OwnedTasks {
        &self.0.owned
    }

    fn take(&self) -> Option<Notified> {
        self.0.queue.lock().unwrap().pop_front()
    }

    /// Runs a token, and queues the token that may result. Returns whether a task ended.
    fn run(&self, token: Notified) -> bool {
        match token.run() {
            Ran::Done => return true,
            Ran::Idle => {}
            Ran::Again(token) | Ran::Yielded(token) | Ran::Here(token) => self.schedule(token),
        }
        false
    }

    /// Runs the tasks that are queued now.
    fn run_queued(&self) {
        while let Some(token) = self.take() {
            if !self.run(token) {
                break;
            }
        }
    }

    /// Runs tokens until a task has ended.
    fn run_one_to_end(&self) {
        loop {
            let mut queue = self.0.queue.lock().unwrap();
            let token = loop {
                match queue.pop_front() {
                    Some(token) => break token,
                    None => queue = self.0.bell.wait(queue).unwrap(),
                }
            };
            drop(queue);
            if self.run(token) {
                return;
            }
        }
    }
}

/// A future that is ready when the flag is set, and asks for the next poll otherwise
/// if it is to yield.
struct Flagged {
    flag: Arc<AtomicBool>,
    waker: Arc<Mutex<Option<Waker>>>,
    value: Option<Witness<()>>,
}

impl Future for Flagged {
    type Output = Witness<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.flag.load(Ordering::Relaxed) {
            return Poll::Ready(self.value.take().unwrap());
        }
        let mut waker = self.waker.lock().unwrap();
        if waker.is_none() {
            *waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

/// A value that must not be dropped when a model has failed, because loom has ended then.
struct Calm<T>(ManuallyDrop<T>);

impl<T> Calm<T> {
    fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    fn into_inner(mut self) -> T {
        // SAFETY: the value is not used again.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        std::mem::forget(self);
        value
    }
}

impl<T> Deref for Calm<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Calm<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Clone> Clone for Calm<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Drop for Calm<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the value is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        }
    }
}

/// The objects of a model.
struct Setting {
    line: Calm<Line>,
    flag: Calm<Arc<AtomicBool>>,
    value: Witness<()>,
    waker: Calm<Waker>,
    join: Calm<JoinHandle<Witness<()>>>,
}

/// A task that waits for its flag, and has been polled once.
fn waiting(outlives_calls: bool) -> Setting {
    let line = Line::new(outlives_calls);
    let flag = Calm::new(Arc::new(AtomicBool::new(false)));
    let place = Arc::new(Mutex::new(None));
    let value = Witness::new(());
    let join = line.spawn(Flagged {
        flag: Arc::clone(&flag),
        waker: place.clone(),
        value: Some(value.clone()),
    });
    line.run_queued();
    let waker = Calm::new(place.lock().unwrap().take().unwrap());
    Setting {
        line,
        flag,
        value,
        waker,
        join,
    }
}

/// A waker that counts, and wakes a sleeping thread.
struct Bell {
    rung: Mutex<usize>,
    bell: Condvar,
    count: Count,
}

impl Bell {
    fn new() -> (Witness<Self>, Calm<Waker>) {
        let bell = Witness::new(Self {
            rung: Mutex::new(0),
            bell: Condvar::new(),
            count: Count::new(0),
        });
        (bell.clone(), Calm::new(bell.into()))
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while *rung == 0 {
            rung = self.bell.wait(rung).unwrap();
        }
    }
}

impl Wake for Bell {
    fn wake(self: Witness<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        *self.rung.lock().unwrap() += 1;
        self.bell.notify_one();
    }
}

fn poll<T>(join: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    // The threads of all models share the budget of the system's thread.
    unconstrained(|| Pin::new(join).poll(&mut Context::from_waker(waker)))
}

fn output<T>(join: &mut JoinHandle<T>) -> Result<T, JoinError> {
    match poll(join, Waker::noop()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not complete"),
    }
}

/// A task is woken while it may be polled because of another wake-up.
fn woken_during_a_poll(by_value: bool, outlives_calls: bool) {
    model(3, move || {
        let Setting {
            line,
            flag,
            value,
            waker,
            mut join,
        } = waiting(outlives_calls);
        let other = line.clone();
        let wakes = waker.clone();
        let thread = thread::spawn(move || {
            flag.store(true, Ordering::Relaxed);
            if by_value {
                Calm::into_inner(wakes).wake();
            } else {
                wakes.wake_by_ref();
                drop(wakes);
            }
            drop(other);
        });
        waker.wake_by_ref();
        line.run_one_to_end();
        drop(waker);
        thread.join().unwrap();
        assert!(line.take().is_none(), "a token too many");
        drop(output(&mut join).unwrap());
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

#[test]
fn no_wake_up_is_lost() {
    woken_during_a_poll(false, true);
}

#[test]
fn no_wake_up_by_value_is_lost() {
    woken_during_a_poll(true, true);
    woken_during_a_poll(true, false);
}

/// Asserts that the tasks have ended, and have dropped their references to the value.
fn all_gone(line: &Line, value: &Witness<()>) {
    assert!(line.owned().is_empty());
    assert_eq!(Witness::strong_count(value), 1);
    line.drain();
}

/// Two threads run the tokens of a task in turns, and the last one to know it frees it.
fn polled_by_two_threads() {
    model(2, || {
        let Setting {
            line,
            flag,
            value,
            waker,
            join,
        } = waiting(true);
        drop(join);
        let other = line.clone();
        let wakes = waker.clone();
        let thread = thread::spawn(move || {
            Calm::into_inner(wakes).wake();
            other.run_queued();
        });
        flag.store(true, Ordering::Relaxed);
        Calm::into_inner(waker).wake();
        line.run_queued();
        thread.join().unwrap();
        line.run_queued();
        all_gone(&line, &value);
    });
}

#[test]
fn tasks_move_between_threads() {
    polled_by_two_threads();
}

/// Here the token goes from thread to thread without a lock that would order the end of
/// a poll before a wake-up.
fn moves_without_a_queue() {
    /// Keeps the one token.
    #[derive(Clone)]
    struct Loose(Arc<AtomicUsize>);

    impl Schedule for Loose {
        fn schedule(&self, task: Notified) {
            let raw = task.into_raw().as_ptr().expose_provenance();
            assert_eq!(self.0.swap(raw, Ordering::Release), 0);
        }

        fn release(&self, _: &Header) {}
    }

    impl Loose {
        fn run(&self) {
            let raw = self.0.swap(0, Ordering::Acquire);
            if let Some(raw) = std::ptr::NonNull::new(std::ptr::with_exposed_provenance_mut(raw)) {
                // SAFETY: the token was put there once.
                match unsafe { Notified::from_raw(raw) }.run() {
                    Ran::Again(token) | Ran::Yielded(token) | Ran::Here(token) => {
                        self.schedule(token)
                    }
                    Ran::Done | Ran::Idle => {}
                }
            }
        }
    }

    /// Counts its polls, in a cell that the checker watches.
    struct Counts {
        polls: loom::cell::Cell<u32>,
        waker: Witness<std::sync::Mutex<Option<Waker>>>,
    }

    impl Future for Counts {
        type Output = ();

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            self.polls.set(self.polls.get() + 1);
            if self.polls.get() == 1 {
                *self.waker.lock().unwrap() = Some(context.waker().clone());
            }
            if self.polls.get() == 3 {
                return Poll::Ready(());
            }
            Poll::Pending
        }
    }

    model(2, || {
        let loose = Calm::new(Loose(Arc::new(AtomicUsize::new(0))));
        let waker = Witness::new(std::sync::Mutex::new(None));
        let counts = Counts {
            polls: loom::cell::Cell::new(0),
            waker: waker.clone(),
        };
        let (join, token) = unowned(counts, Loose::clone(&loose), id());
        drop(join);
        assert!(matches!(token.run(), Ran::Idle));
        let waker = Calm::new(waker.lock().unwrap().take().unwrap());
        let (other, wakes) = (loose.clone(), waker.clone());
        let thread = thread::spawn(move || {
            Calm::into_inner(wakes).wake();
            other.run();
        });
        waker.wake_by_ref();
        loose.run();
        thread.join().unwrap();
        loose.run();
        for _ in 0..3 {
            waker.wake_by_ref();
            loose.run();
        }
    });
}

#[test]
fn the_word_alone_orders_the_polls() {
    moves_without_a_queue();
}

/// A task is aborted while it is queued, runs or ends.
fn aborted_while_it_ends() {
    model(3, || {
        let Setting {
            line,
            flag,
            value,
            waker,
            mut join,
        } = waiting(true);
        flag.store(true, Ordering::Relaxed);
        let abort = Calm::new(join.abort_handle());
        let thread = thread::spawn(move || {
            abort.abort();
            abort.is_finished()
        });
        Calm::into_inner(waker).wake();
        line.run_one_to_end();
        thread.join().unwrap();
        assert!(line.take().is_none(), "a token too many");
        match output(&mut join) {
            Ok(value) => drop(value),
            Err(error) => assert!(error.is_cancelled()),
        }
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

/// A task that never ends is aborted while it may be polled.
fn aborted_while_it_waits() {
    model(3, || {
        let Setting {
            line,
            flag: _flag,
            value,
            waker,
            mut join,
        } = waiting(true);
        let abort = Calm::new(join.abort_handle());
        let thread = thread::spawn(move || abort.abort());
        waker.wake_by_ref();
        line.run_one_to_end();
        thread.join().unwrap();
        drop(waker);
        assert!(output(&mut join).unwrap_err().is_cancelled());
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

#[test]
fn an_abort_meets_each_state() {
    aborted_while_it_ends();
    aborted_while_it_waits();
}

/// Yields until it is stopped.
struct Yields {
    left: Cell<u32>,
    value: Option<Witness<()>>,
}

impl Future for Yields {
    type Output = Witness<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.left.get() == 0 {
            return Poll::Ready(self.value.take().unwrap());
        }
        self.left.set(self.left.get() - 1);
        blitz_io_runtime::kernel::task::model::yield_now(context);
        Poll::Pending
    }
}

/// A task that yields is woken and aborted at the same time, and run by two threads.
fn yields(abort: bool) {
    model(3, move || {
        let line = Line::new(true);
        let value = Witness::new(());
        let mut join = line.spawn(Yields {
            left: Cell::new(2),
            value: Some(value.clone()),
        });
        let token = line.take().unwrap();
        assert!(!line.run(token));
        let (handle, other) = (Calm::new(join.abort_handle()), line.clone());
        let thread = thread::spawn(move || {
            if abort {
                handle.abort();
            }
            drop(handle);
            other.take().is_some_and(|token| other.run(token))
        });
        let mut ended = line.take().is_some_and(|token| line.run(token));
        ended |= thread.join().unwrap();
        if !ended {
            line.run_one_to_end();
        }
        assert!(line.take().is_none(), "a token too many");
        match output(&mut join) {
            Ok(value) => drop(value),
            Err(error) => assert!(abort && error.is_cancelled()),
        }
        assert_eq!(Witness::strong_count(&value), 1);
        line.drain();
    });
}

#[test]
fn a_yielding_task_goes_on_elsewhere() {
    yields(false);
    yields(true);
}

/// The join handle is dropped while the task ends.
fn join_dropped(polled: bool) {
    model(3, move || {
        let line = Line::new(true);
        let value = Witness::new(());
        let gives = value.clone();
        let mut join = line.spawn(async move { gives });
        let (bell, waker) = Bell::new();
        if polled {
            assert!(poll(&mut join, &waker).is_pending());
        }
        let thread = thread::spawn(move || drop(join));
        line.run_one_to_end();
        thread.join().unwrap();
        assert_eq!(Witness::strong_count(&value), 1);
        drop(waker);
        assert_eq!(Witness::strong_count(&bell), 1);
    });
}

#[test]
fn a_join_handle_is_dropped_at_the_end() {
    join_dropped(false);
    join_dropped(true);
}

/// The join handle waits for the end, with one waker after the other.
fn joined(wakers: usize) {
    model(3, move || {
        let line = Line::new(true);
        let value = Witness::new(());
        let gives = value.clone();
        let mut join = line.spawn(async move { gives });
        let thread = thread::spawn(move || {
            let mut bells = Vec::new();
            for _ in 0..wakers {
                let (bell, waker) = Bell::new();
                bells.push(bell);
                if let Poll::Ready(output) = poll(&mut join, &waker) {
                    drop(output.unwrap());
                    return bells;
                }
                if wakers == 1 {
                    continue;
                }
                // The same again changes nothing.
                if let Poll::Ready(output) = poll(&mut join, &waker) {
                    drop(output.unwrap());
                    return bells;
                }
            }
            bells.last().unwrap().wait();
            drop(output(&mut join).unwrap());
            bells
        });
        line.run_one_to_end();
        for bell in thread.join().unwrap() {
            assert_eq!(Witness::strong_count(&bell), 1);
            assert!(bell.count.load(Ordering::Relaxed) <= 1);
        }
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

#[test]
fn the_join_handle_hears_of_the_end() {
    joined(1);
}

#[test]
fn the_join_handle_changes_its_waker() {
    joined(2);
}

/// The last two to know a task leave it.
fn freed_by_the_last() {
    model(3, || {
        let Setting {
            line,
            flag,
            value,
            waker,
            join,
        } = waiting(true);
        drop(join);
        flag.store(true, Ordering::Relaxed);
        waker.wake_by_ref();
        let thread = thread::spawn(move || drop(waker));
        line.run_one_to_end();
        thread.join().unwrap();
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

#[test]
fn the_last_one_frees_the_task() {
    freed_by_the_last();
}

/// A waker by value has the last reference besides those of a task that it makes end.
fn woken_to_its_end() {
    model(3, || {
        let Setting {
            line,
            flag,
            waker,
            join,
            value: _value,
        } = waiting(true);
        drop(join);
        flag.store(true, Ordering::Relaxed);
        let thread = thread::spawn(move || Calm::into_inner(waker).wake());
        line.run_one_to_end();
        thread.join().unwrap();
    });
}

#[test]
fn a_waker_by_value_does_not_use_the_task_afterwards() {
    woken_to_its_end();
}

/// The runtime ends while a task is woken, and another one is spawned.
fn closed(spawns: bool, own: bool) {
    model(2, move || {
        let Setting {
            line,
            flag,
            value,
            waker,
            mut join,
        } = waiting(own);
        let (other, gives) = (line.clone(), value.clone());
        let thread = thread::spawn(move || {
            if spawns {
                drop(other.spawn(async move { gives }));
            } else {
                drop(gives);
            }
            flag.store(true, Ordering::Relaxed);
            Calm::into_inner(waker).wake();
        });
        line.close();
        line.run_queued();
        thread.join().unwrap();
        while !line.owned().is_empty() {
            line.run_one_to_end();
        }
        assert!(line.take().is_none(), "a token too many");
        match output(&mut join) {
            Ok(value) => drop(value),
            Err(error) => assert!(error.is_cancelled()),
        }
        assert_eq!(Witness::strong_count(&value), 1);
    });
}

#[test]
fn the_runtime_ends() {
    for own in [false, true] {
        closed(false, own);
        closed(true, own);
    }
}

/// The runtime ends while a task ends on another thread.
fn closed_at_the_end(own: bool) {
    model(3, move || {
        let Setting {
            line,
            flag,
            value,
            waker,
            join,
        } = waiting(own);
        flag.store(true, Ordering::Relaxed);
        Calm::into_inner(waker).wake();
        let other = line.clone();
        let thread = thread::spawn(move || {
            other.run_one_to_end();
        });
        drop(join);
        line.close();
        thread.join().unwrap();
        assert!(line.owned().is_empty());
        assert_eq!(Witness::strong_count(&value), 1);
        if own {
            line.drain();
        }
    });
}

#[test]
fn the_runtime_ends_when_a_task_does() {
    closed_at_the_end(false);
    closed_at_the_end(true);
}

/// Tasks of the owner's list end on two threads, while it takes in another one.
fn departed() {
    model(3, || {
        let line = Line::new(true);
        let value = Witness::new(());
        for _ in 0..2 {
            let gives = value.clone();
            drop(line.spawn(async move { gives }));
        }
        let (token, other) = (line.take().unwrap(), line.clone());
        let thread = thread::spawn(move || other.run(token));
        let gives = value.clone();
        drop(line.spawn(async move { gives }));
        line.run_one_to_end();
        line.drain();
        line.run_one_to_end();
        assert!(thread.join().unwrap());
        all_gone(&line, &value);
    });
}

#[test]
fn tasks_of_the_owner_end_elsewhere() {
    departed();
}
