//! The recording: one value in JSON, which `blitz-io-inspect` reads.
//!
//! An event is a row of seven numbers: code, nanoseconds of the monotonic clock, kind, target, word of the thread or
//! task, other word, location. The target is a place among `objects`, a number, or the place of a name. A place is a number from 1;
//! 0 is none.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write as _};
use std::hash::Hash;
use std::panic::Location;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use super::event::{self, Code, Event};
use super::{recorder, retired, rings, spawned};
use crate::Kind;
use crate::records::recording::block::Block;
use crate::records::recording::clock::nanos;
use crate::records::recording::json::{Name, Place, Text, command, list};
use crate::records::recording::ticks::{Pair, Scale};
use crate::records::recording::{recorders, request_names, threads};

/// The version of the format.
const FORMAT: u32 = 1;

/// Values, each of which has a place.
struct Places<T> {
    places: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T: Copy + Eq + Hash> Places<T> {
    fn new() -> Self {
        Self {
            places: HashMap::new(),
            all: Vec::new(),
        }
    }

    fn place(&mut self, value: T) -> u64 {
        let all = &mut self.all;
        let place = *self.places.entry(value).or_insert_with(|| {
            all.push(value);
            all.len()
        });
        place as u64
    }
}

/// Returns the events of this process that are in memory. `first`: the moment at which the recorder was started.
pub(super) fn text(first: Pair) -> String {
    let mut words = Vec::new();
    let now = nanos();
    let rings::Lost { count: lost, until } = rings::read(&mut words);
    let scale = Scale::since(first);
    let started = recorder::started();
    // Rings keep the events of earlier recordings, which may be many.
    let of_this_recording = words.iter().filter(|[ticks, ..]| *ticks >= started);
    let mut events: Vec<_> = of_this_recording.filter_map(Event::of_words).collect();
    drop(words);
    events.sort_by_key(|(ticks, _)| *ticks);
    let mut objects = Places::new();
    let mut locations = Places::new();
    // The moves of paused clocks until now.
    let mut moved: u64 = 0;
    let rows = events.iter().filter_map(|(ticks, event)| {
        if event.code == Code::Advance {
            moved = moved.saturating_add(event.other);
            return None;
        }
        let nanos = scale.nanos(*ticks).saturating_add(moved);
        Some(row(nanos, event, &mut objects, &mut locations))
    });
    let rows: Vec<Row> = rows.collect();
    let spawned = spawned::all().into_iter().map(|(task, spawned)| {
        let place = locations.place(event::of_location(spawned.at));
        Spawned([task, place, spawned.is_job.into()])
    });
    let spawned: Vec<Spawned> = spawned.collect();
    let mut text = String::with_capacity(rows.len() * 48 + 4096);
    _ = write!(
        text,
        "{{\"format\":{FORMAT},\"pid\":{},\"command\":{},\"lost\":{lost},\"unix\":{},\"now\":{},\"is_on\":{}",
        process::id(),
        Text(&command()),
        unix(),
        now.saturating_add(moved),
        recorders::traces(),
    );
    // From this moment on, no event of any thread is lost.
    if until > started {
        _ = write!(
            text,
            ",\"whole_from\":{}",
            scale.nanos(until).saturating_add(moved)
        );
    }
    list(
        &mut text,
        "kinds",
        Kind::ALL.iter().map(|kind| Text(kind.name())),
    );
    list(
        &mut text,
        "names",
        request_names::names().iter().map(|name| Text(name)),
    );
    list(
        &mut text,
        "locations",
        locations
            .all
            .iter()
            .map(|&bits| Place(event::location(bits))),
    );
    list(
        &mut text,
        "objects",
        objects
            .all
            .iter()
            .map(|&(target, generation)| Name(name(target, generation))),
    );
    list(
        &mut text,
        "created",
        objects
            .all
            .iter()
            .map(|&(target, generation)| Place(created_at(target, generation))),
    );
    // The numbers that a snapshot has for the objects.
    list(
        &mut text,
        "ids",
        objects.all.iter().map(|(target, _)| target),
    );
    list(
        &mut text,
        "threads",
        threads::all()
            .iter()
            .map(|thread| Thread(thread.number, &thread.name)),
    );
    list(&mut text, "spawned", spawned);
    list(&mut text, "events", rows);
    text.push_str("}\n");
    text
}

/// Returns the nanoseconds since 1970 at which the monotonic clock was 0.
fn unix() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(0));
    now.saturating_sub(nanos())
}

/// Returns the name of an object.
fn name(target: u64, generation: u16) -> Option<&'static str> {
    let known = retired::name((target, generation));
    known.or_else(|| present(target, generation, retired::name_of))
}

/// Returns the location at which an object was created.
fn created_at(target: u64, generation: u16) -> Option<&'static Location<'static>> {
    let known = retired::created_at((target, generation));
    known.or_else(|| present(target, generation, Block::created_at))
}

/// Reads a value from the block of an object. `None` if the block is another object's by then.
fn present<T>(
    target: u64,
    generation: u16,
    read: impl FnOnce(&'static Block) -> Option<T>,
) -> Option<T> {
    let block = event::block(target)?;
    let value = read(block);
    value.filter(|_| block.generation() as u16 == generation)
}

struct Thread<'a>(u64, &'a str);

impl Display for Thread<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"number\":{},\"name\":{}}}", self.0, Text(self.1))
    }
}

/// The word of a task, the place of the line that spawned it, and whether it is a closure for blocking work.
struct Spawned([u64; 3]);

impl Display for Spawned {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [task, at, is_job] = self.0;
        write!(f, "[{task},{at},{is_job}]")
    }
}

struct Row([u64; 7]);

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [code, time, kind, target, waiter, other, at] = self.0;
        write!(f, "[{code},{time},{kind},{target},{waiter},{other},{at}]")
    }
}

fn row(
    nanos: u64,
    event: &Event,
    objects: &mut Places<(u64, u16)>,
    locations: &mut Places<u64>,
) -> Row {
    let mut location = |bits: u64| match event::location(bits).map(Location::file) {
        Some(_) => locations.place(bits & ((1 << 48) - 1)),
        None => 0,
    };
    let (target, other, at) = match event.code {
        Code::Wait
        | Code::Block
        | Code::WaitEnd
        | Code::Acquired
        | Code::Released
        | Code::Permits
        | Code::PermitsBack
        | Code::PermitsForgotten
        | Code::PermitsAdded
        | Code::Operates => {
            let object = (event.target, event::generation(event.other));
            (objects.place(object), 0, location(event.other))
        }
        Code::WaitFor | Code::BlockFor | Code::WaitForEnd => {
            (event::number(event.target), 0, location(event.other))
        }
        Code::Noted => (event::number(event.target), 0, location(event.other)),
        Code::Reason => (event::number(event.target), 0, 0),
        Code::JobQueued | Code::JobBegins | Code::JobEnds => (event::number(event.target), 0, 0),
        Code::Spawn | Code::Wake | Code::ChildSpawn | Code::Aborted => {
            (0, event.other, location(event.target))
        }
        _ => (event.target, event.other, 0),
    };
    Row([
        event.code as u64,
        nanos,
        event.kind.into(),
        target,
        event.waiter,
        other,
        at,
    ])
}
