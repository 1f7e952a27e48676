//! Mistakes that the models of this scheduler must find.

blitz_sync::mutants! {
    /// Who puts the core back has looked before whether somebody waits for it.
    LooksBeforePuttingBack,
}
