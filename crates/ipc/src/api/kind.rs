//! The two settings that an application chooses a segment by.

use crate::kernel::ring::Delivery;

/// How messages of a segment find their receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One sender; every receiver gets every message.
    Route,
    /// Many senders; every receiver gets every message.
    Channel,
    /// Many senders; each message goes to one receiver.
    Queue,
    /// Notifications with ids: an [`Event`](crate::Event).
    Event,
    /// Permits: a [`Semaphore`](crate::Semaphore).
    Semaphore,
    /// A meeting point: a [`Barrier`](crate::Barrier).
    Barrier,
}

/// The policy of senders when the ring is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// It waits for the slowest receiver that is alive.
    #[default]
    Block,
    /// It overwrites the oldest message. Receivers of routes and channels then copy
    /// messages, and [`RecvError::Lagged`](crate::RecvError::Lagged) tells them how many
    /// they have missed.
    DropOldest,
    /// It returns [`SendError::Full`](crate::SendError::Full).
    Fail,
}

impl Kind {
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let messages = [Self::Route, Self::Channel, Self::Queue];
        messages
            .into_iter()
            .chain([Self::Event, Self::Semaphore, Self::Barrier])
            .find(|&kind| kind as u64 == word)
    }

    /// Returns `true` if the segment has a ring of messages.
    pub(crate) fn has_messages(self) -> bool {
        matches!(self, Self::Route | Self::Channel | Self::Queue)
    }

    pub(crate) fn delivery(self) -> Delivery {
        match self {
            Self::Queue => Delivery::One,
            // To an event it matters only which notifiers count (`ring/senders.rs`), and to a
            // semaphore or barrier nothing.
            _ => Delivery::Every,
        }
    }
}

impl WhenFull {
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        [Self::Block, Self::DropOldest, Self::Fail]
            .into_iter()
            .find(|&policy| policy as u64 == word)
    }
}
