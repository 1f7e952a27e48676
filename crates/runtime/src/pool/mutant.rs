//! Mistakes that the models of the pool must find.

blitz_io_core::mutants! {
    /// A thread whose time is up leaves although it has been chosen for a job.
    ExpiredLeavesBlindly,
    /// A thread that has found nothing goes to sleep without a last look.
    SleepsWithoutLook,
    /// A submitter counts on a searching thread that an earlier job counts on already.
    CountsOnSearcherTwice,
    /// Closing the pool wakes no thread.
    ClosesSilently,
    /// The last thread of a closed pool does not say that it has left.
    LeavesSilently,
    /// A thread could not be started, and the job that counted on it is forgotten.
    ForgetsFailedStart,
}
