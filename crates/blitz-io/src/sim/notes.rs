//! `Notes`: what the recorder does not know of a run: faults, packets that are held or lost, and what tasks do with
//! sockets.
//!
//! A run that is not explained has no notes. The steps, the sentences about tasks and the reasons of wake-ups have numbers, under
//! which the recorder has them among its events, so that all are in the right order (`words.rs` in `blitz-io-inspect`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use blitz_io_inspect::short_place;

use super::drawn::AllDrawn;
use super::places::{is_internal, is_of_injectors, is_of_std};

/// The largest number of records, steps and sentences of a run that are kept for its report. A record of the recorder has 32 bytes.
pub(super) const EVENTS: usize = if cfg!(miri) { 1 << 12 } else { 1 << 20 };
/// The number of faults that are shown.
const FAULTS: usize = 20;
/// The number of other events of the network that are shown.
const PACKETS: usize = 10;

/// The number of the next sentence. No other run of the process has it, whose events the recorder has, too.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A kind of fault that is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
pub(super) enum Fault {
    Crash,
    Blackout,
    Kill,
    Pause,
    Cut,
    Links,
    Clock,
    #[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "hosts have no files"))]
    Disk,
}

impl Fault {
    fn count(self, count: u32) -> String {
        let (one, more) = match self {
            Self::Crash => ("crash", "crashes"),
            Self::Blackout => ("blackout", "blackouts"),
            Self::Kill => ("kill", "kills"),
            Self::Pause => ("pause", "pauses"),
            Self::Cut => ("cut", "cuts"),
            Self::Links => ("change of links", "changes of links"),
            Self::Clock => ("change of a clock", "changes of clocks"),
            Self::Disk => ("change of a disk", "changes of disks"),
        };
        format!("{count} {}", if count == 1 { one } else { more })
    }
}

/// A moment of a run.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    /// Number of the step.
    pub(super) step: u64,
    /// The simulated time since the run has begun.
    pub(super) at: Duration,
}

/// Something that has happened to hosts or packets.
pub(super) struct Happened {
    pub(super) moment: Moment,
    /// Its number, which is between those of the steps before and after it.
    pub(super) number: u64,
    pub(super) text: String,
    /// It is about a packet or a connection, and no fault.
    is_packet: bool,
    /// The hosts that a fault concerns which begins here; empty if it is none, or concerns all.
    pub(super) hosts: Vec<u32>,
}

/// The last ones of these events.
#[derive(Default)]
struct Last {
    events: VecDeque<Happened>,
    left_out: usize,
}

impl Last {
    fn push(&mut self, event: Happened) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
            self.left_out += 1;
        }
        self.events.push_back(event);
    }

    /// Adds the last ones to `to`, at most `most`. Returns the number of the others.
    fn show<'a>(&'a self, most: usize, to: &mut Vec<&'a Happened>) -> usize {
        let earlier = self.events.len().saturating_sub(most);
        to.extend(self.events.iter().skip(earlier));
        self.left_out + earlier
    }
}

/// A history that is not linearizable.
pub(super) struct OfHistory {
    /// Its operations, in lines.
    pub(super) operations: String,
    /// The numbers in the run of the tasks that have made them. Those that matter most come first.
    pub(super) tasks: Vec<u64>,
}

/// See the module documentation.
#[derive(Default)]
pub(super) struct Notes {
    /// The last history that is not linearizable.
    pub(super) history: Option<OfHistory>,
    sentences: BTreeMap<u64, String>,
    /// Their numbers, the oldest one first.
    numbers: VecDeque<u64>,
    /// The number of an empty one.
    unknown: Option<u64>,
    faults: Last,
    packets: Last,
    /// The random numbers of the run.
    pub(super) drawn: AllDrawn,
    counts: BTreeMap<Fault, u32>,
    /// Number of crashes that are parts of blackouts. `counts` does not have them.
    in_blackouts: u32,
    /// The kinds of faults that the test injects, and whether this run has switched each one on.
    injected: Vec<(&'static str, bool)>,
    /// There is a host.
    has_hosts: bool,
    /// The names that the program has given tasks, by their numbers in the process.
    names: BTreeMap<u64, String>,
}

impl Notes {
    /// Keeps a sentence, and returns its number.
    pub(super) fn keep(&mut self, sentence: String) -> u64 {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if self.numbers.len() == EVENTS {
            let oldest = self.numbers.pop_front();
            oldest.and_then(|oldest| self.sentences.remove(&oldest));
        }
        self.numbers.push_back(number);
        self.sentences.insert(number, sentence);
        number
    }

    /// Returns the number of a step or of an event without a task, which no sentence has.
    pub(super) fn step() -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number that says that no reason is known.
    pub(super) fn no_reason(&mut self) -> u64 {
        match self.unknown {
            Some(number) => number,
            None => {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                self.sentences.insert(number, String::new());
                *self.unknown.insert(number)
            }
        }
    }

    /// The program has given this task a name.
    pub(super) fn named(&mut self, task: u64, name: &str) {
        self.names.insert(task, name.to_owned());
    }

    /// Returns the name that the program has given a task.
    pub(super) fn name_of(&self, task: u64) -> Option<&str> {
        self.names.get(&task).map(String::as_str)
    }

    /// Returns the sentences, by their numbers.
    pub(super) fn sentences(&self) -> &BTreeMap<u64, String> {
        &self.sentences
    }

    /// A packet or a connection is held, lost or sent again.
    pub(super) fn packet(&mut self, moment: Moment, text: String) {
        self.packets.push(Happened {
            moment,
            number: Self::step(),
            text,
            is_packet: true,
            hosts: Vec::new(),
        });
    }

    /// A fault begins, if it is of a kind that is counted, or ends. `of`: the hosts that it concerns, if not all.
    #[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
    pub(super) fn fault(
        &mut self,
        moment: Moment,
        (fault, of): (Option<Fault>, &[u32]),
        mut text: String,
        at: Option<&Location<'_>>,
    ) {
        match at {
            Some(at) if is_of_injectors(at.file()) => text.push_str(", by inject"),
            Some(at) if !is_internal(at.file()) && !is_of_std(at.file()) => {
                _ = write!(text, ", at {}:{}", short_place(at.file()), at.line());
            }
            _ => {}
        }
        if let Some(fault) = fault {
            *self.counts.entry(fault).or_default() += 1;
        }
        self.faults.push(Happened {
            moment,
            number: Self::step(),
            text,
            is_packet: false,
            hosts: if fault.is_some() {
                of.to_vec()
            } else {
                Vec::new()
            },
        });
    }

    /// A blackout begins, in which the last crashes are, so many of them.
    #[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
    pub(super) fn blackout(&mut self, crashes: u32) {
        *self.counts.entry(Fault::Blackout).or_default() += 1;
        self.in_blackouts += crashes;
        if let Some(count) = self.counts.get_mut(&Fault::Crash) {
            *count = count.saturating_sub(crashes);
        }
    }

    /// Returns how many faults of a kind there were, in words.
    fn count(&self, fault: Fault, count: u32) -> String {
        let text = fault.count(count);
        if fault == Fault::Blackout {
            format!("{text} ({})", Fault::Crash.count(self.in_blackouts))
        } else {
            text
        }
    }

    /// The test injects faults of this kind, or would, had this run not switched them off.
    #[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
    pub(super) fn injects(&mut self, kind: &'static str, is_on: bool) {
        self.injected.push((kind, is_on));
    }

    #[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
    pub(super) fn has_hosts(&mut self) {
        self.has_hosts = true;
    }

    /// Returns `true` if the test has hosts.
    pub(super) fn is_of_hosts(&self) -> bool {
        self.has_hosts
    }

    /// Returns lines about the faults of the run, for the head of a report. `last`: the faults that have not ended.
    pub(super) fn faults(&self, last: &[String]) -> String {
        let mut text = String::new();
        let counts = self.counts.iter().filter(|(_, count)| **count != 0);
        let counts: Vec<String> = counts
            .map(|(fault, count)| self.count(*fault, *count))
            .collect();
        if !counts.is_empty() {
            _ = writeln!(text, "  faults of this run: {}", counts.join(", "));
        } else if self.has_hosts {
            text.push_str("  faults of this run: none\n");
        }
        if !self.injected.is_empty() {
            let of = |wanted: bool| {
                let kinds = self.injected.iter().filter(|(_, is_on)| *is_on == wanted);
                let kinds: Vec<&str> = kinds.map(|(kind, _)| *kind).collect();
                if kinds.is_empty() {
                    "none".to_owned()
                } else {
                    kinds.join(", ")
                }
            };
            _ = writeln!(
                text,
                "  injected: {}; switched off: {}",
                of(true),
                of(false)
            );
        }
        if !last.is_empty() {
            _ = writeln!(text, "  at the end: {}", last.join("; "));
        }
        text
    }

    /// Returns the events of hosts and packets that are kept, in their order.
    pub(super) fn happened(&self) -> Vec<&Happened> {
        self.last(usize::MAX).0
    }

    /// Returns the last faults, at most so many, and all packets that are kept, in their order, and the number of the
    /// earlier ones.
    fn last(&self, faults: usize) -> (Vec<&Happened>, usize) {
        let mut all = Vec::new();
        let earlier = self.faults.show(faults, &mut all) + self.packets.show(usize::MAX, &mut all);
        all.sort_by_key(|event| event.number);
        (all, earlier)
    }

    /// Returns the last events of hosts and packets, or all of them, in their order. `line` writes each one.
    pub(super) fn describe(
        &self,
        is_all: bool,
        line: impl Fn(&mut String, Moment, &str),
    ) -> String {
        let mut text = String::new();
        let faults = if is_all { usize::MAX } else { FAULTS };
        let (all, mut earlier) = self.last(faults);
        let lines = if is_all {
            all.iter().map(|event| Repeated::once(event)).collect()
        } else {
            let mut lines = repeated(&all);
            earlier += keep_last_packets(&mut lines);
            lines
        };
        if all.is_empty() {
            return text;
        }
        text.push_str("  the hosts and the network\n");
        for Repeated { first, count, last } in lines {
            let mut what = first.text.clone();
            if count > 1 {
                _ = write!(what, " ({count} times, until step {})", last.step);
            }
            line(&mut text, first.moment, &what);
        }
        if let more @ 1.. = earlier {
            let ones = if more == 1 { "one" } else { "ones" };
            _ = writeln!(text, "    and {more} earlier {ones}");
        }
        text
    }
}

/// An event, and those like it before the next fault.
struct Repeated<'a> {
    first: &'a Happened,
    count: usize,
    /// The moment of the last one.
    last: Moment,
}

impl<'a> Repeated<'a> {
    fn once(event: &'a Happened) -> Self {
        Self {
            first: event,
            count: 1,
            last: event.moment,
        }
    }
}

/// Returns the events, of which those of packets with the same text are one, unless a fault is between them.
fn repeated<'a>(all: &[&'a Happened]) -> Vec<Repeated<'a>> {
    let mut lines: Vec<Repeated<'a>> = Vec::new();
    // Index of the first line after the last fault.
    let mut begin = 0;
    for &event in all {
        let known = lines[begin..]
            .iter_mut()
            .find(|line| line.first.text == event.text);
        match known.filter(|_| event.is_packet) {
            Some(line) => (line.count, line.last) = (line.count + 1, event.moment),
            None => lines.push(Repeated::once(event)),
        }
        if !event.is_packet {
            begin = lines.len();
        }
    }
    lines
}

/// Removes the lines of packets but for the last ones. Returns the number of events that they stand for.
fn keep_last_packets(lines: &mut Vec<Repeated<'_>>) -> usize {
    let packets = lines.iter().filter(|line| line.first.is_packet).count();
    let (mut more, mut removed) = (packets.saturating_sub(PACKETS), 0);
    lines.retain(|line| {
        let is_removed = line.first.is_packet && more > 0;
        if is_removed {
            more -= 1;
            removed += line.count;
        }
        !is_removed
    });
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(notes: &Notes, is_all: bool) -> Vec<String> {
        let text = notes.describe(is_all, |text, moment, what| {
            _ = writeln!(text, "{} {what}", moment.step);
        });
        text.lines().map(str::to_owned).collect()
    }

    fn moment(step: u64) -> Moment {
        Moment {
            step,
            ..Moment::default()
        }
    }

    #[test]
    fn packets_do_not_push_faults_out() {
        let mut notes = Notes::default();
        assert!(lines(&notes, false).is_empty() && notes.faults(&[]).is_empty());
        let crash = (Some(Fault::Crash), &[1][..]);
        notes.fault(moment(1), crash, "a crashes".into(), None);
        for step in 2..40 {
            notes.packet(moment(step), format!("packet {step} is lost"));
        }
        notes.fault(moment(40), (None, &[1]), "a starts again".into(), None);
        let concerned = notes.happened().into_iter().map(|event| event.hosts.len());
        assert_eq!(concerned.sum::<usize>(), 1);
        let all = lines(&notes, true);
        assert_eq!((all.len(), &*all[2]), (41, "2 packet 2 is lost"));
        let lines = lines(&notes, false);
        assert_eq!(lines[1], "1 a crashes");
        assert_eq!(lines[2], "30 packet 30 is lost");
        assert_eq!(lines[12], "40 a starts again");
        assert_eq!(lines[13], "    and 28 earlier ones");
    }

    #[test]
    fn packets_with_one_text_are_one_line_until_a_fault() {
        let mut notes = Notes::default();
        for step in 1..=20 {
            notes.packet(moment(step), "what a has sent to b is sent again".into());
            notes.packet(moment(step), "a packet of a to b is held".into());
        }
        notes.fault(moment(21), (None, &[]), "all paths are open".into(), None);
        notes.packet(moment(22), "a packet of a to b is held".into());
        assert_eq!(
            lines(&notes, false)[1..],
            [
                "1 what a has sent to b is sent again (20 times, until step 20)",
                "1 a packet of a to b is held (20 times, until step 20)",
                "21 all paths are open",
                "22 a packet of a to b is held",
            ]
        );
        assert_eq!(lines(&notes, true).len(), 43);
    }

    #[test]
    fn the_head_of_a_report_has_the_faults() {
        let mut notes = Notes::default();
        notes.has_hosts();
        assert_eq!(notes.faults(&[]), "  faults of this run: none\n");
        for _ in 0..2 {
            notes.fault(moment(1), (Some(Fault::Crash), &[]), String::new(), None);
        }
        notes.fault(moment(1), (Some(Fault::Cut), &[]), String::new(), None);
        notes.injects("crashes", true);
        notes.injects("kills", false);
        assert_eq!(
            notes.faults(&["a is paused".into()]),
            "  faults of this run: 2 crashes, 1 cut\n  injected: crashes; switched off: kills\n  \
             at the end: a is paused\n"
        );
    }

    #[test]
    fn a_blackout_has_its_crashes() {
        let mut notes = Notes::default();
        let crash = |notes: &mut Notes| {
            notes.fault(moment(1), (Some(Fault::Crash), &[]), String::new(), None);
        };
        (0..3).for_each(|_| crash(&mut notes));
        notes.blackout(3);
        let head = "  faults of this run: 1 blackout (3 crashes)\n";
        assert_eq!(notes.faults(&[]), head);
        crash(&mut notes);
        let head = "  faults of this run: 1 crash, 1 blackout (3 crashes)\n";
        assert_eq!(notes.faults(&[]), head);
    }

    #[test]
    fn only_the_last_sentences_are_kept() {
        let mut notes = Notes::default();
        let first = notes.keep("first".into());
        for _ in 0..EVENTS {
            notes.keep("later".into());
        }
        assert!(!notes.sentences().contains_key(&first));
        assert_eq!(notes.sentences().len(), EVENTS);
    }
}
