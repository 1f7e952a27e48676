//! `Kind`: the primitive of a wait, with its name in reports and its semantics. A new primitive is one
//! entry here.

use crate::semantics::{EndedBy, Hands, Mode, Semantics};

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

            /// Returns what the kind says about the end of its waits.
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
    Pipeline          "pipeline"                           AllMembers    Join            Nothing,
    PipelineWorker    "pipeline (worker)"                  OtherMembers  Join            Nothing,
    Cancelled         "CancellationToken"                  Nobody        Event           Nothing,
    Readable          "descriptor (read)"                  Nobody        Other           Nothing,
    Writable          "descriptor (write)"                 Nobody        Other           Nothing,
    FileRead          "file (read)"                        Nobody        Other           Nothing,
    FileWrite         "file (write)"                       Nobody        Other           Nothing,
    FileSync          "file (sync)"                        Nobody        Other           Nothing,
    IpcSend           "ipc::Sender"                        Peers         Send            Nothing,
    IpcReceive        "ipc::Receiver"                      Peers         Receive         Nothing,
    IpcListen         "ipc::Listener"                      Peers         Event           Nothing,
    IpcSemaphore      "ipc::Semaphore"                     Peers         Permit          Nothing,
    IpcBarrier        "ipc::Barrier"                       Nobody        Meet            Nothing,
}
