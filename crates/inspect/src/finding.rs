//! `Finding`: something that is wrong with the waits of a process, as plain data.

use serde::{Deserialize, Serialize};

use crate::snapshot::{Wait, Waiter};

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// By the semantics of the primitives, no step of the program ends this wait.
    Certain,
    /// It looks so; the finding says why it is not certain.
    Probable,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How sure it is.
    pub certainty: Certainty,
    /// `deadlock`, `self-wait`, `futurelock`, `pool-starvation`, `lost-holder`, `all-asleep`,
    /// `stopped-peer`, `never-woken`, `long-poll`, `not-polled`, `not-driven` or `long-wait`.
    pub kind: String,
    /// One sentence.
    pub summary: String,
    /// The threads, tasks and processes concerned, in the order of the chain.
    pub waiters: Vec<Waiter>,
    /// The waits of the chain.
    pub waits: Vec<Wait>,
}
