//! The lines of one task that a report shows: the last ones, and those next to faults.
//!
//! First the repetitions are folded, as a loop may have run for the whole time. Then lines are selected, and the others
//! are counted where they are left out.

use std::collections::BTreeMap;
use std::iter::successors;

use super::line::Line;

/// The largest number of faults next to which the lines of a task are shown: the last ones.
const FAULTS: usize = 4;
/// The least number of repetitions that are folded.
const REPEATED: usize = 3;

/// A part of an excerpt.
pub(super) enum Part {
    Line(Line),
    /// This number of events is left out here.
    LeftOut(usize),
}

impl Part {
    /// Returns the child to which it happened.
    pub(super) fn child(&self) -> Option<&str> {
        match self {
            Self::Line(line) => line.child.as_deref(),
            Self::LeftOut(_) => None,
        }
    }
}

/// Returns the last lines of a task with its children: this number of all of them, as many notes, and a few of those before
/// each fault. `has_ended`: the child of this name has ended.
pub(super) fn excerpt(
    lines: Vec<Line>,
    last: usize,
    has_ended: &dyn Fn(&str) -> bool,
) -> Vec<Part> {
    let lines = folded(with_last_faults(lines), last);
    let is_shown = shown(&lines, last, has_ended);
    let mut parts = Vec::new();
    for (line, is_shown) in lines.into_iter().zip(is_shown) {
        match parts.last_mut() {
            _ if is_shown => parts.push(Part::Line(line)),
            Some(Part::LeftOut(count)) => *count += line.events,
            _ => parts.push(Part::LeftOut(line.events)),
        }
    }
    // A fault is no event of the task.
    parts.retain(|part| !matches!(part, Part::LeftOut(0)));
    parts
}

/// Leaves out the lines of faults but for the last ones.
fn with_last_faults(mut lines: Vec<Line>) -> Vec<Line> {
    let all = lines.iter().filter(|line| line.fault.is_some()).count();
    let mut earlier = all.saturating_sub(FAULTS);
    lines.retain(|line| {
        let is_left_out = line.fault.is_some() && earlier > 0;
        earlier -= usize::from(is_left_out);
        !is_left_out
    });
    lines
}

/// Returns `true` for each line that is shown.
fn shown(lines: &[Line], last: usize, has_ended: &dyn Fn(&str) -> bool) -> Vec<bool> {
    let mut is_shown = vec![false; lines.len()];
    let events = || (0..lines.len()).rev().filter(|&at| lines[at].is_event());
    // Notes count apart, so that no other event pushes one out.
    for at in events().filter(|&at| lines[at].is_note).take(last) {
        is_shown[at] = true;
    }
    let mut shares = shares(lines, last, has_ended);
    for at in events().filter(|&at| !lines[at].is_note) {
        if let Some(left @ 1..) = shares.get_mut(&lines[at].child.as_deref()) {
            *left -= 1;
            is_shown[at] = true;
        }
    }
    // All faults together have as many lines again.
    let of_fault = last.div_ceil(FAULTS);
    let faults = (0..lines.len()).filter(|&at| lines[at].fault.is_some());
    for fault in faults.filter(|_| last > 0) {
        is_shown[fault] = true;
        let before = (0..fault).rev().take_while(|&at| lines[at].fault.is_none());
        for at in before.filter(|&at| lines[at].is_event()).take(of_fault) {
            is_shown[at] = true;
        }
    }
    // A line about repetitions needs those that it repeats.
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.repeats > 0)
    {
        if is_shown[at - 1] {
            is_shown[at - line.repeats..=at].fill(true);
        }
    }
    is_shown
}

/// Divides `all` lines among a task, whose key is `None`, and its children. Half of them are for the task itself, and more if the
/// children have fewer. The children that have not ended come before those that have, and are equal among each other.
fn shares<'a>(
    lines: &'a [Line],
    all: usize,
    has_ended: &dyn Fn(&str) -> bool,
) -> BTreeMap<Option<&'a str>, usize> {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    // The last one comes first.
    let mut children: Vec<&str> = Vec::new();
    let events = lines.iter().rev().filter(|line| line.is_event());
    for line in events.filter(|line| !line.is_note) {
        let child = line.child.as_deref();
        let count = counts.entry(child).or_default();
        *count += 1;
        children.extend(child.filter(|_| *count == 1));
    }
    let own = counts.get(&None).copied().unwrap_or(0);
    let of_children: usize = children.iter().map(|child| counts[&Some(*child)]).sum();
    let of_task = own.min(all.div_ceil(2).max(all.saturating_sub(of_children)));
    let mut shares = BTreeMap::from([(None, of_task)]);
    let mut left = all - of_task;
    let (ended, alive): (Vec<&str>, Vec<&str>) =
        children.into_iter().partition(|child| has_ended(child));
    for children in [alive, ended] {
        let wanted: Vec<usize> = children.iter().map(|child| counts[&Some(*child)]).collect();
        let parts = equal_parts(&wanted, left);
        left -= parts.iter().sum::<usize>();
        shares.extend(children.into_iter().map(Some).zip(parts));
    }
    shares
}

/// Divides `all` into equal parts. No part is larger than the wanted one, and the first parts get the remainder.
fn equal_parts(wanted: &[usize], all: usize) -> Vec<usize> {
    let mut parts = vec![0; wanted.len()];
    let mut left = all;
    while left > 0 && parts != wanted {
        for (part, wanted) in parts.iter_mut().zip(wanted) {
            if *part < *wanted && left > 0 {
                *part += 1;
                left -= 1;
            }
        }
    }
    parts
}

/// Replaces the repetitions of up to `most` lines by a line that counts them.
pub(super) fn folded(lines: Vec<Line>, most: usize) -> Vec<Line> {
    let kinds = kinds(&lines);
    let next = next_alike(&kinds);
    let mut text = Vec::new();
    let mut begin = 0;
    while begin < lines.len() {
        // A period ends where the first line comes again.
        let alike = successors(next[begin], |&at| next[at]);
        let periods = alike
            .map(|at| at - begin)
            .take_while(|&period| period <= most);
        let found = periods.map(|period| (period, repetitions(&kinds[begin..], period)));
        let found = found.filter(|(_, times)| *times >= REPEATED);
        // Of periods that cover as many lines, the shortest.
        let (period, times) = found
            .max_by_key(|(period, times)| (period * times, usize::MAX - period))
            .unwrap_or((1, 1));
        let here = &lines[begin..begin + period * times];
        text.extend_from_slice(&here[..period]);
        if let (2.., Some(last)) = (times, here.last()) {
            text.push(Line::of_repetitions(last, period, times - 1));
        }
        begin += period * times;
    }
    text
}

/// The begin of the sentence about a connection that a listener accepts. Its port is another one each time.
pub(super) const ACCEPTS: &str = "accepts a connection of ";

/// Returns the parts of a line's text that a repetition has, too.
fn without_port(text: &str) -> (&str, &str) {
    let Some(peer) = text.strip_prefix(ACCEPTS) else {
        return (text, "");
    };
    let (peer, rest) = peer.split_once(", at ").unwrap_or((peer, ""));
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    (&text[..ACCEPTS.len() + host.len()], rest)
}

/// Returns a number for each line, which is the same for lines that differ only by their moments, and by the port of a peer. A fault is like no other
/// line: what is before it is not folded with what is after it.
fn kinds<'a>(lines: &'a [Line]) -> Vec<usize> {
    let mut known: BTreeMap<(&'a str, &'a str), usize> = BTreeMap::new();
    let kind = |(at, line): (usize, &'a Line)| match line.fault {
        Some(_) => at,
        None => *known.entry(without_port(&line.text)).or_insert(at),
    };
    lines.iter().enumerate().map(kind).collect()
}

/// Returns for each line the index of the next one of its kind.
fn next_alike(kinds: &[usize]) -> Vec<Option<usize>> {
    let mut seen = BTreeMap::new();
    let backwards = kinds.iter().enumerate().rev();
    let mut next: Vec<_> = backwards.map(|(at, kind)| seen.insert(kind, at)).collect();
    next.reverse();
    next
}

/// Returns the number of repetitions of the first lines, one after the other.
fn repetitions(kinds: &[usize], period: usize) -> usize {
    let mut parts = kinds.chunks_exact(period);
    let Some(first) = parts.next() else {
        return 0;
    };
    1 + parts.take_while(|part| *part == first).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns lines with these texts, of task 1; those that begin with `!` are faults of host 1.
    fn of_one(texts: &[&str]) -> Vec<Line> {
        let line = |text: &&str| Line {
            fault: text.starts_with('!').then(|| vec![1]),
            ..Line::new(Some(1), None, text)
        };
        texts.iter().map(line).collect()
    }

    fn excerpt_of(lines: Vec<Line>, last: usize) -> Vec<String> {
        let text = |part| match part {
            Part::Line(line) => line.text,
            Part::LeftOut(count) => format!("- {count}"),
        };
        let parts = excerpt(lines, last, &|child| child.starts_with("ended"));
        parts.into_iter().map(text).collect()
    }

    #[test]
    fn a_count_needs_the_lines_that_it_repeats() {
        let mut lines = of_one(&["a", "b", "a", "b", "a", "b", "c"]);
        lines[6].child = Some("child 1".into());
        assert_eq!(excerpt_of(lines.clone(), 0), ["- 7"]);
        // A period that is longer than what is shown is not folded.
        assert_eq!(excerpt_of(lines.clone(), 1), ["- 5", "b", "- 1"]);
        let folded = ["a", "b", "… the same 2 more times", "c"];
        assert_eq!(excerpt_of(lines, 2), folded);
    }

    /// Returns lines of these children, or for `-` of the task itself, with numbers as texts.
    fn of_children(children: &[&str]) -> Vec<Line> {
        let line = |(at, child): (usize, &&str)| Line {
            child: (*child != "-").then(|| (*child).to_owned()),
            ..Line::new(Some(1), None, &at.to_string())
        };
        children.iter().enumerate().map(line).collect()
    }

    #[test]
    fn a_task_and_its_children_have_one_budget() {
        // Half of it is for the task itself.
        let lines = of_children(&["-", "-", "-", "a", "a", "a", "b", "b", "b"]);
        let shown = excerpt_of(lines, 4);
        assert_eq!(shown, ["- 1", "1", "2", "- 2", "5", "- 2", "8"]);
        // It is more if the children have less.
        let lines = of_children(&["-", "-", "-", "-", "a"]);
        assert_eq!(excerpt_of(lines, 4), ["- 1", "1", "2", "3", "4"]);
        // A child that has ended comes last.
        let lines = of_children(&["a", "a", "ended", "ended", "-"]);
        assert_eq!(excerpt_of(lines, 4), ["0", "1", "- 1", "3", "4"]);
    }

    #[test]
    fn a_turn_of_any_length_that_fits_is_folded() {
        let turn: Vec<String> = (0..20).map(|at| format!("line {at}")).collect();
        let texts: Vec<&str> = turn.iter().cycle().take(105).map(|text| &**text).collect();
        let shown = excerpt_of(of_one(&texts), 20);
        assert_eq!(shown.len(), 26, "{shown:?}");
        assert_eq!(
            (&*shown[20], &*shown[25]),
            ("… the same 4 more times", "line 4")
        );
        assert_eq!(excerpt_of(of_one(&texts), 19)[0], "- 86");
    }

    #[test]
    fn lines_before_a_fault_are_shown() {
        let mut texts = vec!["a", "b", "c", "!crash"];
        texts.extend(["d"; 50]);
        texts.extend(["e", "f", "g", "h"]);
        let shown = excerpt_of(of_one(&texts), 4);
        assert_eq!(shown, ["- 2", "c", "!crash", "- 50", "e", "f", "g", "h"]);
        // What is before it is not folded with what is after it.
        let shown = excerpt_of(of_one(&["a", "a", "a", "!cut", "a", "a", "a"]), 4);
        let folded = ["a", "… the same 2 more times"];
        assert_eq!(shown, [&folded[..], &["!cut"], &folded].concat());
        // Of many faults the last ones.
        let shown = excerpt_of(of_one(&["a", "!1", "b", "!2", "!3", "!4", "!5", "c"]), 1);
        assert_eq!(shown, ["- 1", "b", "!2", "!3", "!4", "!5", "c"]);
    }

    #[test]
    fn connections_fold_although_their_ports_differ() {
        let texts: Vec<String> = (0..5)
            .map(|port| format!("accepts a connection of b:{port}, at a.rs:1"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let folded = [texts[0], "… the same 4 more times"];
        assert_eq!(excerpt_of(of_one(&texts), 20), folded);
        let others = [
            "accepts a connection of b:1, at a.rs:1",
            "accepts a connection of c:1, at a.rs:1",
        ];
        let others = [&others[..], &others, &others[..1]].concat();
        assert_eq!(excerpt_of(of_one(&others), 1).len(), 2);
    }
}
