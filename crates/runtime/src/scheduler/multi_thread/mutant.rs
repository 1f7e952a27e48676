//! Deliberate mistakes in the scheduler, for the model checker.

blitz_io_core::mutants! {
    /// The ring takes one more than it has places for.
    PushesIntoFullRing,
    /// The ring's end is not published.
    PushesQuietly,
    /// A thread takes from the ring without looking whether another one was faster.
    TakesWithoutComparing,
    /// A reclaimer empties a slot that is empty.
    ReclaimsEmptySlot,
    /// A reclaimer leaves the batch as it was.
    ReclaimsWithoutTaking,
    /// A worker looks at the inject queue before it says that it sleeps.
    LooksFirst,
    /// A pusher looks at the sleepers without having published.
    NotifiesFirst,
    /// A wake-up wakes a worker even though another one searches already.
    WakesTooMany,
    /// A worker that gets up is not counted as searching.
    GetsUpUncounted,
    /// The last searcher that found work does not look after the rest.
    SearchesForItself,
    /// When as many are awake as there are processors, no worker becomes the monitor.
    NoMonitor,
    /// The monitor goes to work and passes its role on to no worker.
    MonitorLeaves,
    /// A task that is injected makes no worker the monitor.
    InjectsUnmonitored,
    /// A push leaves a dozing monitor alone.
    MonitorDozesOn,
    /// A thread that polls keeps a wake-up that is another worker's.
    KeepsWakeUp,
    /// The first source leaves all workers parked.
    UsesDriversSilently,
    /// A worker that takes one of several calls wakes no other for the rest.
    LeavesCalls,
    /// The end wakes only one.
    ClosesForOne,
}
