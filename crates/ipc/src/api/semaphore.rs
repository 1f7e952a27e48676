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
use crate::kernel::wait::{self, Wait, Waiter};

/// A number of permits that processes share.
///
/// The permits of a process that is killed come back: a waiter finds it dead after a
/// twentieth of a second at the latest. With one permit, it is a lock that survives its
/// owner.
///
/// Waiters are not served in any particular order.
///
/// ```
/// use blitz_io::ipc::Semaphore;
/// # if blitz_io::ipc::is_supported() {
/// # let name = &format!("downloads-doc-{}", std::process::id());
/// # let _ = r#"
/// let name = "downloads";
/// # "#;
/// let mut downloads = Semaphore::open(name, 3)?; // three at a time, in all processes
/// let permit = downloads.acquire()?;
/// // Download.
/// drop(permit);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Semaphore {
    endpoint: Endpoint,
    /// The permit at which the next search begins: the last one that this participant held,
    /// which others are unlikely to have touched.
    first: usize,
}

impl Primitive for Semaphore {
    const KIND: Kind = Kind::Semaphore;
    const SETTING: &'static str = "permits";
    const MAX: usize = 1 << 16;
}

impl Waiter for Semaphore {
    type End = Endpoint;
    /// The acquired permit.
    type Output = usize;
    type Error = WaitError;
    const KIND: observe::Kind = observe::Kind::IpcSemaphore;

    #[inline]
    fn end(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    #[inline]
    fn attempt(&mut self) -> Result<Option<usize>, WaitError> {
        // Before the permit has an owner, so that no report names an earlier user.
        self.endpoint.registered.used();
        let permits = self.endpoint.segment.permits();
        let acquired = permits.try_acquire(self.endpoint.me, self.first);
        self.endpoint.checked(acquired)
    }
}

impl Semaphore {
    /// Joins the semaphore `name`, and makes it with `permits` permits if there is none.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::Mismatch`] if it has a different number of permits.
    pub fn open(name: &str, permits: usize) -> Result<Self, Error> {
        Self::builder(permits).open(name)
    }

    /// Creates a builder for a semaphore with `permits` permits.
    pub fn builder(permits: usize) -> PrimitiveBuilder<Self> {
        PrimitiveBuilder::new(permits)
    }

    /// Acquires a permit, blocking until one is free.
    ///
    /// # Errors
    ///
    /// [`WaitError::Forked`] and [`WaitError::Corrupt`].
    #[track_caller]
    pub fn acquire(&mut self) -> Result<Permit<'_>, WaitError> {
        self.acquire_waiting(Wait::Forever)
    }

    /// Acquires a permit if one is free. Under contention it may miss a permit that becomes
    /// free during the search.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire(&mut self) -> Result<Option<Permit<'_>>, WaitError> {
        match self.acquire_waiting(Wait::No) {
            Err(WaitError::TimedOut) => Ok(None),
            acquired => acquired.map(Some),
        }
    }

    /// Acquires as [`acquire`](Self::acquire) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_timeout(&mut self, timeout: Duration) -> Result<Permit<'_>, WaitError> {
        self.acquire_waiting(Wait::after(timeout))
    }

    /// Acquires as [`acquire`](Self::acquire) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`acquire`](Self::acquire).
    #[track_caller]
    #[doc(alias = "acquire_until")]
    pub fn acquire_deadline(&mut self, deadline: Instant) -> Result<Permit<'_>, WaitError> {
        self.acquire_waiting(Wait::Until(deadline))
    }

    /// Returns how many permits are free at the moment. The permits of a dead participant
    /// count as taken until another participant looks.
    pub fn available_permits(&self) -> usize {
        self.endpoint.segment.permits().free()
    }

    /// Returns how many permits there are.
    pub fn permits(&self) -> usize {
        self.endpoint.segment.settings.entries()
    }

    #[track_caller]
    fn acquire_waiting(&mut self, wait: Wait) -> Result<Permit<'_>, WaitError> {
        let acquired = wait::block(self, wait)?;
        Ok(Permit::new(self, acquired))
    }

    /// Acquires a permit when one is free; `readable` waits for the
    /// [`doorbell`](Self::doorbell), as for
    /// [`Receiver::recv_when`](crate::Receiver::recv_when).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`WaitError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has acquired nothing.
    #[cfg(unix)]
    #[track_caller]
    pub fn acquire_when<F, R>(
        &mut self,
        readable: F,
    ) -> impl Future<Output = Result<Permit<'_>, WaitError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        async move {
            let acquired = awaited::when(self, readable, caller).await?;
            Ok(Permit::new(self, acquired))
        }
    }

    /// Acquires a permit when one is free, waiting in the runtime of blitz-io without
    /// blocking it. See [`Receiver::recv_async`](crate::Receiver::recv_async).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`WaitError::Io`].
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has acquired nothing.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn acquire_async(&mut self) -> impl Future<Output = Result<Permit<'_>, WaitError>> {
        let caller = Caller::here();
        async move {
            let acquired = awaited::in_runtime(self, caller).await?;
            Ok(Permit::new(self, acquired))
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

    fn release(&mut self, permit: usize) {
        if self.endpoint.is_forked() {
            return;
        }
        let released = self
            .endpoint
            .segment
            .permits()
            .release(self.endpoint.me, permit);
        if self.endpoint.checked::<_, WaitError>(released).is_ok() {
            self.endpoint.segment.notify_entry();
        }
    }
}

impl PrimitiveBuilder<Semaphore> {
    /// Joins the semaphore `name`.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::open`].
    pub fn open(&self, name: &str) -> Result<Semaphore, Error> {
        let endpoint = self.join(name, Role::Receiver)?;
        let first = endpoint.me % endpoint.segment.settings.entries();
        Ok(Semaphore { endpoint, first })
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("path", &self.endpoint.segment.path)
            .field("permits", &self.permits())
            .finish_non_exhaustive()
    }
}

/// A permit of a [`Semaphore`], which is released when this is dropped.
///
/// A permit that is forgotten is released when its `Semaphore` is dropped.
#[must_use = "the permit is released when this is dropped"]
pub struct Permit<'a> {
    semaphore: &'a mut Semaphore,
    permit: usize,
}

impl<'a> Permit<'a> {
    fn new(semaphore: &'a mut Semaphore, permit: usize) -> Self {
        semaphore.first = permit;
        Self { semaphore, permit }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.semaphore.release(self.permit);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
