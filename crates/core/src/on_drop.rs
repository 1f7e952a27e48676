//! A guard that calls a closure at the end of a scope, also after a panic.

/// Calls its closure when it is dropped. A scope that needs the call only after a panic forgets
/// the guard.
#[must_use = "it is dropped at once"]
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    // Inlined, so that the closure's captures need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        (self.0)();
    }
}
