//! Deliberate mistakes for the model checker: see `blitz_sync::mutant`.

blitz_sync::mutants! {
    /// A child is linked without a look at whether its parent is cancelled.
    LinksBlindly,
    /// Cancelling a root looks for a family before it says so, not with the step
    /// that says so.
    LooksForFamilyFirst,
    /// Nothing adopts the children of a node that goes away.
    LeavesChildrenBehind,
    /// A waiter does not say so.
    WaitsSilently,
    /// A waiter does not look again before it joins the queue.
    WaitsBlindly,
}
