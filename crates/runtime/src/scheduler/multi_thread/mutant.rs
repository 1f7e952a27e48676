//! Deliberate mistakes in the scheduler, for the model checker.

blitz_sync::mutants! {
    /// The ring takes one more than it has places for.
    PushesIntoFullRing,
    /// The ring takes the places of what is in hand for free ones.
    ForgetsWhatIsInHand,
    /// The ring's end is not published.
    PushesQuietly,
    /// Who takes from the ring does not look whether somebody was faster.
    TakesWithoutComparing,
    /// Who robs a slot empties it even though it is empty.
    RobsTheEmpty,
    /// Who robs a tray does not make its owner pass a fence.
    RobsWithoutFence,
    /// The owner of a tray does not look whether there is a robber.
    IgnoresTheRobber,
    /// The owner does not ask what the robber took.
    TakesWhatWasRobbed,
    /// A worker looks at the inject queue before it says that it sleeps.
    LooksFirst,
    /// Who pushes looks at the sleepers without having published.
    NotifiesFirst,
    /// A wake wakes somebody even though another one searches already.
    WakesACrowd,
    /// A worker that gets up is not counted as searching.
    GetsUpUncounted,
    /// The last searcher that found work does not look after the rest.
    SearchesForItself,
    /// When as many are awake as there are processors, nobody takes the watch.
    NobodyWatches,
    /// The watchman goes to work and passes the watch to nobody.
    LeavesTheWatch,
    /// The end wakes only one.
    ClosesForOne,
}
