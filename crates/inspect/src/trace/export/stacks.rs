//! What requests waited for, as stacks: the request, the wait, and what those did that it waited behind. The time of a
//! stack is that of requests off the processor.

use std::collections::BTreeMap;

use crate::trace::lives::Lives;
use crate::trace::path::{Node, Paths};
use crate::trace::recording::Recording;
use crate::trace::split::{Piece, Splitter};

/// Frames, the outermost first.
pub(super) type Stack = Vec<Frame>;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Frame {
    pub(super) name: String,
    /// The line of the program, or an empty string.
    pub(super) at: String,
}

/// The sum of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) nanos: u64,
    /// Number of waits.
    pub(super) count: u64,
}

/// Returns all stacks of a recording, in the order of their frames.
pub(super) fn stacks(recording: &Recording) -> BTreeMap<Stack, Sum> {
    let lives = Lives::new(recording);
    let splitter = Splitter::new(recording, &lives);
    let paths = Paths::whole(splitter);
    let mut stacks = BTreeMap::new();
    for request in &lives.requests {
        let mut pieces: Vec<Piece> = splitter.request(request);
        pieces.retain(|piece| !piece.cause.category.is_running());
        let mut stack = vec![Frame {
            name: recording.name(request.name).to_owned(),
            at: String::new(),
        }];
        for node in paths.of(&pieces) {
            add(&node, node.nanos, &mut stack, &mut stacks);
        }
    }
    stacks
}

/// Adds a node. `nanos`: its time; its parts may overlap and then have more together.
fn add(node: &Node, nanos: u64, stack: &mut Stack, stacks: &mut BTreeMap<Stack, Sum>) {
    stack.push(Frame {
        name: node.what.clone(),
        at: node.at.clone(),
    });
    let mut rest = nanos;
    for part in &node.parts {
        let part_of_it = part.nanos.min(rest);
        rest -= part_of_it;
        if part_of_it != 0 {
            add(part, part_of_it, stack, stacks);
        }
    }
    if rest != 0 {
        let sum = stacks.entry(stack.clone()).or_default();
        sum.nanos = sum.nanos.saturating_add(rest);
        sum.count += node.count;
    }
    stack.pop();
}
