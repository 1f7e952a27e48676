//! `Semantics`: what a kind of wait says about its end, as data. The judgement of `blitz-io-inspect`
//! matches it, and so knows each primitive without its name.

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
        /// No thread or task is known to: a source, a timer, or anybody who has the object.
        #[default]
        Nobody "nobody",
        /// The holder of a lock; without a holder its readers, or the future to which it was handed.
        Holder "holder",
        /// The writer of a lock, also if readers keep other writers out.
        Writer "writer",
        /// The readers of a lock, each of which has to.
        Readers "readers",
        /// All members of the object: each of them has to.
        AllMembers "all-members",
        /// Any member of the object.
        AnyMember "any-member",
        /// Any member of the object but the one that waits.
        OtherMembers "other-members",
        /// The last user of the object, who is likely only: of a semaphore the one that acquired a
        /// permit last, of a channel the one that used its other end last.
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
        /// It has none that matters for its end.
        #[default]
        Other "other",
        /// To acquire a lock that has one holder.
        Lock "lock",
        /// To share a lock, which a waiting writer keeps out.
        Read "read",
        /// To share a lock that the thread may share already: only a writer keeps it out.
        RecursiveRead "recursive-read",
        /// To share a lock as the one reader that may become its writer.
        UpgradableRead "upgradable-read",
        /// To become the writer, as the upgradable reader.
        Upgrade "upgrade",
        /// To be the writer of a lock.
        Write "write",
        /// To acquire a permit.
        Permit "permit",
        /// To send: there is no room.
        Send "send",
        /// To receive a value.
        Receive "receive",
        /// To see that the other end of a channel is closed.
        Closed "closed",
        /// To see an event.
        Event "event",
        /// To meet others.
        Meet "meet",
        /// To see the end of tasks or forks.
        Join "join",
        /// To drive a future.
        Drive "drive",
        /// To get a thread.
        Queue "queue",
        /// To be unparked.
        Park "park",
        /// To see a change of a word of the program's.
        Futex "futex",
        /// It is not known: the thread sleeps in a futex, and has no record.
        Unknown "unknown",
    }
}

words! {
    /// What a release hands to the future that it chooses among those that wait.
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

/// What a kind of wait says about its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Semantics {
    /// The threads and tasks that can end the wait.
    pub ended_by: EndedBy,
    /// The purpose of the wait.
    pub mode: Mode,
    /// What a release hands to a waiting future.
    pub hands: Hands,
}
