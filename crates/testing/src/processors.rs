//! Selects the processors that a test runs on.

/// Binds this thread, and those that it will start, to the first processor that it may use.
/// Returns whether that is possible on this system.
pub fn bind_to_first_processor() -> bool {
    let allowed = core_affinity::get_core_ids().unwrap_or_default();
    (allowed.into_iter().next()).is_some_and(core_affinity::set_for_current)
}
