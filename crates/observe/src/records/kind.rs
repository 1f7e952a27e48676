//! `Kind`: what a record says about its waiter.

macro_rules! kinds {
    ($($kind:ident $name:literal,)*) => {
        /// The kind of a wait: its primitive.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`")] $kind,)*
        }

        impl Kind {
            /// All kinds, in the order of their numbers.
            #[cfg(all(feature = "inspect", not(loom)))]
            pub(super) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the name that reports use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    Task "task",
    Idle "idle",
    ThreadMutex "thread::Mutex",
    ThreadRead "thread::RwLock (read)",
    ThreadReadAgain "thread::RwLock (recursive read)",
    ThreadUpgradable "thread::RwLock (upgradable read)",
    ThreadUpgrade "thread::RwLock (upgrade)",
    ThreadWrite "thread::RwLock (write)",
    ThreadBarrier "thread::Barrier",
    ThreadCondvar "thread::Condvar",
    ThreadSemaphore "thread::Semaphore",
    ThreadLatch "thread::Latch",
    ThreadWaitGroup "thread::WaitGroup",
    ThreadEvent "thread::Event",
    ThreadParker "thread::Parker",
    ThreadOnce "thread::Once",
    Futex "futex",
    Mutex "Mutex",
    Read "RwLock (read)",
    Write "RwLock (write)",
    Semaphore "Semaphore",
    Barrier "Barrier",
    Notify "Notify",
    MpscSend "mpsc::Sender",
    MpscReceive "mpsc::Receiver",
    MpscClosed "mpsc::Sender::closed",
    WatchReceive "watch::Receiver",
    WatchClosed "watch::Sender::closed",
    BroadcastReceive "broadcast::Receiver",
    BroadcastClosed "broadcast::Sender::closed",
    OneshotReceive "oneshot::Receiver",
    OneshotClosed "oneshot::Sender::closed",
    MpmcSend "mpmc::Sender",
    MpmcReceive "mpmc::Receiver",
    MpmcClosed "mpmc::Sender::closed",
    Join "JoinHandle",
    JoinSet "JoinSet",
    ForkJoin "fork-join",
    BlockOn "block_on",
    Sleep "Sleep",
    Scope "scope",
    Pipeline "pipeline",
    PipelineWorker "pipeline (worker)",
    Cancelled "CancellationToken",
    Readable "descriptor (read)",
    Writable "descriptor (write)",
    FileRead "file (read)",
    FileWrite "file (write)",
    FileSync "file (sync)",
    IpcSend "ipc::Sender",
    IpcReceive "ipc::Receiver",
    IpcListen "ipc::Listener",
    IpcSemaphore "ipc::Semaphore",
    IpcBarrier "ipc::Barrier",
}
