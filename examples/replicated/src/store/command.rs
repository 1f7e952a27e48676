//! Commands, and the state to which they are applied.

use std::collections::BTreeMap;

/// The identification of a client.
pub type Client = u64;

/// An operation on the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Add to the counter with this key, and return the sum.
    Add(u64, u64),
    /// Return the value of the counter with this key.
    Get(u64),
    /// Nothing: a new leader begins with it.
    Nothing,
}

/// A command of a client. A client that repeats a command uses the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    pub client: Client,
    pub number: u64,
    pub operation: Operation,
}

/// The state of a server: the result of all commands so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    pub counters: BTreeMap<u64, u64>,
    /// The number of each client's last command, and its result.
    pub last: BTreeMap<Client, (u64, u64)>,
}

impl State {
    /// Applies a command, unless it has been applied already. Returns its result.
    pub fn apply(&mut self, command: &Command) -> u64 {
        match self.last.get(&command.client) {
            Some((number, result)) if *number >= command.number => return *result,
            _ => {}
        }
        let result = match command.operation {
            Operation::Add(key, amount) => {
                let counter = self.counters.entry(key).or_default();
                *counter += amount;
                *counter
            }
            Operation::Get(key) => self.get(key),
            Operation::Nothing => return 0,
        };
        self.last.insert(command.client, (command.number, result));
        result
    }

    /// Returns the value of a counter.
    pub fn get(&self, key: u64) -> u64 {
        self.counters.get(&key).copied().unwrap_or(0)
    }
}
