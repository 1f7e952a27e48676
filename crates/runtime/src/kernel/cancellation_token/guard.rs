//! Guards that cancel a token when they are dropped.

use blitz_io_observe::Caller;

use super::CancellationToken;

/// Cancels its token when it is dropped: see [`CancellationToken::drop_guard`].
#[derive(Debug)]
#[must_use = "the token is cancelled at once"]
pub struct DropGuard {
    // Tokio's name, which `Debug` shows. `None` once it is disarmed.
    pub(super) inner: Option<CancellationToken>,
}

/// Cancels a token that it borrows when it is dropped: see
/// [`CancellationToken::drop_guard_ref`].
#[derive(Debug)]
#[must_use = "the token is cancelled at once"]
pub struct DropGuardRef<'a> {
    pub(super) inner: Option<&'a CancellationToken>,
}

const DISARMED: &str = "a guard that is disarmed is gone";

impl DropGuard {
    /// Returns the token that will be cancelled.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let guard = CancellationToken::new().drop_guard();
    /// assert!(!guard.token().is_cancelled());
    /// ```
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        self.inner.as_ref().expect(DISARMED)
    }

    /// Returns the token, and does not cancel it.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let guard = CancellationToken::new().drop_guard();
    /// let token = guard.disarm();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn disarm(mut self) -> CancellationToken {
        self.inner.take().expect(DISARMED)
    }
}

impl<'a> DropGuardRef<'a> {
    /// Returns the token that will be cancelled.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        self.inner.expect(DISARMED)
    }

    /// Returns the token, and does not cancel it.
    ///
    /// ```
    /// use blitz_io::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// token.drop_guard_ref().disarm();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn disarm(mut self) -> &'a CancellationToken {
        self.inner.take().expect(DISARMED)
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.inner {
            token.cancel_at(Caller::UNKNOWN);
        }
    }
}

impl Drop for DropGuardRef<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.inner {
            token.cancel_at(Caller::UNKNOWN);
        }
    }
}
