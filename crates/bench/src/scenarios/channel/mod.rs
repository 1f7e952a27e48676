//! Channels: on one thread (tier 2), between tasks (tier 3), between threads
//! (tier 4).

mod broadcast;
mod close;
mod fast;
mod oneshot;
mod tasks;
mod threads;
mod watch;

use super::all;
use crate::scenarios::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    all(&[
        fast::scenarios,
        oneshot::scenarios,
        broadcast::scenarios,
        watch::scenarios,
        tasks::scenarios,
        threads::scenarios,
        close::scenarios,
    ])
}

/// The number of received messages, and their sum. The messages of a scenario are the
/// numbers from 0 on, so both are known in advance.
#[derive(Clone, Copy, Default)]
struct Arrived {
    count: u64,
    sum: u64,
}

impl Arrived {
    #[inline]
    fn note(&mut self, message: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(message);
    }

    fn and(self, other: Arrived) -> Arrived {
        Arrived {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    /// Checks that these were the messages from 0 to `messages - 1`, each `times` times.
    fn verify(self, messages: u64, times: u64) -> Result<(), Failure> {
        verify("messages that arrived", messages * times, self.count)?;
        let sum = messages * messages.saturating_sub(1) / 2;
        verify("the sum of the messages", sum * times, self.sum)
    }
}

/// Runs `operation` with each message on this thread, and verifies the messages that it returns.
#[inline]
fn pass_each(cx: &Context, mut operation: impl FnMut(u64) -> Option<u64>) -> Measured {
    let (span, arrived) = solo(|| {
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            if let Some(message) = operation(message) {
                arrived.note(message);
            }
        }
        arrived
    });
    arrived.verify(cx.ops, 1)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_doubled_and_changed_messages_are_seen() {
        let arrived = |messages: &[u64]| {
            let mut arrived = Arrived::default();
            messages.iter().for_each(|&m| arrived.note(m));
            arrived
        };
        assert!(arrived(&[0, 1, 2]).verify(3, 1).is_ok());
        assert!(arrived(&[0, 1]).and(arrived(&[1, 0])).verify(2, 2).is_ok());
        assert!(arrived(&[0, 1]).verify(3, 1).is_err());
        assert!(arrived(&[0, 1, 2, 2]).verify(3, 1).is_err());
        assert!(arrived(&[0, 1, 1]).verify(3, 1).is_err());
    }
}
