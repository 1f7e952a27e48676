//! The requests of all clients, and how often each was served. It is no part of a host, so it survives crashes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sim;
use tokio::time::sleep;

/// The work of a request takes twice this time.
const HALF: Duration = Duration::from_millis(20);

#[derive(Default)]
struct State {
    requests: u64,
    /// Number of times that each request was served.
    served: BTreeMap<u64, u32>,
    /// Number of answers by client.
    answers: BTreeMap<String, u32>,
    is_closed: bool,
}

/// The ledger. Clones are the same one.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<State>>);

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Returns the number of a new request; `None` if there are to be no more.
    pub fn new_request(&self) -> Option<u64> {
        let mut state = self.state();
        state.requests += 1;
        (!state.is_closed).then_some(state.requests)
    }

    /// Ends the requests.
    pub fn close(&self) {
        self.state().is_closed = true;
    }

    /// Does the work of a request, and returns the answer. A crash may come before it and after it.
    pub async fn serve(&self, number: u64) -> u64 {
        sleep(HALF).await;
        let served = {
            let mut state = self.state();
            let times = state.served.entry(number).or_default();
            *times += 1;
            *times
        };
        assert_eq!(served, 1, "request {number} is served twice");
        sleep(HALF).await;
        number * 2
    }

    /// This client has an answer.
    pub fn answered(&self, client: &str, number: u64, answer: u64) {
        assert_eq!(answer, number * 2, "the answer is that of another request");
        let mut state = self.state();
        let served = state.served.get(&number).copied();
        assert_eq!(
            served,
            Some(1),
            "request {number} is answered, and was not served"
        );
        *state.answers.entry(client.to_owned()).or_default() += 1;
    }

    /// Returns the number of answers that this client has.
    pub fn answers(&self, client: &str) -> u32 {
        self.state().answers.get(client).copied().unwrap_or(0)
    }

    /// Reports whether requests were served whose answers are lost.
    pub fn report_lost_answers(&self) {
        let state = self.state();
        let answers: u32 = state.answers.values().sum();
        sim::sometimes("an answer is lost", (answers as usize) < state.served.len());
    }
}
