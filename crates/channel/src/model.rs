//! What the code under test has to know of the model checker.

/// Whether this thread unwinds because a model has failed: the model checker is not to be used
/// any more then, and what the model leaves behind may not be touched. Outside of it, never.
#[inline(always)]
pub(crate) fn model_has_failed() -> bool {
    cfg!(loom) && std::thread::panicking()
}
