//! Deliberate mistakes in the driver: see `mutants!` of `blitz-sync`.

blitz_sync::mutants! {
    /// A clear does not check whether there was an event after the one it knows.
    ClearsBlindly,
    /// An event wakes before it changes the word.
    WakesFirst,
    /// A waiter does not check the word again once it is in the queue.
    JoinsBlindly,
    /// A shutdown changes the word and wakes no waiter.
    ShutsDownSilently,
    /// A waiter that is dropped loses the event of another one: an event wakes only one
    /// waiter.
    WakesOne,
    /// The owner announces that it parks before it has the right to poll.
    ParksBeforeItPolls,
    /// A registration does not check whether the owner sleeps on the word.
    RegistersSilently,
    /// The owner goes to sleep on the word without checking for registrations again.
    SleepsBlindly,
    /// An unpark by a deadline leaves to the timer an owner that does not poll.
    TimesBlindly,
    /// A timer whose event has been taken counts as set.
    StaysDue,
    /// A source is released as soon as it is deregistered.
    ReleasesAtOnce,
    /// A completion announces itself before its result is there.
    PublishesFirst,
    /// A future that stores its waker does not check whether the completion came meanwhile.
    WaitsBlindly,
    /// A future that is polled with another waker keeps the one it had.
    KeepsOldWaker,
    /// A future that is dropped frees its buffer, which the kernel still uses.
    FreesWithFuture,
    /// A request to cancel has no reference to the operation that it names.
    CancelsWithoutReference,
}
