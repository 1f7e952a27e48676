//! What has to be done at the end of a scope, also when it ends with a panic.

/// Calls its closure when it is dropped. A scope that needs that after a panic only forgets it.
#[must_use = "it is dropped at once"]
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    // Inlined, so that what the closure has need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        (self.0)();
    }
}
