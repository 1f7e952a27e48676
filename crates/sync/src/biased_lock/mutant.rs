//! Deliberate mistakes with the biased lock, for the model checker.

crate::mutants! {
    /// The owner enters without announcing it.
    OwnerDoesNotAnnounce,
    /// A remote thread does not make the owner pass a fence.
    RemoteDoesNotFence,
    /// A remote thread does not check whether the owner is inside.
    RemoteIgnoresOwner,
    /// The owner sleeps without changing the remote byte.
    OwnerSleepsUnannounced,
}
