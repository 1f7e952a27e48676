//! The state of the model checker, for the code under test.

/// Returns `true` if this thread unwinds because a model has failed. Then nothing may use the
/// model checker, or the objects that the model leaves behind. Without it, returns `false`.
#[inline(always)]
pub(crate) fn model_has_failed() -> bool {
    cfg!(loom) && std::thread::panicking()
}
