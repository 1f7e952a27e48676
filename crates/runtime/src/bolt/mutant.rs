//! Deliberate mistakes with the bolt, for the model checker.

blitz_sync::mutants! {
    /// The owner goes inside without saying that it is busy.
    OwnsUnbolted,
    /// A guest does not make the owner pass a fence.
    ComesWithoutFence,
    /// A guest does not look whether the owner is busy.
    DisturbsTheBusy,
}
