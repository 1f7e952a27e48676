//! The critical path of a request, as a tree: its parts, and within a wait the parts of the task that kept it waiting.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::cause::{Category, Cause};
use super::lives::Request;
use super::names::who;
use super::processes::local;
use super::recording::sum;
use super::split::{Piece, Splitter};
use crate::snapshot::Waiter;

/// The depth of a tree.
const DEEPEST: u32 = 4;
/// A part that is smaller than this part of the request is left out.
const SMALLEST: u64 = 50;
/// Of more pieces than this, a tree shows some.
const TOO_MANY: usize = 1 << 16;
/// The most parts of one node.
const MOST: usize = 8;

/// A part of a request's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// What happened.
    pub what: String,
    /// The line of the program, or an empty string.
    pub at: String,
    /// The time, in nanoseconds.
    pub nanos: u64,
    /// Number of waits, or of times that a thread ran it.
    pub count: u64,
    /// Who kept it waiting.
    pub behind: Option<String>,
    /// The parts of a request. Those of a wait are the actions of the task that kept the request waiting.
    pub parts: Vec<Node>,
}

/// The depth of a tree with all parts.
const DEEPEST_OF_ALL: u32 = 3;

/// Makes trees.
pub(super) struct Paths<'a> {
    splitter: Splitter<'a>,
    deepest: u32,
    most: usize,
}

/// Pieces with the same cause, and the same one behind them.
type Key = (Cause, Option<Waiter>);

impl<'a> Paths<'a> {
    pub(super) fn new(splitter: Splitter<'a>) -> Self {
        Self {
            splitter,
            deepest: DEEPEST,
            most: MOST,
        }
    }

    /// Makes trees that leave no part out.
    pub(super) fn whole(splitter: Splitter<'a>) -> Self {
        Self {
            splitter,
            deepest: DEEPEST_OF_ALL,
            most: usize::MAX,
        }
    }

    /// Returns the parts that these pieces have together.
    pub(super) fn of(&self, pieces: &[Piece]) -> Vec<Node> {
        self.parts(pieces, 0, 0)
    }

    /// Returns the tree of a request with these pieces.
    pub(super) fn request(&self, request: &Request, pieces: &[Piece]) -> Node {
        let Splitter {
            recording, lives, ..
        } = self.splitter;
        let nanos = request.to - request.from;
        Node {
            what: format!(
                "{} (request {})",
                recording.name(request.name),
                local(request.id)
            ),
            at: String::new(),
            nanos,
            count: 1,
            behind: Some(who(recording, lives, request.waiter)),
            parts: self.parts(pieces, nanos / SMALLEST, 0),
        }
    }

    fn parts(&self, pieces: &[Piece], smallest: u64, depth: u32) -> Vec<Node> {
        let mut groups: HashMap<Key, Vec<Piece>> = HashMap::new();
        for piece in pieces {
            groups.entry(self.key(piece)).or_default().push(*piece);
        }
        let sum = |pieces: &[Piece]| sum(pieces.iter().map(Piece::nanos));
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.retain(|(_, pieces)| sum(pieces) > smallest);
        groups.sort_by_key(|(_, pieces)| (std::cmp::Reverse(sum(pieces)), pieces[0].from));
        groups.truncate(self.most);
        groups
            .iter()
            .map(|(_, pieces)| self.node(pieces, sum(pieces), smallest, depth))
            .collect()
    }

    /// Waits for a lock are one part: it may have many holders one after the other.
    fn key(&self, piece: &Piece) -> Key {
        let is_lock = piece.cause.category == Category::Lock;
        let behind = piece.behind.filter(|_| !is_lock);
        (piece.cause.group(self.splitter.recording), behind)
    }

    /// Returns the pieces of the tasks that kept these pieces waiting, and the number of those tasks.
    fn meanwhile(&self, pieces: &[Piece]) -> (Vec<Piece>, usize) {
        let recording = self.splitter.recording;
        let same = pieces[0].cause.group(recording);
        let mut found: Vec<Piece> = vec![];
        let mut all = HashSet::new();
        let mut add = |by, from, to| {
            all.insert(by);
            if found.len() > TOO_MANY {
                return;
            }
            // The task may have waited there before, which explains nothing.
            let parts = self.splitter.within(by, from, to).into_iter();
            found.extend(parts.filter(|piece| piece.cause.group(recording) != same));
        };
        for piece in pieces {
            let (from, to) = (piece.from, piece.to);
            match piece.cause.category {
                Category::Lock => {
                    let lives = self.splitter.lives;
                    let holds = lives.holds(piece.cause.object, from, to, piece.waiter);
                    for hold in holds {
                        add(hold.holder, hold.from, hold.to);
                    }
                }
                Category::Permit | Category::Channel | Category::Event | Category::Task => {
                    if let Some(by) = piece.behind {
                        add(by, from, to);
                    }
                }
                _ => {}
            }
        }
        (found, all.len())
    }

    fn node(&self, pieces: &[Piece], nanos: u64, smallest: u64, depth: u32) -> Node {
        let Splitter {
            recording, lives, ..
        } = self.splitter;
        let cause = pieces[0].cause;
        let category = cause.category.name();
        let what = match cause.group(recording).text(recording) {
            what if what.is_empty() => category.to_owned(),
            what => format!("{category} {what}"),
        };
        let longest = pieces.iter().max_by_key(|piece| piece.nanos());
        let behind = longest.and_then(|piece| piece.behind);
        let (meanwhile, others) = self.meanwhile(pieces);
        let behind = behind.map(|by| match (who(recording, lives, by), others) {
            (by, 0 | 1) => by,
            (by, 2) => format!("{by} and one more"),
            (by, count) => format!("{by} and {} more", count - 1),
        });
        let parts = if depth + 1 < self.deepest {
            self.parts(&meanwhile, smallest, depth + 1)
        } else {
            vec![]
        };
        Node {
            what,
            at: recording
                .location(cause.location)
                .unwrap_or_default()
                .to_owned(),
            nanos,
            count: pieces.len() as u64,
            behind,
            parts,
        }
    }
}
