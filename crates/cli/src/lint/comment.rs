//! Findings that a comment in the program allows, at one of their lines or the line above:
//!
//! ```text
//! // blitz-lint: allow(lock-order): the parent is locked before its children
//! ```
//!
//! The lines of findings have paths as the compiler was given them. A file that is not found from the current folder has
//! no comments.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;

use blitz_io_inspect::lint::{Finding, Lint};

/// The beginning of such a comment, before the name of the lint.
const BEGIN: &str = "blitz-lint: allow(";

/// The comments of the files that were read.
#[derive(Default)]
pub struct Comments(RefCell<HashMap<String, Vec<Comment>>>);

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment {
    /// Its line, from 1.
    line: usize,
    lint: Lint,
    reason: String,
}

impl Comments {
    /// Returns why a finding is allowed.
    pub fn reason(&self, finding: &Finding) -> Option<String> {
        let lines = finding.lines();
        lines.into_iter().find_map(|at| self.at(at, finding.lint))
    }

    fn at(&self, at: &str, lint: Lint) -> Option<String> {
        let (path, line) = at.rsplit_once(':')?;
        let line: usize = line.parse().ok()?;
        let mut files = self.0.borrow_mut();
        let comments = files.entry(path.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(path);
            text.map_or_else(|_| vec![], |text| comments(&text))
        });
        let fits = |comment: &&Comment| {
            comment.lint == lint && (comment.line == line || comment.line + 1 == line)
        };
        comments
            .iter()
            .find(fits)
            .map(|comment| comment.reason.clone())
    }
}

/// Returns the comments of a file. One without a reason, or with an unknown lint, allows nothing.
fn comments(text: &str) -> Vec<Comment> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(place, line)| comment(place + 1, line))
        .collect()
}

fn comment(line: usize, text: &str) -> Option<Comment> {
    let (_, comment) = text.split_once("//")?;
    let (_, rest) = comment.split_once(BEGIN)?;
    let (lint, reason) = rest.split_once("):")?;
    let reason = reason.trim();
    (!reason.is_empty()).then_some(Comment {
        line,
        lint: lint.trim().parse().ok()?,
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_needs_a_known_lint_and_a_reason() {
        let text = "let a = 1; // blitz-lint: allow(lock-order): one at a time\n\
                    // blitz-lint: allow(lock-odor): why\n\
                    // blitz-lint: allow(lock-order):\n\
                    blitz-lint: allow(lock-order): no comment\n";
        let found = comments(text);
        let expected = Comment {
            line: 1,
            lint: Lint::LockOrder,
            reason: "one at a time".into(),
        };
        assert_eq!(found, [expected]);
    }
}
