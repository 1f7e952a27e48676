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

/// Returns the last lines of a task, and of each of its children: this number of each, as many notes, and a few of those before
/// each fault.
pub(super) fn excerpt(lines: Vec<Line>, last: usize) -> Vec<Part> {
    let lines = folded(with_last_faults(lines), last);
    let is_shown = shown(&lines, last);
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
fn shown(lines: &[Line], last: usize) -> Vec<bool> {
    let mut is_shown = vec![false; lines.len()];
    // Notes count apart, so that no other event pushes one out.
    let mut counts: BTreeMap<(Option<&str>, bool), usize> = BTreeMap::new();
    for (at, line) in lines
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, line)| line.is_event())
    {
        let kind = (line.child.as_deref(), line.is_note);
        let count = counts.entry(kind).or_default();
        *count += 1;
        is_shown[at] = *count <= last;
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
        excerpt(lines, last).into_iter().map(text).collect()
    }

    #[test]
    fn a_count_needs_the_lines_that_it_repeats() {
        let mut lines = of_one(&["a", "b", "a", "b", "a", "b", "c"]);
        lines[6].child = Some("child 1".into());
        assert_eq!(excerpt_of(lines.clone(), 0), ["- 7"]);
        // A period that is longer than what is shown is not folded.
        assert_eq!(excerpt_of(lines.clone(), 1), ["- 5", "b", "c"]);
        let folded = ["a", "b", "… the same 2 more times", "c"];
        assert_eq!(excerpt_of(lines, 2), folded);
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
