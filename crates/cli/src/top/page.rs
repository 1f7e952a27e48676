//! The page: a `View` as lines, for a terminal or as text. A pure function of the view.

use blitz_io_inspect::short_place;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::units::{count, fit, fit_end, histogram, millis, time};
use super::view::{Channel, Contended, Judged, RuntimeView, View};

/// A page of this width or more has locations and wide histograms.
const WIDE: usize = 100;
/// Stands for a part that the answer lacks.
pub const UNKNOWN: &str = "  not reported by the program's version of blitz-io";

/// The settings with which the page is drawn.
pub struct Page {
    pub columns: usize,
    /// Rows that are longer are cut, as on a terminal.
    pub is_cut: bool,
    /// The largest number of rows of each list.
    pub rows: usize,
    /// The number of a wait.
    pub selected: Option<usize>,
    /// The chain of the selected wait is shown.
    pub is_open: bool,
    pub has_colours: bool,
}

impl Page {
    /// Returns a page as text. `columns`: those of the terminal; `None` cuts nothing, as text that is not on a terminal is
    /// searched and kept. The page is then as wide as its widest row.
    pub fn of_text(columns: Option<usize>, view: &View) -> Self {
        if let Some(columns) = columns {
            return Self::unlimited(columns);
        }
        let whole = Self {
            is_cut: false,
            ..Self::unlimited(WIDE)
        };
        let lines = whole.lines(view);
        // The title, and a line for each finding.
        let rows = lines.iter().skip(1 + view.findings.len());
        Self {
            columns: rows.map(Line::width).max().unwrap_or(0).max(WIDE),
            ..whole
        }
    }

    /// Returns a page on which each list is long.
    pub fn unlimited(columns: usize) -> Self {
        Self {
            columns,
            is_cut: true,
            rows: 20,
            selected: None,
            is_open: false,
            has_colours: false,
        }
    }

    /// Returns a page of at most `lines` lines, as far as the lists decide that.
    pub fn of_height(columns: usize, lines: usize, view: &View) -> Self {
        let empty = Self {
            rows: 0,
            ..Self::unlimited(columns)
        };
        let used = empty.lines(view).len();
        // Four lists share what is left.
        Self {
            rows: (lines.saturating_sub(used) / 4).max(2),
            ..empty
        }
    }

    fn is_wide(&self) -> bool {
        self.columns >= WIDE
    }

    fn colour(&self, colour: Color) -> Style {
        if self.has_colours {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    /// Shortens a text to some columns, if the page is cut.
    fn fit(&self, text: &str, columns: usize) -> String {
        if self.is_cut {
            fit(text, columns)
        } else {
            text.to_owned()
        }
    }

    /// Returns the lines, none of which is wider than the page if that is cut.
    pub fn lines(&self, view: &View) -> Vec<Line<'static>> {
        let mut lines = vec![self.title(&format!("{} ({})", view.program, view.pid))];
        for finding in &view.findings {
            self.finding(finding, &mut lines);
        }
        let tasks = &view.tasks;
        lines.push(self.line(&format!(
            "tasks: {} running, {} ready, {} idle",
            tasks.running, tasks.scheduled, tasks.idle
        )));
        self.runtimes(view, &mut lines);
        self.costliest(view, &mut lines);
        self.polls(view, &mut lines);
        self.waits(view, &mut lines);
        self.contention(view, &mut lines);
        self.channels(view, &mut lines);
        lines
    }

    fn title(&self, text: &str) -> Line<'static> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Line::from(Span::styled(self.fit(text, self.columns), bold))
    }

    fn line(&self, text: &str) -> Line<'static> {
        Line::from(self.fit(text, self.columns))
    }

    /// Adds a finding, over as many lines as it needs.
    fn finding(&self, finding: &Judged, lines: &mut Vec<Line<'static>>) {
        let (certainty, colour) = if finding.is_certain {
            ("certain", Color::Red)
        } else {
            ("probable", Color::Yellow)
        };
        let text = format!("{certainty}: {}: {}", finding.kind, finding.summary);
        let style = self.colour(colour);
        if !self.is_cut {
            return lines.push(Line::from(Span::styled(text, style)));
        }
        let (mut rest, mut indent) = (text.as_str(), "");
        while !rest.is_empty() {
            let (head, tail) = split(rest, self.columns.saturating_sub(indent.len()).max(10));
            lines.push(Line::from(Span::styled(format!("{indent}{head}"), style)));
            (rest, indent) = (tail, "  ");
        }
    }

    /// Returns the title of a list, with the number of its rows that are not shown.
    fn heading(&self, title: &str, length: usize, right: &str) -> Line<'static> {
        let hidden = length.saturating_sub(self.rows);
        let title = if hidden > 0 && self.rows > 0 {
            format!("{title} (and {hidden} more)")
        } else {
            title.to_owned()
        };
        let left = self.columns.saturating_sub(right.chars().count());
        self.title(&format!("{:<left$}{right}", self.fit(&title, left)))
    }

    fn runtimes(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        let Some(runtimes) = &view.runtimes else {
            lines.push(self.title("RUNTIMES"));
            lines.push(self.line(UNKNOWN));
            return;
        };
        for runtime in runtimes {
            lines.push(self.workers(runtime));
            lines.push(self.poll_times(runtime));
            if runtime.blocking_threads > 0 || runtime.blocking_queue > 0 {
                let busy = runtime
                    .blocking_threads
                    .saturating_sub(runtime.idle_blocking_threads);
                lines.push(self.line(&format!(
                    "  blocking: {busy} of {} threads busy, {} jobs queued",
                    runtime.blocking_threads, runtime.blocking_queue
                )));
            }
        }
        self.blocked(view, lines);
    }

    /// Adds a line about the workers that wait within a poll.
    fn blocked(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        if view.blocked.is_empty() {
            return;
        }
        let workers: usize = view.blocked.iter().map(|blocked| blocked.workers).sum();
        let each = view.blocked.iter();
        let each: Vec<String> = each
            .map(|blocked| format!("{} in {}", blocked.workers, blocked.what))
            .collect();
        let text = format!("  blocked workers: {workers} ({})", each.join(", "));
        lines.push(self.line(&text));
    }

    fn workers(&self, runtime: &RuntimeView) -> Line<'static> {
        let share = runtime.busy_share;
        let share = share.map_or_else(String::new, |share| format!(" ({:.0} %)", share * 1e2));
        self.line(&format!(
            "runtime {}: {} of {} workers busy{share}, {} tasks queued",
            runtime.id, runtime.busy_workers, runtime.workers, runtime.queued
        ))
    }

    fn poll_times(&self, runtime: &RuntimeView) -> Line<'static> {
        let rate = runtime.polls_per_second;
        let rate = rate.map_or_else(String::new, |rate| format!(", {}/s", count(rate as u64)));
        // The runtime keeps a moving average, and no sum of all polls.
        let mean = time(runtime.mean_poll_ns);
        let times = match quantile(&runtime.poll_times, 0.99) {
            None => String::new(),
            Some(p99) => {
                let counts: Vec<u64> = runtime.poll_times.iter().map(|&(_, n)| n).collect();
                let columns = if self.is_wide() { 28 } else { 14 };
                let bars = histogram(&counts, columns);
                format!(", p99 {} {}", time(p99), bars.trim())
            }
        };
        self.line(&format!(
            "  polls: {}{rate}, recent average {mean}{times}",
            count(runtime.polls)
        ))
    }

    fn costliest(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        let Some(costliest) = view.costliest.as_deref().filter(|all| !all.is_empty()) else {
            return;
        };
        let right = "WAITERS ON AVERAGE";
        let left = self.columns.saturating_sub(right.len());
        lines.push(self.title(&format!("{:<left$}{right}", fit("COSTLIEST NOW", left))));
        for object in costliest {
            let name = format!("{}  {}", object.name, short_place(&object.location));
            lines.push(self.row("  ", &name, &format!("{:.1}", object.waiters)));
        }
    }

    fn polls(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        if view.polls.is_empty() {
            return;
        }
        lines.push(self.heading("POLLS THAT LAST", view.polls.len(), "FOR"));
        for poll in view.polls.iter().take(self.rows) {
            let does = poll.does.iter().map(|does| format!("  {does}"));
            let does: String = does.collect();
            let name = format!("{}  {}{does}", poll.task, short_place(&poll.location));
            lines.push(self.row("  ", &name, &millis(poll.ms)));
        }
    }

    /// Returns a row whose last columns have a text of their own.
    fn row(&self, mark: &str, left: &str, right: &str) -> Line<'static> {
        let right = format!("  {right}");
        let columns = (self.columns).saturating_sub(mark.len() + right.chars().count());
        Line::from(format!(
            "{mark}{:<columns$}{right}",
            self.fit(left, columns)
        ))
    }

    fn waits(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        lines.push(self.heading("LONGEST WAITS", view.lengths.waits, "FOR"));
        self.waits_that_say_something(view, lines);
        if !view.idle.is_empty() {
            let count: usize = view.idle.iter().map(|idle| idle.count).sum();
            let kinds = view.idle.iter();
            let kinds: Vec<String> = kinds
                .map(|idle| format!("{} {}", idle.count, idle.what))
                .collect();
            lines.push(self.line(&format!("  and {count} idle: {}", kinds.join(", "))));
        }
    }

    fn waits_that_say_something(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        // The selected wait stays visible.
        let last = self.selected.map_or(0, |selected| selected + 1);
        let first = last.saturating_sub(self.rows);
        for (number, wait) in view.waits.iter().enumerate().skip(first).take(self.rows) {
            let is_selected = self.selected == Some(number);
            let mark = if is_selected { "> " } else { "  " };
            let (waiter, target) = (&wait.waiter, &wait.target);
            let place = if self.is_wide() {
                format!("  {}", short_place(&wait.location))
            } else {
                String::new()
            };
            let text = format!("{waiter}{}: {target}{place}", others(wait.more));
            let time = if wait.is_of_unknown_time {
                "not known".to_owned()
            } else {
                millis(wait.waiting_ms)
            };
            let row = self.row(mark, &text, &time);
            if !is_selected {
                lines.push(row);
                continue;
            }
            lines.push(row.style(Style::new().add_modifier(Modifier::REVERSED)));
            if self.is_open {
                for (depth, link) in wait.chain.iter().enumerate() {
                    self.wrap(depth, link, lines);
                }
            }
        }
    }

    /// Adds a link of a chain, over as many lines as it needs.
    fn wrap(&self, depth: usize, link: &str, lines: &mut Vec<Line<'static>>) {
        let indent = " ".repeat(2 * (depth + 1).min(6));
        let columns = self.columns.saturating_sub(indent.len() + 2).max(10);
        let mut rest = link;
        let mut mark = "└ ";
        while !rest.is_empty() {
            let (head, tail) = split(rest, columns);
            lines.push(Line::from(format!("{indent}{mark}{head}")));
            (rest, mark) = (tail, "  ");
        }
    }

    fn contention(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        let Some(contention) = &view.contention else {
            lines.push(self.title("CONTENTION"));
            lines.push(self.line(UNKNOWN));
            return;
        };
        let bars = if self.is_wide() { 28 } else { 14 };
        let right = format!(" WAITED  WAITS  {:<bars$}", "1 µs … 1 min");
        lines.push(self.heading("CONTENTION", view.lengths.contention, &right));
        for contended in contention.iter().take(self.rows) {
            lines.push(self.contended(contended, bars));
        }
    }

    fn contended(&self, contended: &Contended, bars: usize) -> Line<'static> {
        let waiting = match contended.waiting {
            0 => String::new(),
            waiting => format!(" ({waiting} wait)"),
        };
        let right = format!(
            "{:>7} {:>6}",
            time(contended.waited_ns),
            count(contended.waits + contended.waiting as u64)
        );
        let bars = format!("{:<bars$}", histogram(&contended.buckets, bars));
        let columns = self
            .columns
            .saturating_sub(2 + 1 + right.chars().count() + 2 + bars.chars().count());
        let name = format!("{}{waiting}", contended.name);
        let location = short_place(&contended.location);
        let name = match (self.is_cut, self.is_wide()) {
            (false, _) => format!("{name}  {location}"),
            (true, true) => {
                let half = columns / 2;
                let location = fit_end(location, columns - half - 1);
                format!("{:<half$} {location}", fit_name(&name, half))
            }
            // The line of a wait tells more than a number.
            (true, false) if !has_name(&contended.name) => {
                let room = columns.saturating_sub(name.chars().count() + 1);
                fit(&format!("{name} {}", fit_end(location, room)), columns)
            }
            (true, false) => fit_name(&name, columns),
        };
        Line::from(vec![
            Span::raw(format!("  {name:<columns$} {right}  ")),
            Span::styled(bars, self.colour(Color::Cyan)),
        ])
    }

    fn channels(&self, view: &View, lines: &mut Vec<Line<'static>>) {
        let Some(channels) = &view.channels else {
            lines.push(self.title("CHANNELS"));
            lines.push(self.line(UNKNOWN));
            return;
        };
        lines.push(self.heading("CHANNELS", view.lengths.channels, "FILL"));
        for channel in channels.iter().take(self.rows) {
            let name = format!("{}{}", channel.name, others(channel.more));
            lines.push(self.row("  ", &name, &fill(channel)));
        }
    }
}

/// Says how many rows like one are not shown.
fn others(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" and {more} more like this"),
    }
}

/// Returns `true` for the name of an object that is more than a kind and a number.
fn has_name(name: &str) -> bool {
    name.contains('"') || name.contains(CREATED)
}

/// Before the line in the name of an object that the program gave none.
const CREATED: &str = " created at ";

/// Shortens a name to some columns, and keeps the end of the path in it: the file and the line.
fn fit_name(name: &str, columns: usize) -> String {
    match name.split_once(CREATED) {
        Some((kind, place)) if name.chars().count() > columns => {
            let room = columns.saturating_sub(kind.chars().count() + 1);
            fit(&format!("{kind} {}", fit_end(place, room)), columns)
        }
        _ => fit(name, columns),
    }
}

fn fill(channel: &Channel) -> String {
    match channel.capacity {
        None => format!("{} of ∞", channel.used),
        Some(capacity) => {
            let tenths = (channel.used.min(capacity) * 10).div_ceil(capacity.max(1));
            let bar = format!("{}{}", "█".repeat(tenths), "░".repeat(10 - tenths));
            format!("{} of {capacity} {bar}", channel.used)
        }
    }
}

/// Returns the upper end of the range that has this part of the counts below it; `None` without counts. A last
/// range without an end counts by the end of the one before.
fn quantile(counts: &[(u64, u64)], part: f64) -> Option<u64> {
    let all: u64 = counts.iter().map(|&(_, count)| count).sum();
    let wanted = (all as f64 * part).ceil() as u64;
    let (mut sum, mut last) = (0, None);
    for &(end, count) in counts {
        sum += count;
        if end != u64::MAX {
            last = Some(end);
        }
        if all > 0 && sum >= wanted {
            return last;
        }
    }
    None
}

/// Splits a text after some columns, between words if there is a space.
fn split(text: &str, columns: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(columns) else {
        return (text, "");
    };
    match text[..end].rfind(' ').filter(|&space| space > 0) {
        Some(space) => (&text[..space], &text[space + 1..]),
        None => text.split_at(end),
    }
}

/// Returns the lines without styles.
pub fn text(lines: &[Line<'_>]) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", line.to_string().trim_end()))
        .collect()
}
