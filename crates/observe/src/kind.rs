//! `Kind`: the primitive of a wait, with its name in reports and its semantics. A new primitive is one
//! entry here.
//!
//! The semantics say as data who ends a wait. The judgement of `blitz-io-inspect` matches them, and so
//! knows each primitive without its name.

macro_rules! kinds {
    ($($kind:ident $name:literal $ended_by:ident $mode:ident $hands:ident,)*) => {
        /// The kind of a wait: its primitive.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`")] $kind,)*
        }

        impl Kind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the name that reports use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Returns the facts about the end of its waits.
            #[must_use]
            pub const fn semantics(self) -> Semantics {
                match self {
                    $(Self::$kind => Semantics {
                        ended_by: EndedBy::$ended_by,
                        mode: Mode::$mode,
                        hands: Hands::$hands,
                    },)*
                }
            }
        }
    };
}

kinds! {
    // Kind           its name                             ended by      mode            hands
    Task              "task"                               Nobody        Other           Nothing,
    Idle              "idle"                               Nobody        Other           Nothing,
    ThreadMutex       "thread::Mutex"                      Holder        Lock            Nothing,
    ThreadRead        "thread::RwLock (read)"              Holder        Read            Nothing,
    ThreadReadAgain   "thread::RwLock (recursive read)"    Writer        RecursiveRead   Nothing,
    ThreadUpgradable  "thread::RwLock (upgradable read)"   Holder        UpgradableRead  Nothing,
    ThreadUpgrade     "thread::RwLock (upgrade)"           Readers       Upgrade         Nothing,
    ThreadWrite       "thread::RwLock (write)"             Holder        Write           Nothing,
    ThreadBarrier     "thread::Barrier"                    Nobody        Meet            Nothing,
    ThreadCondvar     "thread::Condvar"                    Nobody        Event           Nothing,
    ThreadSemaphore   "thread::Semaphore"                  LastUser      Permit          Nothing,
    ThreadLatch       "thread::Latch"                      Nobody        Event           Nothing,
    ThreadWaitGroup   "thread::WaitGroup"                  Nobody        Event           Nothing,
    ThreadEvent       "thread::Event"                      Nobody        Event           Nothing,
    ThreadParker      "thread::Parker"                     Nobody        Park            Nothing,
    ThreadOnce        "thread::Once"                       Holder        Lock            Nothing,
    Futex             "futex"                              Nobody        Futex           Nothing,
    OwnLock           "lock"                               Holder        Lock            Nothing,
    OwnEvent          "event"                              Nobody        Event           Nothing,
    UnknownFutex      "unknown futex"                      Nobody        Unknown         Nothing,
    Mutex             "Mutex"                              Holder        Lock            Lock,
    Read              "RwLock (read)"                      Holder        Read            Lock,
    Write             "RwLock (write)"                     Holder        Write           Lock,
    OnceCell          "OnceCell"                           Holder        Lock            Nothing,
    Semaphore         "Semaphore"                          LastUser      Permit          Share,
    Barrier           "Barrier"                            Nobody        Meet            Nothing,
    Notify            "Notify"                             Nobody        Event           Share,
    MpscSend          "mpsc::Sender"                       LastUser      Send            Share,
    MpscReceive       "mpsc::Receiver"                     LastUser      Receive         Nothing,
    MpscClosed        "mpsc::Sender::closed"               Nobody        Closed          Nothing,
    WatchReceive      "watch::Receiver"                    Nobody        Receive         Nothing,
    WatchClosed       "watch::Sender::closed"              Nobody        Closed          Nothing,
    BroadcastReceive  "broadcast::Receiver"                Nobody        Receive         Nothing,
    BroadcastClosed   "broadcast::Sender::closed"          Nobody        Closed          Nothing,
    OneshotReceive    "oneshot::Receiver"                  Nobody        Receive         Nothing,
    OneshotClosed     "oneshot::Sender::closed"            Nobody        Closed          Nothing,
    MpmcSend          "mpmc::Sender"                       Nobody        Send            Nothing,
    MpmcReceive       "mpmc::Receiver"                     Nobody        Receive         Nothing,
    MpmcClosed        "mpmc::Sender::closed"               Nobody        Closed          Nothing,
    Join              "JoinHandle"                         Task          Join            Nothing,
    JoinSet           "JoinSet"                            AnyMember     Join            Nothing,
    ForkJoin          "fork-join"                          Holder        Join            Nothing,
    BlockOn           "block_on"                           Task          Drive           Nothing,
    QueuedJob         "thread for blocking work"           Jobs          Queue           Nothing,
    Shutdown          "end of a runtime"                   RunningJobs   Join            Nothing,
    Sleep             "Sleep"                              Nobody        Other           Nothing,
    Scope             "scope"                              AllMembers    Join            Nothing,
    ParallelScope     "parallel scope"                     MembersOrFailure Join        Nothing,
    ScopeFailure      "scope (failure of a child)"         FailedMember  Join            Nothing,
    TaskTracker       "TaskTracker"                        Nobody        Join            Nothing,
    Pipeline          "pipeline"                           AllMembers    Join            Nothing,
    PipelineWorker    "pipeline (worker)"                  OtherMembers  Join            Nothing,
    Cancelled         "CancellationToken"                  Nobody        Event           Nothing,
    Readable          "descriptor (read)"                  Nobody        Other           Nothing,
    Writable          "descriptor (write)"                 Nobody        Other           Nothing,
    Signal            "signal"                             Nobody        Other           Nothing,
    FileRead          "file (read)"                        Nobody        Other           Nothing,
    FileWrite         "file (write)"                       Nobody        Other           Nothing,
    FileSync          "file (sync)"                        Nobody        Other           Nothing,
    MemoryRead        "in-memory stream (read)"            Nobody        Receive         Nothing,
    MemoryWrite       "in-memory stream (write)"           Nobody        Send            Nothing,
    IpcSend           "ipc::Sender"                        Peers         Send            Nothing,
    IpcReceive        "ipc::Receiver"                      Peers         Receive         Nothing,
    IpcListen         "ipc::Listener"                      Peers         Event           Nothing,
    IpcSemaphore      "ipc::Semaphore"                     Peers         Permit          Nothing,
    IpcBarrier        "ipc::Barrier"                       Nobody        Meet            Nothing,
    Timeout           "timeout"                            Nobody        Other           Nothing,
    Interval          "Interval"                           Nobody        Other           Nothing,
}

impl Kind {
    /// Returns `true` for a wait that a timer of the runtime ends.
    #[must_use]
    pub const fn is_timer(self) -> bool {
        matches!(self, Self::Sleep | Self::Timeout | Self::Interval)
    }

    /// Returns `true` for the name of such a kind.
    #[must_use]
    pub fn is_name_of_timer(name: &str) -> bool {
        let timers = [Self::Sleep, Self::Timeout, Self::Interval];
        timers.iter().any(|timer| timer.name() == name)
    }
}

/// Around the number of an [`Origin`](crate::Origin) in the text of a [`Note`](crate::decisions::Note): a report has the number of the
/// object in its events there. It is the control character SUB.
pub const SUBSTITUTE: char = '\u{1a}';

/// The kind of a wait for a socket, in a snapshot. Any other wait for a descriptor has the name of a [`Kind`],
/// or names the object of the wait.
pub const SOCKET: &str = "socket";

/// The facts about the end of a kind of wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Semantics {
    /// The threads and tasks that can end the wait.
    pub ended_by: EndedBy,
    /// The purpose of the wait.
    pub mode: Mode,
    /// The resource that a release hands to a waiting future.
    pub hands: Hands,
}

/// Declares an enumeration whose cases have names, with which a snapshot transports them.
macro_rules! words {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $word:ident $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $type {
            $($(#[$doc])* $word,)*
        }

        impl $type {
            /// Returns the name that snapshots use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)*
                }
            }

            /// Returns the case with this name; the default one if a newer version has made the name.
            #[must_use]
            pub fn of_name(name: &str) -> Self {
                match name {
                    $($name => Self::$word,)*
                    _ => Self::default(),
                }
            }
        }
    };
}

words! {
    /// The threads and tasks that can end a wait.
    EndedBy {
        /// A source, a timer, or any thread that has the object: the ender is not known.
        #[default]
        Nobody "nobody",
        /// The holder of a lock; without a holder its readers, or the future to which it was handed.
        Holder "holder",
        /// The writer of a lock, also if readers keep other writers out.
        Writer "writer",
        /// The readers of a lock: each of them has to release it.
        Readers "readers",
        /// All members of the object: each of them has to progress.
        AllMembers "all-members",
        /// All members of the object, each of which has to progress; or one that fails, as that ends the others.
        MembersOrFailure "members-or-failure",
        /// Any member of the object.
        AnyMember "any-member",
        /// A member of the object that fails: each of them may. Without members, nothing ends the wait.
        FailedMember "failed-member",
        /// Any other member of the object.
        OtherMembers "other-members",
        /// The last user of the object, which is a likely ender only: of a semaphore, the last task to
        /// acquire a permit; of a channel, the last user of its other end.
        LastUser "last-user",
        /// The task that the wait names.
        Task "task",
        /// The closures that run on threads for blocking work.
        Jobs "jobs",
        /// The closures that threads of the runtime run which the wait names: each of them has to.
        RunningJobs "running-jobs",
        /// The other participants of shared memory.
        Peers "peers",
    }
}

words! {
    /// The purpose of a wait.
    Mode {
        /// The purpose does not matter for the end.
        #[default]
        Other "other",
        /// Acquires a lock that has one holder.
        Lock "lock",
        /// Shares a lock. A waiting writer keeps this wait out.
        Read "read",
        /// Shares a lock that the thread may share already: only a holder keeps it out.
        RecursiveRead "recursive-read",
        /// Shares a lock as the upgradable reader, which may become its writer.
        UpgradableRead "upgradable-read",
        /// Upgrades the upgradable reader to the writer.
        Upgrade "upgrade",
        /// Acquires a lock as its writer.
        Write "write",
        /// Acquires a permit.
        Permit "permit",
        /// Sends: there is no room.
        Send "send",
        /// Receives a value.
        Receive "receive",
        /// Waits until the other end of a channel is closed.
        Closed "closed",
        /// Waits for an event.
        Event "event",
        /// Meets others at a barrier.
        Meet "meet",
        /// Waits until tasks or forks have ended.
        Join "join",
        /// Drives a future.
        Drive "drive",
        /// Waits for a thread.
        Queue "queue",
        /// Is parked.
        Park "park",
        /// Waits until a word of the program has changed.
        Futex "futex",
        /// Not known: the thread sleeps in a futex, and has no record.
        Unknown "unknown",
    }
}

impl Mode {
    /// Returns `true` if the wait acquires a lock, alone or shared.
    #[must_use]
    pub const fn is_of_lock(self) -> bool {
        matches!(
            self,
            Self::Lock
                | Self::Read
                | Self::RecursiveRead
                | Self::UpgradableRead
                | Self::Upgrade
                | Self::Write
        )
    }
}

words! {
    /// The resource that a release hands to the waiting future that it chooses.
    Hands {
        /// Nothing.
        #[default]
        Nothing "nothing",
        /// The lock, which has nothing else to give.
        Lock "lock",
        /// A permit, a notification or a place, of which the object may have several.
        Share "share",
    }
}
