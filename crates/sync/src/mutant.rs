//! Deliberate mistakes for the model checker.
//!
//! A model that passes proves little until it has been seen to fail. So every
//! step on which a proof rests can be broken by name: a test switches a
//! [`Mutant`] on and expects the model to find the lost wake-up or the race.
//!
//! The switch is a thread-local, because all threads of one model run on one
//! thread of the operating system, while different tests run on different
//! ones. Outside of the model checker `active` is a constant `false`, and the
//! mistakes are compiled away.
//!
//! [`mutants!`](crate::mutants) declares the mistakes of one concept, and the
//! switch for them.

/// Declares `Mutant`, the mistakes that can be made in one concept;
/// `active(mutant)`, whether one is switched on; and, under the model checker,
/// `with(mutant, model)`, which runs a model with that mistake.
#[doc(hidden)]
#[macro_export]
macro_rules! mutants {
    ($($(#[$attribute:meta])* $mutant:ident,)*) => {
        /// A step that can be left out or weakened.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(dead_code, reason = "some mistakes are made in code for the model checker")]
        pub enum Mutant {
            $($(#[$attribute])* $mutant,)*
        }

        #[cfg(loom)]
        std::thread_local! {
            static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
        }

        /// Whether the mistake is switched on in this thread.
        #[cfg(loom)]
        pub fn active(mutant: Mutant) -> bool {
            ACTIVE.get() == Some(mutant)
        }

        /// Runs `model` with one mistake switched on.
        #[cfg(loom)]
        pub fn with<R>(mutant: Mutant, model: impl FnOnce() -> R) -> R {
            struct Off;
            impl Drop for Off {
                fn drop(&mut self) {
                    ACTIVE.set(None);
                }
            }
            ACTIVE.set(Some(mutant));
            let _off = Off;
            model()
        }

        /// Whether the mistake is switched on: never, outside of the model checker.
        #[cfg(not(loom))]
        #[inline(always)]
        pub(crate) const fn active(_: Mutant) -> bool {
            false
        }
    };
}

mutants! {
    /// `Mutex`, `RwLock`: a release in contended mode looks again without a fence.
    NoFenceWhenContended,
    /// `RwLock`: a wake-up for an owner may go to a reader that is about to be woken.
    WakesAnybody,
    /// `Mutex`: a woken thread that gets the lock forgets that others sleep.
    ExclusiveForgetsOthers,
    /// `RwLock`: a reader looks at the writer without a fence.
    SharedNoFenceInRead,
    /// `RwLock`: a writer looks at the readers without a fence.
    SharedNoFenceInWrite,
    /// No fence between a published change and the look at the sleepers.
    NoLightFence,
    /// No fence between the announcement of a sleeper and its last check.
    NoHeavyFence,
    /// `Semaphore`: look at the permits before announcing that one will sleep.
    SemaphoreLooksFirst,
    /// `Semaphore`: a thread that leaves the queue does not serve the others.
    SemaphoreForgetsOthers,
    /// `Semaphore`: a thread that wants too much keeps those behind it from permits.
    SemaphoreFirstOrNobody,
    /// `Semaphore`: serving does not look at the permits a second time.
    SemaphoreServesOnce,
    /// `Barrier`: the last to arrive looks at the sleepers without a fence.
    BarrierNoFenceInOpen,
    /// `Barrier`: a sleeper looks at the barrier without a fence.
    BarrierNoFenceInSleep,
    /// `Condvar`: a thread that was woken does not wake the next one that is notified.
    CondvarKeepsWake,
    /// `Parker`: a token does not change what a parked thread looks at.
    ParkerLazyToken,
    /// `Once`: publish the outcome with a relaxed store.
    OnceRelaxedPublish,
    /// `Once`: a poisoned outcome wakes no thread.
    OnceSilentPoison,
    /// `Event`, automatic: a waiter whose time is up takes its release away and
    /// reports that there was none.
    AutoEventEatsRelease,
    /// `Event`, automatic: a set that finds the event set does not write.
    AutoEventLazySet,
    /// `Event`, manual: a reset does not count up the generation.
    ManualEventForgetsGeneration,
    /// `Latch`, `WaitGroup`: count down with a relaxed store.
    CountdownRelaxed,
    /// `Latch`, `WaitGroup`: sleep without having announced it.
    CountdownSilentSleep,
    /// `WaitGroup`: a member that comes back does not look at the count.
    WaitGroupRejoinsBlindly,
    /// The queue of waiters: a node is signalled before its waker has been taken out.
    QueueSignalFirst,
    /// The queue of waiters: the signal does not carry what was done before it.
    QueueRelaxedSignal,
    /// The queue of waiters: a waker is changed without asking whether the node is still linked.
    QueueChangesWakerBlindly,
    /// The queue of waiters: a waiter leaves without asking under the lock whether it has been chosen.
    QueueLeavesBlindly,
    /// The queue of waiters: a thread goes to sleep without saying so.
    QueueSleepsSilently,
    /// The queue of waiters: waking all includes waiters that come while the lock is released.
    QueueAllIncludesNewcomers,
    /// Permits: a waiter looks at the permits before it announces itself.
    PermitsLooksFirst,
    /// Permits: permits are taken while waiters are queued.
    PermitsBarges,
    /// Permits: a release does not serve the queue.
    PermitsServesNobody,
    /// Permits: serving stops after the first waiter.
    PermitsServesOne,
    /// Permits: the flag stays when the queue is empty.
    PermitsLeavesTheFlag,
    /// Permits: a waiter that gives up does not serve those behind it.
    PermitsLeavesQuietly,
    /// Permits: a waiter that gives up keeps what it was served in the last moment.
    PermitsKeepsWhatItGot,
    /// Permits: closing tells no waiter.
    PermitsClosesQuietly,
    /// Permits: a waiter does not look whether all is closed before it joins.
    PermitsJoinsWhatIsClosed,
    /// Permits: a waiter that was served and then finds all closed keeps its permits.
    PermitsKeepsWhatIsClosed,
    /// Permits: permits that belong to the queue are taken away.
    PermitsForgetsWhatIsQueued,
    /// Permits: a release does not publish what was done before it.
    PermitsGivesBackRelaxed,
    /// Permits: taking permits does not make visible what was done before they came back.
    PermitsTakesRelaxed,
    /// Permits: the same for serving others.
    PermitsServesRelaxed,
    /// `Notify`: a future that is dropped keeps the notification it was chosen for.
    NotifyKeepsNotification,
    /// `Notify`: a notification that finds one stored does not write.
    NotifySilentCoalescing,
    /// `Notify`: a task joins the queue without asking under the lock whether `notify_waiters`
    /// has been called since.
    NotifyJoinsBlindly,
    /// `Notify`: what `notify_waiters` covers is decided by the first poll.
    NotifyBornAtFirstPoll,
    /// `Notify`: `notify_one` chooses a waiter that `notify_waiters` is about to wake.
    NotifyChoosesCovered,
    /// `Notify`: a task joins the queue without saying so in the state.
    NotifyJoinsSilently,
    /// `Notify`: a task that sees that a call covers it does not wait until it has been counted.
    NotifyCoveredTwice,
    /// `OnceCell`: a task that gives up does not let another one try.
    WriteOnceForgetsOthers,
    /// `OnceCell`: the value is published with a relaxed store.
    WriteOnceRelaxedPublish,
    /// `OnceCell`: a task joins the queue without looking at the state again, under the lock.
    WriteOnceJoinsBlindly,
    /// `OnceCell`: a future that is dropped keeps the turn it was given.
    WriteOnceKeepsTurn,
    /// `OnceCell`: a task that gives up lets one try that only waits for the value.
    WriteOnceGivesToAnybody,
    /// The `Barrier` of tasks: a task counts itself in one section of the lock, and joins the queue in another.
    TaskBarrierCountsBeforeJoining,
    /// The `Barrier` of tasks: the last of a round wakes the others before it begins a new count.
    TaskBarrierWakesBeforeNewRound,
    /// `BiasedLock`: the owner does not say that it is busy.
    BiasedLockOwnerUnannounced,
    /// `BiasedLock`: a revoker does not make the owner pass a fence.
    BiasedLockRevokesWithoutFence,
    /// `BiasedLock`: a revoker does not look whether the owner is busy.
    BiasedLockIgnoresBusyOwner,
    /// `BiasedLock`: the owner wakes no revoker when it is no longer busy.
    BiasedLockReleasesSilently,
    /// `BiasedLock`: a revoker takes an answer to another for one to itself.
    BiasedLockAsksTooEarly,
}

#[cfg(loom)]
mod late {
    use std::cell::Cell;

    thread_local! {
        static LATE: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether a store may become visible after the look that follows it.
    pub fn stores_are_late() -> bool {
        LATE.get()
    }

    /// Runs `model` with stores that may be late, as they are where a heavy fence
    /// on the other side makes up for it. This is no mistake.
    pub fn with_late_stores<R>(model: impl FnOnce() -> R) -> R {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                LATE.set(false);
            }
        }
        LATE.set(true);
        let _off = Off;
        model()
    }
}

#[cfg(loom)]
pub use late::{stores_are_late, with_late_stores};
