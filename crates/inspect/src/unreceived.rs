//! Notes about full channels from which nothing has been received yet.
//!
//! The ender of a wait for room is the last receiver. Here is none: the record does not say which task has the receiver. It may do
//! something else first, or wait for room in another channel itself.
//!
//! Not all channels record who receives: `mpmc` has many receivers, which would share the place of the record. So the note is only
//! of kinds whose waits are ended by the last user.

use std::collections::BTreeMap;

use blitz_io_observe::{EndedBy, Mode};

use crate::names::{long_waits, of_target};
use crate::snapshot::{Finding, Snapshot, Wait};

/// Returns the note about each such channel, if one of the waiters is in no finding.
pub(crate) fn notes(snapshot: &Snapshot, findings: &[Finding]) -> Vec<String> {
    let mut channels: BTreeMap<u64, Vec<&Wait>> = BTreeMap::new();
    for wait in &snapshot.waits {
        let mut all = findings.iter().flat_map(|finding| &finding.waits);
        if let Some(channel) = channel(wait).filter(|_| all.all(|other| other.id != wait.id)) {
            channels.entry(channel).or_default().push(wait);
        }
    }
    let notes = channels.iter();
    let notes = notes.filter_map(|(&channel, waits)| note(snapshot, channel, waits));
    notes.collect()
}

/// Returns the channel of a wait for room, if it would record its receivers and has none.
fn channel(wait: &Wait) -> Option<u64> {
    let object = wait.object.as_ref()?;
    let semantics = &wait.semantics;
    let records_receivers = semantics.mode == Mode::Send && semantics.ended_by == EndedBy::LastUser;
    let is_it = records_receivers && !wait.is_timed && object.receiver.is_none();
    is_it.then_some(object.id)
}

fn note(snapshot: &Snapshot, channel: u64, waits: &[&Wait]) -> Option<String> {
    let fill = snapshot.channel(channel)?;
    let capacity = fill
        .capacity
        .filter(|&room| room != 0 && fill.used >= room)?;
    let (longest, senders_wait) = long_waits(waits, "sender")?;
    Some(format!(
        "{senders_wait} for room in {}: it is full ({} of {capacity} values), and nothing has been received from it yet",
        of_target(snapshot, longest).replacen("::Sender", " channel", 1),
        fill.used,
    ))
}
