//! The same names without the feature `inspect`: empty types that do nothing.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::{Filled, ScopeChild};
use crate::Kind;
use crate::decisions::{IS_DECIDED, Numbered};

/// See `block.rs`.
pub const NAMES: usize = 0;

/// Does nothing.
#[inline(always)]
pub fn cache_time() {}

/// Does nothing.
#[inline(always)]
pub fn cache_time_after_sleep() {}

/// Does nothing.
#[inline(always)]
pub fn ends_with<T>(_task: Option<u64>) {}

/// Does nothing.
#[inline(always)]
pub fn forget_time() {}

/// Does nothing.
#[inline(always)]
pub fn runs_tasks() {}

/// Does nothing.
#[inline(always)]
pub fn serves_process() {}

/// See `origin.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Origin;

impl Origin {
    /// The empty origin.
    pub const UNKNOWN: Self = Self;

    /// Returns the empty origin.
    #[inline(always)]
    #[must_use]
    pub fn of_object() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn did(self, _kind: Kind, _at: Caller, _text: impl FnOnce() -> String) {}
}

/// See `acquirer.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Acquirer;

impl Acquirer {
    /// Returns the empty value.
    #[inline(always)]
    #[must_use]
    pub fn current() -> Self {
        Self
    }

    /// Returns the empty value.
    #[inline(always)]
    #[must_use]
    pub fn at_once() -> Self {
        Self
    }

    /// Returns the empty value.
    #[inline(always)]
    #[must_use]
    pub fn polled_with(_waker: &Waker) -> Self {
        Self
    }

    /// Returns a future that is ready at once.
    #[inline(always)]
    #[must_use]
    pub fn of_poll() -> OfPoll {
        OfPoll
    }
}

/// See `acquirer.rs`.
#[derive(Debug)]
pub struct OfPoll;

impl Future for OfPoll {
    type Output = Acquirer;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Acquirer> {
        Poll::Ready(Acquirer)
    }
}

/// See `block.rs`.
#[derive(Debug, Default)]
pub struct Object {
    /// Its number in a simulation.
    number: Numbered,
}

impl Object {
    /// Creates the empty object.
    #[inline(always)]
    #[allow(clippy::new_without_default, reason = "it is derived")]
    pub const fn new() -> Self {
        Self {
            number: Numbered::new(),
        }
    }

    /// The current task makes the object, for a simulation.
    #[inline(always)]
    pub fn is_made(&self) {
        self.number.made();
    }

    /// The current task begins an operation on the object, for a simulation.
    #[inline(always)]
    pub fn touch(&self, _kind: Kind) {
        self.number.touch();
    }

    /// The current task begins an operation on the object, for a simulation.
    #[inline(always)]
    pub fn touch_part(&self) {
        self.number.touch();
    }

    /// Does nothing.
    #[inline(always)]
    pub fn did(&self, _kind: Kind, _text: impl FnOnce() -> String) {}

    /// Does nothing.
    #[inline(always)]
    pub fn made_here(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_movable(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_by(&self, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_movable_by(&self, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn permits_acquired(&self, _by: Acquirer, _may_move: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn permits_released(&self, _may_move: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_shared_by(&self, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_by_holder_of(&self, _other: &Self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_beside_readers(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn locked(&self, _kind: Kind, _made_at: Caller, _caller: Caller, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn permits_taken(&self, _count: usize, _caller: Caller, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn permits_returned(&self, _count: usize) {}

    /// Does nothing.
    #[inline(always)]
    pub fn created_at(&self, _made_at: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn taken_at(&self, _caller: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn locked_at_once(&self, _kind: Kind, _made_at: Caller, _caller: Caller, _by: Acquirer) {}

    /// Does nothing.
    #[inline(always)]
    pub fn forgot_permits(&self, _count: usize, _kind: Kind, _made_at: Caller, _caller: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn added_permits(&self, _count: usize, _kind: Kind, _made_at: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn took_permits(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn sent(&self, _made_at: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn released(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_shared(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn released_shared(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_shared_movable(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_shared_by_task(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn handed_over(&self, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn hand_over_ended(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn released_by_any(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn downgraded(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn set_members(&self, _tasks: [u64; NAMES], _more: usize) {}

    /// Does nothing.
    ///
    /// # Safety
    ///
    /// See `block.rs`.
    #[inline(always)]
    pub unsafe fn used_by_sender(&self) {}

    /// Does nothing.
    ///
    /// # Safety
    ///
    /// See `block.rs`.
    #[inline(always)]
    pub unsafe fn used_by_receiver(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn set_name(&self, _name: &'static str) {}

    /// Does nothing.
    #[inline(always)]
    pub fn set_parties(&self, _parties: usize) {}

    /// Does nothing.
    ///
    /// # Safety
    ///
    /// See `block.rs`.
    #[inline(always)]
    pub unsafe fn set_fill<C: Filled>(&self, _channel: *const C) {}

    /// Does nothing.
    ///
    /// # Safety
    ///
    /// See `block.rs`.
    #[inline(always)]
    pub unsafe fn clear_fill(&self) {}
}

/// See `wait.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Caller;

impl Caller {
    /// Returns the empty location.
    #[inline(always)]
    pub const fn here() -> Self {
        Self
    }

    /// Returns the empty location.
    #[inline(always)]
    pub(crate) fn of_call() -> Self {
        Self
    }

    /// Returns the empty location.
    pub const UNKNOWN: Self = Self;

    /// Does nothing.
    #[inline(always)]
    #[must_use]
    pub fn calls(self) -> Calls {
        Calls
    }
}

/// See `caller.rs`.
#[derive(Debug)]
pub struct Calls;

/// See `beginner.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Beginner;

impl Beginner {
    /// Returns the empty value.
    #[inline(always)]
    #[must_use]
    pub fn current() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    #[must_use]
    pub fn acts(self) -> Acting {
        Acting
    }
}

/// See `beginner.rs`.
#[derive(Debug)]
pub struct Acting;

/// See `wait.rs`.
#[derive(Clone, Copy)]
pub struct WaitKind;

impl WaitKind {
    /// Returns the empty kind.
    #[inline(always)]
    pub const fn new(_kind: Kind) -> Self {
        Self
    }
}

/// See `descriptor.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor;

impl Descriptor {
    /// Returns the empty descriptor.
    #[inline(always)]
    #[must_use]
    pub const fn new(_number: i32) -> Self {
        Self
    }

    /// Returns the empty descriptor.
    #[inline(always)]
    #[must_use]
    pub const fn simulated(_number: u64) -> Self {
        Self
    }

    /// The empty descriptor.
    pub const NONE: Self = Self;
}

/// See `about.rs`.
#[derive(Debug)]
pub struct About;

impl About {
    /// The empty description.
    pub const NONE: Self = Self;

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn of(_describe: impl FnOnce() -> Self) -> Self {
        Self
    }

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn closure(_name: Option<&str>) -> Self {
        Self
    }

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn operation(_what: &'static str) -> Self {
        Self
    }

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn text(_what: &'static str, _name: &str) -> Self {
        Self
    }

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn path(_what: &'static str, _path: &Path) -> Self {
        Self
    }

    /// Returns the empty description.
    #[inline(always)]
    #[must_use]
    pub fn descriptor(_what: &'static str, _descriptor: i32) -> Self {
        Self
    }
}

/// See `root.rs`.
#[derive(Debug)]
pub struct Root;

impl Root {
    /// Returns the future.
    #[inline(always)]
    pub fn blocking<F>(future: F, _caller: Caller) -> F {
        future
    }
}

/// See `kept.rs`.
#[derive(Debug, Default)]
pub struct Kept;

impl Kept {
    /// Creates the empty place.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Keeps nothing.
    #[inline(always)]
    pub fn keep(&self, _registration: impl Sized) {}
}

/// See `wait.rs`.
#[derive(Debug)]
pub struct Wait;

impl Wait {
    /// Creates the empty wait.
    #[inline(always)]
    pub const fn new(_caller: Caller) -> Self {
        Self
    }

    /// Returns `false`.
    #[inline(always)]
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        false
    }

    /// Does nothing.
    #[inline(always)]
    pub fn begin(&mut self, _kind: WaitKind, _object: &Object, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_with(&mut self, _kind: WaitKind, _number: u64, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_awaited(&mut self, _: WaitKind, _number: u64, _caller: Caller, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_made(&mut self, _kind: WaitKind, _origin: Origin, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_made_awaited(&mut self, _: WaitKind, _: Origin, _: Caller, _: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_until(&mut self, _kind: WaitKind, _deadline: Instant, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_polled(&mut self, _kind: WaitKind, _of: Descriptor, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_called(&mut self, _kind: WaitKind, _object: &Object, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_ready(&mut self, _kind: WaitKind, _of: Descriptor, _waker: &Waker) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_blocking(&mut self, _kind: WaitKind, _object: &Object, _is_timed: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn begin_blocking_with(&mut self, _kind: WaitKind, _number: u64, _is_timed: bool) {}

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn note<T>(
        &mut self,
        _kind: WaitKind,
        _object: &Object,
        _waker: &Waker,
        polled: Poll<T>,
    ) -> Poll<T> {
        polled
    }

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn at_point<T>(&mut self, polled: Poll<T>, _kind: WaitKind, _object: &Object) -> Poll<T> {
        polled
    }

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn at_point_called<T>(
        &mut self,
        polled: Poll<T>,
        _: WaitKind,
        _object: &Object,
    ) -> Poll<T> {
        polled
    }

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn at_point_awaited<T>(
        &mut self,
        polled: Poll<T>,
        _kind: WaitKind,
        _number: u64,
        _caller: Caller,
    ) -> Poll<T> {
        polled
    }

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn at_point_made_awaited<T>(
        &mut self,
        polled: Poll<T>,
        _kind: WaitKind,
        _origin: Origin,
        _caller: Caller,
    ) -> Poll<T> {
        polled
    }

    /// Returns the result of the poll.
    #[inline(always)]
    pub fn at_point_made<T>(&mut self, polled: Poll<T>, _: WaitKind, _origin: Origin) -> Poll<T> {
        polled
    }

    /// Does nothing.
    #[inline(always)]
    pub fn cancel_point(&mut self) {}

    /// Returns the empty location.
    #[inline(always)]
    pub fn caller(&self) -> Caller {
        Caller
    }

    /// Does nothing.
    #[inline(always)]
    pub fn end(&mut self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn cancel(&mut self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn future_dropped(&mut self) {}
}

/// See `scope.rs`.
#[derive(Debug)]
pub struct Members {
    object: Object,
}

impl Members {
    /// Creates the empty list.
    #[inline(always)]
    #[must_use]
    pub const fn new(_lends: bool) -> Self {
        Self {
            object: Object::new(),
        }
    }

    /// Returns an empty object.
    #[inline(always)]
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Does nothing.
    #[inline(always)]
    pub fn awaited(&self) {}

    /// Returns 0.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "it is no addition")]
    pub fn add(&self) -> u64 {
        0
    }

    /// Does nothing.
    #[inline(always)]
    pub fn started(&self, _key: u64, _task: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn add_as(&self, _key: u64, _task: Option<u64>) {}

    /// Does nothing.
    #[inline(always)]
    pub fn aborted(&self, _why: trace::Abort, _at: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn remove(&self, _key: u64) {}
}

/// See `scope.rs`.
#[derive(Debug, Default)]
pub struct OfScope;

impl OfScope {
    /// Creates the empty field.
    #[inline(always)]
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn belongs_to(&self, _scope: &Members) {}

    /// Does nothing.
    #[inline(always)]
    pub fn add_handle(&self) {}

    /// Does nothing.
    #[inline(always)]
    pub fn remove_handle(&self) {}
}

/// See `child.rs`.
#[derive(Debug)]
pub struct ChildState;

impl ChildState {
    /// Creates the empty field.
    #[inline(always)]
    #[must_use]
    pub fn new(_id: u64, _scope: &Members) -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn set_polled(&self, _is_polled: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn woken(&self, _is_ready: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn handle_dropped(&self) {}
}

/// See `child.rs`.
#[derive(Debug)]
pub struct ChildRecord;

impl ChildRecord {
    /// Returns the empty record.
    #[inline(always)]
    #[must_use]
    pub fn new<C: ScopeChild>(_id: u64, _caller: Caller) -> Self {
        Self
    }

    /// Does nothing.
    ///
    /// # Safety
    ///
    /// See `child.rs`.
    #[inline(always)]
    pub unsafe fn enter(&self, _waker: &Waker) -> Entered {
        Entered
    }
}

/// See `current.rs`.
#[derive(Debug)]
pub struct Entered;

/// See `wait.rs`.
pub struct Blocking;

impl Blocking {
    /// Does nothing.
    #[inline(always)]
    pub fn new(_kind: Kind, _object: &Object, _caller: Caller, _is_timed: bool) -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub fn without_object(_kind: Kind, _caller: Caller, _is_timed: bool) -> Self {
        Self
    }
}

/// See `own.rs`.
#[derive(Debug)]
pub struct OwnPrimitive;

impl OwnPrimitive {
    /// Creates the empty value.
    #[inline(always)]
    #[must_use]
    pub const fn new(_kind: Kind, _made_at: Caller) -> Self {
        Self
    }

    /// Does nothing.
    #[inline(always)]
    pub const fn set_name(&mut self, _name: &'static str) {}

    /// Does nothing.
    #[inline(always)]
    #[must_use]
    pub fn block(&self, _caller: Caller, _is_timed: bool) -> Blocking {
        Blocking
    }

    /// Does nothing.
    #[inline(always)]
    pub fn acquired(&self, _caller: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn acquired_movable(&self, _caller: Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn released(&self) {}
}

/// See `wait.rs`.
pub struct Sleeping;

/// Records nothing.
#[inline(always)]
pub fn sleeping<T>(_word: &T) -> Sleeping {
    crate::decisions::help();
    Sleeping
}

/// See `trace/mod.rs`.
pub mod trace {
    use std::borrow::Cow;
    use std::future::Future;
    use std::panic::Location;
    use std::time::Duration;

    /// See `points.rs`.
    #[derive(Clone, Copy, Debug)]
    pub enum Source {
        /// A timer is due.
        Timer,
        /// A source of the operating system is ready.
        System,
    }

    /// See `points.rs`.
    #[derive(Clone, Copy, Debug)]
    pub enum Abort {
        /// The program has called `abort`.
        Called,
        /// Its `JoinSet` is dropped.
        SetDropped,
        /// Its `JoinSet` is shut down.
        SetShutDown,
        /// The scope of which it is a child has ended.
        ScopeEnded,
        /// That scope has failed.
        ScopeFailed,
        /// That scope is dropped.
        ScopeDropped,
    }

    /// Does nothing.
    #[inline(always)]
    pub fn aborted(_id: u64, _why: Abort, _at: super::Caller) {}

    /// See `points.rs`.
    pub struct Waking;

    impl Waking {
        /// Does nothing.
        #[inline(always)]
        #[must_use]
        pub fn new(_source: Source) -> Self {
            Self
        }
    }

    /// Does nothing.
    #[inline(always)]
    pub fn woken(_id: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn yielded(_at: super::Caller) {}

    /// Does nothing.
    #[inline(always)]
    pub fn spawned(_id: u64, _at: &'static Location<'static>, _is_job: bool) {}

    /// Does nothing.
    #[inline(always)]
    pub fn ended(_id: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn advanced(_by: Duration) {}

    /// See `rings.rs`.
    pub struct LargeRing;

    impl LargeRing {
        /// Does nothing.
        #[inline(always)]
        #[must_use]
        pub fn enter(_events: usize) -> Self {
            Self
        }
    }

    /// Does nothing.
    #[inline(always)]
    pub fn noted(_task: u64, _number: u64, _of: Option<crate::Kind>) {}

    /// Does nothing.
    #[inline(always)]
    pub fn wakes_because(_number: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn job_queued(_job: usize) {}

    /// See `jobs.rs`.
    pub struct RunsJob;

    impl RunsJob {
        /// Does nothing.
        #[inline(always)]
        pub fn new(_job: usize) -> Self {
            Self
        }
    }

    /// See `jobs.rs`.
    pub struct AwaitsJob;

    impl AwaitsJob {
        /// Does nothing.
        #[inline(always)]
        pub fn new(_job: usize) -> Self {
            Self
        }
    }

    /// Does nothing.
    #[inline(always)]
    pub fn sent(_segment: impl FnOnce() -> u64, _position: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn received(_segment: impl FnOnce() -> u64, _position: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn awaits_processes<P: Iterator<Item = u32>>(_about: impl FnOnce() -> (u64, P)) {}

    /// A request, which ends when this is dropped. Without the feature `inspect` it has no effect.
    #[derive(Debug)]
    pub struct Request;

    /// Does nothing.
    #[inline(always)]
    pub fn request<'a>(_name: impl Into<Cow<'a, str>>) -> Request {
        Request
    }

    impl Request {
        /// Returns the future, which with the feature `inspect` works for this request.
        #[inline(always)]
        pub fn instrument<F: Future>(self, future: F) -> Instrumented<F> {
            future
        }

        /// Returns the request.
        #[doc(hidden)]
        #[inline(always)]
        #[must_use]
        pub fn detached(self) -> Self {
            self
        }

        /// Does nothing.
        #[inline(always)]
        pub fn enter(&self) {}

        /// Does nothing.
        #[inline(always)]
        pub fn leave(&self) {}

        /// Returns `false`.
        #[inline(always)]
        #[must_use]
        pub fn is_recorded(&self) -> bool {
            false
        }
    }

    /// A future that works for a request. Without the feature `inspect` it is the future that was given.
    pub type Instrumented<F> = F;
}

/// A field of these types changes no other type's size, alignment or need of a destructor.
const _: () = {
    use std::mem::{align_of, needs_drop, size_of};

    macro_rules! is_nothing {
        ($($name:ty)*) => {
            $(assert!(size_of::<$name>() == 0 && align_of::<$name>() == 1 && !needs_drop::<$name>());)*
        };
    }
    if !IS_DECIDED {
        is_nothing!(Object Members);
    }
    is_nothing!(Acquirer OfPoll OfScope ChildState ChildRecord Entered About Origin OwnPrimitive Caller WaitKind Descriptor Kept Wait Blocking Sleeping trace::Waking trace::RunsJob
        trace::AwaitsJob);
};
