//! Deliberate mistakes for the model checker: see `blitz_io_core::mutant`.

blitz_io_core::mutants! {
    /// A child is linked without a look at whether its parent is cancelled.
    LinksBlindly,
    /// Cancelling a root looks for a family before the step that sets the flag, not with
    /// it.
    LooksForFamilyFirst,
    /// The children of a node that is freed are not adopted.
    LeavesChildrenBehind,
    /// A waiter does not set its flag.
    WaitsSilently,
    /// A waiter does not look again before it joins the queue.
    WaitsBlindly,
}
