//! A store of counters on several servers, of which a minority may fail.
//!
//! It is a small Raft (Ongaro and Ousterhout, 2014):
//!
//! * The servers elect a *leader* for a term. It appends the commands of clients to its *log*, and sends the log to the
//!   others. A command is committed when a majority has it on disk, and then applied by all in the order of the log.
//! * A server writes a *snapshot* of its state from time to time, and forgets the log up to there. A server that is far
//!   behind gets the snapshot.
//! * A *client* repeats a command, with the same number, until a leader answers. The servers remember the last number of
//!   each client, so a command is applied once.
//!
//! | file | contents |
//! |---|---|
//! | `command.rs` | commands, and the state to which they are applied |
//! | `data.rs` | the data that a server keeps |
//! | `disk.rs` | the file with that data, of which a crash loses what is not synced |
//! | `message.rs` | messages between servers, as bytes |
//! | `node.rs` | a server: elections, the log and snapshots |
//! | `service.rs` | connections of clients to a server |
//! | `client.rs` | a client |
//! | `simulation.rs` | servers and clients under faults, and properties |

mod client;
mod command;
mod data;
mod disk;
mod message;
mod node;
mod service;
pub mod simulation;

/// A planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A leader answers a read from its own state. It may have been replaced.
    StaleReads,
    /// A server votes for a candidate that has less of the log than it has itself.
    ShortLogs,
    /// A server acknowledges entries before they are on disk.
    LateSync,
    /// A candidate counts votes of an election before this one.
    LateVotes,
    /// A snapshot does not have the numbers of the clients' last commands.
    ForgottenRetries,
    /// A new file replaces the log before it is on disk.
    UnsyncedReplacement,
}

impl Bug {
    /// All bugs.
    pub const ALL: [Self; 6] = [
        Self::StaleReads,
        Self::ShortLogs,
        Self::LateSync,
        Self::LateVotes,
        Self::ForgottenRetries,
        Self::UnsyncedReplacement,
    ];
}
