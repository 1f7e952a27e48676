//! Names of objects: the same in all reports.
//!
//! The name that the program gave comes first. An object without one is known by the line that created it, and has a
//! number if that line created several. Addresses are in the JSON only.

use std::collections::BTreeSet;

use crate::names::{is_of_channel, is_of_std, short};
use crate::snapshot::{Object, Resource, Snapshot, Waiter, process_and_number};

/// Set in the number of an object of a simulation, which has it in the order of the run. Other objects have addresses.
pub(crate) const NUMBERED_OBJECT: u64 = 1 << 63;

/// Returns the name of an object for people: `Mutex "accounts"`, `Mutex created at src/lib.rs:51`, or
/// `Mutex #2 created at src/lib.rs:51` if the snapshot has several of that line. `kind`: that of the object or of a wait for it.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::{Object, of_object};
///
/// let mut object = Object { created_at: "src/lib.rs:51".into(), ..Object::default() };
/// let name = of_object(&Default::default(), "Mutex", &object);
/// assert_eq!(name, "Mutex created at src/lib.rs:51");
/// object.name = Some("accounts".into());
/// assert_eq!(of_object(&Default::default(), "Mutex", &object), "Mutex \"accounts\"");
/// ```
#[must_use]
pub fn of_object(snapshot: &Snapshot, kind: &str, object: &Object) -> String {
    match &object.name {
        Some(name) => format!("{kind} \"{name}\""),
        None if is_numbered(object) => format!("{kind} #{}", object.id & !NUMBERED_OBJECT),
        None => {
            let place = creation(snapshot, object);
            without_name(kind, number(snapshot, kind, object), place.as_deref())
        }
    }
}

/// Returns the name of an object to which the program gave none.
pub(crate) fn without_name(kind: &str, number: Option<usize>, created_at: Option<&str>) -> String {
    let mut name = kind.to_owned();
    if let Some(number) = number {
        name += &format!(" #{number}");
    }
    if let Some(place) = created_at {
        name += &format!(" created at {place}");
    }
    name
}

/// Returns `true` if the object has its number in the order of a simulated run.
pub(crate) fn is_numbered(object: &Object) -> bool {
    object.id & NUMBERED_OBJECT != 0
}

/// Returns the holder of an object, unless it is also among its readers, as those that have permits of a semaphore are.
pub(crate) fn holder_alone(object: &Object) -> Option<Waiter> {
    object
        .holder
        .filter(|holder| !object.readers.contains(holder))
}

/// Returns the place at which an object was created.
pub(crate) fn created_at(object: &Object) -> Option<&str> {
    of_creation(&object.created_at)
}

/// Returns the same place, with its column if the waits of the snapshot have another object of that line with another one.
pub(crate) fn creation(snapshot: &Snapshot, object: &Object) -> Option<String> {
    let place = created_at(object)?;
    let mut others = snapshot
        .waits
        .iter()
        .filter_map(|wait| wait.object.as_ref());
    let differs = |other: &Object| {
        other.created_at == object.created_at && other.created_column != object.created_column
    };
    Some(match object.created_column {
        column @ 1.. if others.any(differs) => format!("{place}:{column}"),
        _ => place.to_owned(),
    })
}

/// Returns the place of a creation, unless it is not known or one of std: `Arc::default` creates what it contains.
pub(crate) fn of_creation(place: &str) -> Option<&str> {
    (!place.is_empty() && !is_of_std(place)).then(|| short(place))
}

/// Returns the number of an object among those of its process and type that have no name and were created at the same
/// place, from 1. `None` if the snapshot has no other one.
fn number(snapshot: &Snapshot, kind: &str, object: &Object) -> Option<usize> {
    let process = process_and_number(object.id).0;
    let of_waits = (snapshot.waits.iter())
        .filter_map(|wait| Some((wait.object.as_ref()?, wait.kind.as_str())));
    let resources = snapshot.objects.iter().flatten();
    let of_resources = resources.map(|resource| (&resource.object, kind_of(resource)));
    let alike = of_waits.chain(of_resources).filter(|(other, other_kind)| {
        let is_here = process_and_number(other.id).0 == process;
        other.name.is_none()
            && is_here
            && created_at(other) == created_at(object)
            && type_of(other_kind) == type_of(kind)
    });
    let ids: BTreeSet<u64> = alike.map(|(other, _)| other.id).collect();
    let at = ids.iter().position(|id| *id == object.id)?;
    (ids.len() > 1).then_some(at + 1)
}

/// Returns the kind of the waits for an object. A channel for which no wait has ended has none.
fn kind_of(resource: &Resource) -> &str {
    let mut contention = resource.contention.iter();
    contention.next().map_or(CHANNEL, |totals| &totals.kind)
}

const CHANNEL: &str = "channel";

/// Returns the type of the object of a wait of this kind: `RwLock` of `RwLock (read)`. All channels are one type, as a report
/// names a channel without a wait so.
pub(crate) fn type_of(kind: &str) -> &str {
    if is_of_channel(kind) {
        return CHANNEL;
    }
    kind.split_once(" (").map_or(kind, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Contention, Wait};
    use blitz_io_observe::Kind;

    fn object(id: u64, created_at: &str) -> Object {
        Object {
            id,
            created_at: created_at.into(),
            ..Object::default()
        }
    }

    fn resource(kind: &str, id: u64, created_at: &str) -> Resource {
        let contention = Contention {
            kind: kind.into(),
            ..Contention::default()
        };
        Resource {
            object: object(id, created_at),
            contention: vec![contention],
            ..Resource::default()
        }
    }

    fn of(snapshot: &Snapshot, id: u64, created_at: &str) -> String {
        of_object(snapshot, "Mutex", &object(id, created_at))
    }

    #[test]
    fn objects_of_one_line_have_numbers() {
        let std = "/rustc/59807616e/library/alloc/src/sync.rs:7";
        let second_process = crate::snapshot::with_process(1, 1);
        let objects = [
            (3, "a.rs:1"),
            (2, "a.rs:1"),
            (4, "a.rs:2"),
            (5, ""),
            (6, std),
            (second_process, "a.rs:2"),
        ];
        let snapshot = Snapshot {
            objects: Some(
                objects
                    .map(|(id, place)| resource("Mutex", id, place))
                    .to_vec(),
            ),
            ..Snapshot::default()
        };
        let names = objects.map(|(id, created_at)| of(&snapshot, id, created_at));
        assert_eq!(
            names,
            [
                "Mutex #2 created at a.rs:1",
                "Mutex #1 created at a.rs:1",
                "Mutex created at a.rs:2",
                // The line of std says nothing.
                "Mutex #1",
                "Mutex #2",
                "Mutex created at a.rs:2",
            ]
        );
    }

    #[test]
    fn objects_of_other_types_are_not_counted() {
        let snapshot = Snapshot {
            objects: Some(vec![
                resource("Mutex", 1, ""),
                resource("RwLock (read)", 2, ""),
                resource("mpsc::Receiver", 3, ""),
                Resource {
                    object: object(4, ""),
                    ..Resource::default()
                },
            ]),
            ..Snapshot::default()
        };
        let name = |kind, id| of_object(&snapshot, kind, &object(id, ""));
        assert_eq!(name("Mutex", 1), "Mutex");
        assert_eq!(name("RwLock (write)", 2), "RwLock (write)");
        assert_eq!(name("mpsc::Sender", 3), "mpsc::Sender #1");
        assert_eq!(name("channel", 4), "channel #2");
    }

    /// Two locks of one line: their columns tell them apart. Those of one call in a loop have numbers only.
    #[test]
    fn objects_of_one_line_have_columns_if_these_differ() {
        let at = |id, created_column| Object {
            created_column,
            ..object(id, "a.rs:1")
        };
        let wait = |object: Object| {
            let mut wait = Wait::example(object.id, Waiter::Task(object.id), Kind::Mutex);
            wait.object = Some(object);
            wait
        };
        let name = |columns: [u32; 2]| {
            let objects = [at(1, columns[0]), at(2, columns[1])];
            let snapshot = Snapshot {
                waits: objects.clone().map(wait).to_vec(),
                ..Snapshot::default()
            };
            objects.map(|object| of_object(&snapshot, "Mutex", &object))
        };
        let with_columns = [
            "Mutex #1 created at a.rs:1:9",
            "Mutex #2 created at a.rs:1:31",
        ];
        assert_eq!(name([9, 31]), with_columns);
        let alike = ["Mutex #1 created at a.rs:1", "Mutex #2 created at a.rs:1"];
        assert_eq!(name([9, 9]), alike);
    }

    /// The report of a simulation has the same numbers as the events.
    #[test]
    fn a_number_of_a_run_is_the_name() {
        let id = NUMBERED_OBJECT | 5;
        assert_eq!(of(&Snapshot::default(), id, "a.rs:1"), "Mutex #5");
    }
}
