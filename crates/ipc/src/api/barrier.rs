use std::fmt;
#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

use blitz_io_observe as observe;
#[cfg(unix)]
use blitz_io_observe::Caller;

#[cfg(unix)]
use crate::api::awaited;
#[cfg(unix)]
use crate::api::doorbell::Doorbell;
use crate::api::endpoint::{Endpoint, Role};
use crate::api::error::{Error, WaitError};
use crate::api::kind::Kind;
use crate::api::primitive::{Primitive, PrimitiveBuilder};
use crate::kernel::protocol::barrier::{Arrival, MAX_PARTIES, Standing};
use crate::kernel::wait::{self, End, Wait, Waiter};

/// A point at which a number of processes meet, again and again.
///
/// If a process that takes part is killed, the barrier is *broken*. Current waits then
/// return [`WaitError::Broken`] within a twentieth of a second, and later ones at once. The
/// barrier stays broken until all participants have dropped it; the next participant that
/// opens it makes a new one. Dropping a participant does not break the barrier.
///
/// ```
/// use blitz_io::ipc::Barrier;
/// # if blitz_io::ipc::is_supported() {
/// # let name = &format!("phases-doc-{}", std::process::id());
/// # let _ = r#"
/// let name = "phases";
/// # "#;
/// let mut here = Barrier::open(name, 2)?;
/// let mut there = Barrier::open(name, 2)?; // in another process
/// # std::thread::scope(|scope| {
/// # scope.spawn(move ||
/// there.wait()
/// # );
/// let result = here.wait()?;
/// if result.is_leader() {
///     println!("the last one to arrive");
/// }
/// # Ok::<(), blitz_io::ipc::WaitError>(())
/// # })?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Barrier {
    endpoint: Endpoint,
    /// The generation of this participant's pending arrival. A forgotten future leaves its
    /// arrival here.
    arrived: Option<u64>,
}

impl Primitive for Barrier {
    const KIND: Kind = Kind::Barrier;
    const SETTING: &'static str = "parties";
    const MAX: usize = MAX_PARTIES;
}

/// The result of a wait at a [`Barrier`]: whether this arrival was the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns `true` for exactly one of the parties that met.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Waiter for Barrier {
    type End = Endpoint;
    type Output = BarrierWaitResult;
    type Error = WaitError;
    const KIND: observe::Kind = observe::Kind::IpcBarrier;

    #[inline]
    fn end(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    #[inline]
    fn attempt(&mut self) -> Result<Option<BarrierWaitResult>, WaitError> {
        let parties = self.endpoint.segment.parties();
        let standing = self.arrived.map(|generation| parties.standing(generation));
        match standing {
            Some(Standing::Closed) => Ok(None),
            Some(Standing::Broken) => Err(self.endpoint.ended(WaitError::Broken)),
            Some(Standing::Open) | None => Ok(Some(BarrierWaitResult(false))),
        }
    }
}

impl Barrier {
    /// Joins the barrier `name`, and makes it for `parties` parties if there is none.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::Mismatch`] if it is for a different number of parties.
    pub fn open(name: &str, parties: usize) -> Result<Self, Error> {
        Self::builder(parties).open(name)
    }

    /// Creates a builder for a barrier at which `parties` parties meet.
    pub fn builder(parties: usize) -> PrimitiveBuilder<Self> {
        PrimitiveBuilder::new(parties)
    }

    /// Blocks until all parties have arrived.
    ///
    /// # Errors
    ///
    /// [`WaitError::Broken`] if a participant has died; [`WaitError::Forked`] and
    /// [`WaitError::Corrupt`].
    #[track_caller]
    pub fn wait(&mut self) -> Result<BarrierWaitResult, WaitError> {
        self.meet(Wait::Forever)
    }

    /// Meets the other parties if all of them are waiting. Otherwise it returns `None` at
    /// once, and has not arrived.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Result<Option<BarrierWaitResult>, WaitError> {
        match self.meet(Wait::No) {
            Err(WaitError::TimedOut) => Ok(None),
            met => met.map(Some),
        }
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than `timeout`. A participant that
    /// gives up has not arrived.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<BarrierWaitResult, WaitError> {
        self.meet(Wait::after(timeout))
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than until `deadline`. A
    /// participant that gives up has not arrived.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    #[track_caller]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&mut self, deadline: Instant) -> Result<BarrierWaitResult, WaitError> {
        self.meet(Wait::Until(deadline))
    }

    /// Returns how many parties meet.
    pub fn parties(&self) -> usize {
        self.endpoint.segment.settings.entries()
    }

    #[track_caller]
    fn meet(&mut self, wait: Wait) -> Result<BarrierWaitResult, WaitError> {
        if !self.arrive()? {
            return Ok(BarrierWaitResult(true));
        }
        let waiting = Waiting(self);
        let result = wait::block(waiting.0, wait);
        waiting.end(result)
    }

    /// Waits until all have arrived; `readable` waits for the [`doorbell`](Self::doorbell),
    /// as for [`Receiver::recv_when`](crate::Receiver::recv_when).
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and [`WaitError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws its arrival, unless the barrier has already opened.
    #[cfg(unix)]
    #[track_caller]
    pub fn wait_when<F, R>(
        &mut self,
        readable: F,
    ) -> impl Future<Output = Result<BarrierWaitResult, WaitError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        async move {
            if !self.arrive()? {
                return Ok(BarrierWaitResult(true));
            }
            let waiting = Waiting(self);
            let result = awaited::when(waiting.0, readable, caller).await;
            waiting.end(result)
        }
    }

    /// Waits until all have arrived, in the runtime of blitz-io and without blocking it.
    /// See [`Receiver::recv_async`](crate::Receiver::recv_async).
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and [`WaitError::Io`].
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws its arrival, unless the barrier has already opened.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn wait_async(&mut self) -> impl Future<Output = Result<BarrierWaitResult, WaitError>> {
        let caller = Caller::here();
        async move {
            if !self.arrive()? {
                return Ok(BarrierWaitResult(true));
            }
            let waiting = Waiting(self);
            let result = awaited::in_runtime(waiting.0, caller).await;
            waiting.end(result)
        }
    }

    /// Returns the descriptor to wait on for the `…_when` form.
    ///
    /// # Errors
    ///
    /// Returns the system's error, for example when there are too many descriptors.
    #[cfg(unix)]
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell().cloned()
    }

    /// Arrives. Returns `false` if the arrival has opened the barrier.
    fn arrive(&mut self) -> Result<bool, WaitError> {
        self.endpoint.check::<WaitError>()?;
        self.withdraw();
        let arrival = self.endpoint.segment.parties().arrive();
        match self.endpoint.checked(arrival)? {
            Arrival::Broken => Err(self.endpoint.ended(WaitError::Broken)),
            Arrival::Last => {
                self.endpoint.segment.notify_entry();
                Ok(false)
            }
            Arrival::Early(generation) => {
                self.arrived = Some(generation);
                Ok(true)
            }
        }
    }

    /// Withdraws a pending arrival. Returns `true` if the barrier had opened before.
    fn withdraw(&mut self) -> bool {
        match self.arrived.take() {
            Some(generation) if !self.endpoint.is_forked() => {
                self.endpoint.segment.parties().withdraw(generation) == Standing::Open
            }
            _ => false,
        }
    }
}

/// Withdraws the arrival when a deadline or a drop ends the wait early.
struct Waiting<'a>(&'a mut Barrier);

impl Waiting<'_> {
    fn end(
        self,
        result: Result<BarrierWaitResult, WaitError>,
    ) -> Result<BarrierWaitResult, WaitError> {
        match result {
            Ok(result) => {
                self.0.arrived = None;
                Ok(result)
            }
            Err(WaitError::TimedOut | WaitError::Io(_)) if self.0.withdraw() => {
                Ok(BarrierWaitResult(false))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

impl PrimitiveBuilder<Barrier> {
    /// Joins the barrier `name`.
    ///
    /// # Errors
    ///
    /// As [`Barrier::open`].
    pub fn open(&self, name: &str) -> Result<Barrier, Error> {
        let endpoint = self.join(name, Role::Receiver)?;
        Ok(Barrier {
            endpoint,
            arrived: None,
        })
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier")
            .field("path", &self.endpoint.segment.path)
            .field("parties", &self.parties())
            .finish_non_exhaustive()
    }
}
