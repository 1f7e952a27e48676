//! The importers of one queue, and the items that they hold.
//!
//! A pure state machine of the exporter, like `window.rs`.
//!
//! **Places.** Each importer announces the number of items that it has room for. The items that it holds are
//! counted, never stored as a number, so no order of events can make that number wrong.
//!
//! 1. A worker [reserves](Importers::reserve) a place before it takes an item from the segment.
//!    Reserved places belong to no importer yet.
//! 2. If places vanish, with an importer or because it has less room, workers without an item
//!    [withdraw](Importers::withdraw). So an item waits in the segment, where a local consumer
//!    finds it, and not with a worker.
//! 3. A worker that has an item [gives](Importers::give) it to the importer with the most room.
//!    If none has room any more, or if the item comes back, the worker puts it back.
//!
//! **Numbers.** An importer that starts again has forgotten its items, and so has one that
//! this gateway had given up: other hosts may have them by now. Each time it gets a new number here.
//! An item belongs to one number of one host, and only that host can say that it is done.

use std::collections::HashMap;
use std::time::Duration;

use crate::silence::Silence;
use crate::wire::{Credit, JobId};

/// The most items that one importer holds, and the most that one exporter does.
pub const IN_FLIGHT: usize = 16;

/// The state of an item that was given to an importer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// The importer holds it.
    Yes,
    /// A consumer is done with it.
    Done,
    /// The importer is lost, or has forgotten the item.
    Lost,
}

struct Importer {
    number: u64,
    run: u64,
    room: u32,
    silence: Silence,
}

struct Given {
    host: String,
    number: u64,
    done: bool,
}

/// The importers of one queue, with the items that this exporter has given them.
#[derive(Default)]
pub struct Importers {
    importers: HashMap<String, Importer>,
    given: HashMap<JobId, Given>,
    /// Number of workers that have reserved a place and have no item yet.
    reserved: usize,
    /// The last number of an importer.
    number: u64,
}

impl Importers {
    /// Notes how much room an importer has. Ignores a new importer if `hosts` are known already.
    pub fn credit(&mut self, host: &str, credit: &Credit, hosts: usize) {
        let known = self.importers.get(host).map(|importer| importer.run);
        if known.is_none() && self.importers.len() >= hosts {
            return;
        }
        if known != Some(credit.run) {
            self.number += 1;
            let importer = Importer {
                number: self.number,
                run: credit.run,
                room: 0,
                silence: Silence::default(),
            };
            self.importers.insert(host.to_owned(), importer);
        }
        if let Some(importer) = self.importers.get_mut(host) {
            importer.room = credit.items.min(IN_FLIGHT as u32);
            importer.silence.broken();
        }
    }

    /// Notes that a consumer of this host is done with an item. Only the host that has
    /// the item can say so.
    pub fn done(&mut self, host: &str, id: JobId) {
        if let Some(given) = self.given.get_mut(&id) {
            given.done |= given.host == host;
        }
    }

    /// Forgets importers without a sign of life, an interval of this nominal length after the last
    /// call. Returns `true` if it forgot any.
    pub fn expire(&mut self, interval: Duration, lost_after: Duration) -> bool {
        let before = self.importers.len();
        self.importers.retain(|_, importer| {
            importer.silence.lasts(interval);
            !importer.silence.reaches(lost_after)
        });
        self.importers.len() != before
    }

    /// Returns the free places of each importer.
    fn free(&self) -> impl Iterator<Item = (&String, &Importer, usize)> {
        self.importers.iter().map(|(host, importer)| {
            let holds = |given: &&Given| given.number == importer.number;
            let holds = self.given.values().filter(holds).count();
            (
                host,
                importer,
                (importer.room as usize).saturating_sub(holds),
            )
        })
    }

    fn places(&self) -> usize {
        self.free().map(|(.., free)| free).sum()
    }

    /// Reserves a place for an item that a worker is going to take. Returns `false` if none is free.
    pub fn reserve(&mut self) -> bool {
        let has_place = self.reserved < self.places();
        self.reserved += usize::from(has_place);
        has_place
    }

    /// Gives a reserved place back if there are fewer places than reservations. Returns `true` if it
    /// did.
    pub fn withdraw(&mut self) -> bool {
        let is_excess = self.reserved > self.places();
        self.reserved -= usize::from(is_excess);
        is_excess
    }

    /// Gives a reserved place back.
    pub fn release(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Uses up a reservation, and gives the item to the importer with the most room. Returns the host,
    /// or `None` if no importer has room any more.
    pub fn give(&mut self, id: JobId) -> Option<String> {
        self.release();
        let most = self.free().max_by_key(|&(.., free)| free);
        let (host, importer, _) = most.filter(|&(.., free)| free > 0)?;
        let given = Given {
            host: host.clone(),
            number: importer.number,
            done: false,
        };
        let host = given.host.clone();
        self.given.insert(id, given);
        Some(host)
    }

    /// Returns the state of an item that was given away.
    pub fn look(&self, id: JobId) -> Held {
        let Some(given) = self.given.get(&id) else {
            return Held::Lost;
        };
        let importer = self.importers.get(&given.host);
        let is_held = importer.is_some_and(|importer| importer.number == given.number);
        match (given.done, is_held) {
            (true, _) => Held::Done,
            (false, true) => Held::Yes,
            (false, false) => Held::Lost,
        }
    }

    /// Forgets an item, which the importer does not hold any more.
    pub fn take_back(&mut self, id: JobId) {
        self.given.remove(&id);
    }

    /// Returns the number of items that no consumer is done with yet.
    pub fn unconfirmed(&self) -> usize {
        self.given.len()
    }
}
