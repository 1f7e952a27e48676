//! Deliberate mistakes in the channels of many senders and many receivers.

blitz_sync::mutants! {
    /// A waiter joins its list without looking once more under the same lock.
    JoinsBlindly,
    /// A dropped `Recv` forgets the value that had been handed to it.
    ForgetsHandedValue,
    /// Taking a value from a full buffer does not let a waiting sender in.
    LetsNobodyIn,
    /// Closing forgets the senders that wait.
    CloseForgetsSenders,
    /// Closing forgets the receivers that wait.
    CloseForgetsReceivers,
    /// `Select`: a step that finds a waiting selection takes it without asking whether
    /// another channel has it already.
    SelectTakenTwice,
    /// `Select`: others may take the value that was set aside for a selection.
    SelectKeepsNothing,
    /// `Select`: joins the lists without looking at the other side again.
    SelectJoinsBlindly,
    /// `Select`: a time-out does not ask whether a channel was quicker.
    SelectTimesOutBlindly,
    /// `Select`: a broken promise forgets the receiver that stayed only for it.
    KeepsOverdue,
    /// A selection that must not block gives up without joining the lists.
    GivesUpUnregistered,
}
