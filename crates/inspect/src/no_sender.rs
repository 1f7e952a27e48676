//! Notes about shared memory that no sender has joined yet.
//!
//! A receiver waits until the first sender has joined, and is woken when the last one has left. So if none is a participant, none
//! has been one: its process has not started, or uses another name or folder.

use std::collections::BTreeMap;

use blitz_io_observe::Mode;

use crate::names::{long_waits, of_segment};
use crate::snapshot::{End, Finding, Snapshot, Wait};

/// Returns the note about each such segment, if one of the receivers is in no finding.
pub(crate) fn notes(snapshot: &Snapshot, findings: &[Finding]) -> Vec<String> {
    let mut segments: BTreeMap<u64, (&End, Vec<&Wait>)> = BTreeMap::new();
    for wait in &snapshot.waits {
        let mut found = findings.iter().flat_map(|finding| &finding.waits);
        let end = end(snapshot, wait).filter(|_| found.all(|other| other.id != wait.id));
        if let Some(end) = end {
            let (_, waits) = segments.entry(end.segment).or_insert((end, vec![]));
            waits.push(wait);
        }
    }
    let notes = segments.values();
    notes.filter_map(|(end, waits)| note(end, waits)).collect()
}

/// Returns the end of a wait for a message, if no sender takes part.
fn end<'a>(snapshot: &'a Snapshot, wait: &Wait) -> Option<&'a End> {
    let end = (wait.semantics.mode == Mode::Receive).then(|| snapshot.end(wait))??;
    let has_sender = end.peers.iter().any(|peer| peer.sends);
    (!has_sender).then_some(end)
}

fn note(end: &End, waits: &[&Wait]) -> Option<String> {
    let (_, receivers_wait) = long_waits(waits, "receiver")?;
    Some(format!(
        "{receivers_wait} for a message of {}: no sender has joined this {} yet",
        of_segment(end),
        end.kind,
    ))
}

#[cfg(test)]
mod tests {
    use blitz_io_observe::Kind;

    use super::*;
    use crate::snapshot::{Object, Peer, Waiter};

    /// A worker of a queue with these participants.
    fn worker(peers: Vec<Peer>) -> Snapshot {
        let end = End {
            object: 7,
            path: "/dev/shm/jobs.ring".into(),
            kind: "queue".into(),
            is_open: true,
            peers,
            ..End::default()
        };
        let object = Object {
            id: 7,
            ..Object::default()
        };
        let wait = Wait {
            object: Some(object),
            waiting_ms: 1_300,
            blocks_thread: true,
            ..Wait::example(1, Waiter::Thread(1), Kind::IpcReceive)
        };
        Snapshot {
            ends: vec![end],
            waits: vec![wait],
            ..Snapshot::default()
        }
    }

    fn peer(sends: bool) -> Peer {
        Peer {
            sends,
            ..Peer::default()
        }
    }

    #[test]
    fn a_queue_without_a_sender_has_a_note() {
        let says = "1 receiver waits (longest 1.3 s) for a message of queue \"/dev/shm/jobs.ring\": no sender has joined this queue yet";
        let mut alone = worker(vec![peer(false)]);
        assert_eq!(notes(&alone, &[]), [says]);
        let with_sender = worker(vec![peer(false), peer(true)]);
        assert!(notes(&with_sender, &[]).is_empty());
        alone.waits[0].waiting_ms = 100;
        assert!(notes(&alone, &[]).is_empty());
    }
}
