//! Deliberate mistakes in the driver. See `blitz_sync`'s `mutants!`.

blitz_sync::mutants! {
    /// A clear does not ask whether there was an event after the one it knows.
    ClearsBlindly,
    /// An event wakes before it changes the word.
    WakesFirst,
    /// A waiter does not look at the word again once it is in the queue.
    JoinsBlindly,
    /// A shutdown changes the word and wakes nobody.
    ShutsDownSilently,
    /// A waiter that is dropped takes the event of another with it: an event wakes one only.
    WakesOne,
    /// The owner says that it parks before it has the right to poll.
    ParksBeforeItPolls,
    /// A registration does not look whether the owner sleeps on the word.
    RegistersSilently,
    /// The owner goes to sleep on the word without looking for registrations again.
    SleepsBlindly,
    /// An unpark by a deadline leaves an owner to the timer that does not poll.
    TimesBlindly,
    /// A timer whose event has been taken counts as set.
    StaysDue,
    /// A source is let go as soon as it is deregistered.
    ReleasesAtOnce,
    /// A completion says that it is there before its result is.
    PublishesFirst,
    /// A future that leaves its waker does not look whether the completion came meanwhile.
    WaitsBlindly,
    /// A future that is polled with another waker keeps the one it had.
    KeepsOldWaker,
    /// A future that is dropped frees its buffer, which the kernel has.
    FreesWithFuture,
    /// A request to cancel has no reference to the operation that it names.
    CancelsWithoutReference,
}
