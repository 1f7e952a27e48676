//! Deliberate mistakes in the driver: see `mutants!` of `blitz-io-core`.

blitz_io_core::mutants! {
    /// A clear does not check whether another event followed the event that it names.
    ClearsBlindly,
    /// An event of a source that was removed is reported to the next one.
    IgnoresGeneration,
    /// A waiter does not check the word again once it is in the queue.
    JoinsBlindly,
    /// A shutdown changes the word and wakes no waiter.
    ShutsDownSilently,
    /// A waiter that is dropped loses the event of another one: an event wakes only one
    /// waiter.
    WakesOne,
    /// A thread that polls keeps a wake-up, or the timer's event, that is the owner's.
    KeepsWakeUp,
    /// A registration does not check whether the owner sleeps on the word.
    RegistersSilently,
    /// The owner goes to sleep on the word without checking for registrations again.
    SleepsBlindly,
    /// A timer whose event has been taken counts as set.
    StaysDue,
    /// A completion publishes `DONE` before it stores its result.
    PublishesFirst,
    /// A future that stores its waker does not check whether the operation has just
    /// completed.
    WaitsBlindly,
    /// A future that is polled with another waker keeps its old waker.
    KeepsOldWaker,
    /// A future that is dropped frees its buffer, which the kernel still uses.
    FreesWithFuture,
    /// A request to cancel has no reference to the operation that it names.
    CancelsWithoutReference,
}
