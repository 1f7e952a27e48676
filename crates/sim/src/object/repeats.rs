//! Atomic operations, and yields, that a thread repeats while nothing changes.
//!
//! A lock looks at its word hundreds of times before it sleeps, and a channel at three words in turns. Only the first looks
//! after a change can see anything new. A strategy that counts them all almost never comes to the few operations
//! that follow. So a repetition concerns no other thread: SURW does not count it, PCT changes no priority there, and an
//! exhaustive search does not preempt the thread.
//!
//! The second look counts, too: code may go wrong because a value has changed between two looks at it.

/// So many equal operations without a change between them count.
const COUNTED: u8 = 2;
/// Number of different operations that a thread knows. More of them all count.
const KNOWN: usize = 64;

/// The name and the address of an operation. Names of one kind of operation have one address.
type Operation = (usize, usize);

/// The operations of a thread since something changed last.
#[derive(Debug, Default)]
pub struct Repeats {
    /// Number of changes, by all threads, before these operations.
    changes: u64,
    known: Vec<(Operation, u8)>,
}

impl Repeats {
    /// Adds an operation that begins after so many changes. Returns `true` if it is a repetition.
    pub fn add(&mut self, operation: Operation, changes: u64) -> bool {
        if self.changes != changes {
            self.changes = changes;
            self.known.clear();
        }
        if let Some((_, times)) = self.known.iter_mut().find(|(known, _)| *known == operation) {
            *times = times.saturating_add(1);
            return *times > COUNTED;
        }
        if self.known.len() < KNOWN {
            self.known.push((operation, 1));
        }
        false
    }
}
