//! `lost-permit` and `unbounded-growth`: what becomes of permits and channels.

use super::finding::{Finding, Lint, name};
use super::run::{Growth, Permits, Run, Side, Step};
use crate::snapshot::Certainty;

/// A channel grows if it was longer at this many looks, and never shorter.
const LOOKS: u64 = 16;
/// The least length of such a channel, at the last look.
const LONG: u64 = 8_192;

/// Returns the findings about permits and channels of a run.
pub(super) fn resources(run: &Run) -> impl Iterator<Item = Finding> {
    let permits = run.permits.iter().filter_map(|permits| lost(permits, run));
    let channels = run.channels.iter().filter_map(|growth| grows(growth, run));
    permits.chain(channels)
}

/// A semaphore whose permits are forgotten and never added, and that is in use after the first time. A permit is taken,
/// which may be forgotten as well, or a task waits for one: it is a limit that gets smaller. Otherwise the semaphore
/// has let one user through, on purpose, or its last user has closed it so.
fn lost(permits: &Permits, run: &Run) -> Option<Finding> {
    let is_used = permits.taken != 0 || permits.is_awaited;
    if permits.is_refilled || permits.forgotten == 0 || !is_used {
        return None;
    }
    Some(Finding {
        lint: Lint::LostPermit,
        certainty: Certainty::Probable,
        is_pedantic: false,
        summary: format!(
            "permits of {} are forgotten, and it goes on with fewer",
            name(&permits.side)
        ),
        steps: vec![Step {
            who: permits.owner,
            spawned_at: permits.owner_at.clone(),
            holds: Some(permits.side.clone()),
            ..Step::default()
        }],
        command: run.command.clone(),
        count: permits.forgotten,
    })
}

/// A channel that is received from, and gets longer and longer. One from which nothing is received yet may be filled
/// first, and one that is empty in the end was no problem.
fn grows(growth: &Growth, run: &Run) -> Option<Finding> {
    let is_long = growth.longer >= LOOKS && growth.length >= LONG;
    if !is_long || growth.shorter != 0 || growth.receiver.is_none() {
        return None;
    }
    let made_at = growth.side.made_at.as_deref();
    // Without the column, as other lines are.
    let line = made_at.and_then(|at| Some(at.rsplit_once(':')?.0.to_owned()));
    let side = Side {
        at: line,
        ..growth.side.clone()
    };
    Some(Finding {
        lint: Lint::UnboundedGrowth,
        certainty: Certainty::Probable,
        is_pedantic: false,
        summary: format!(
            "a channel without a limit only gets longer: {} values in the end",
            growth.length
        ),
        steps: vec![
            Step {
                who: growth.receiver,
                spawned_at: growth.receiver_at.clone(),
                takes: Some(side),
                ..Step::default()
            },
            Step {
                who: growth.sender,
                spawned_at: growth.sender_at.clone(),
                ..Step::default()
            },
        ],
        command: run.command.clone(),
        count: 1,
    })
}
