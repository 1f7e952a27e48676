//! The page: one file that loads nothing else, readable on a phone.
//!
//! It shows all ratios on one logarithmic scale, then a card for each scenario with a
//! bar for each contender. A figure stands as text beside every bar, so the page can be
//! read without seeing colours or shapes.

mod axis;

use std::fmt::{self, Display, Write};

use super::document::{Document, Figures, Row, TIE};
use super::table::Score;
use super::{duration, figure, range, times};
use crate::latency::{Latency, Turns};
use crate::scenario::{Compares, OURS};
use crate::tier::{Tier, numbered, tier};
use axis::Axis;

const CSS: &str = include_str!("page.css");

/// Returns the page of one run, as a complete HTML document.
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// use blitz_io_bench::{Document, Settings, report, runner};
///
/// let outcome = runner::run(&[], &Settings::QUICK, &AtomicBool::new(false), &mut ());
/// let page = report::html::render(&Document::new(&outcome, &Settings::QUICK));
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// ```
pub fn render(document: &Document) -> String {
    let mut page = String::new();
    write(&mut page, document).expect("a string takes everything");
    page
}

fn write(page: &mut String, document: &Document) -> fmt::Result {
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>blitz-io benchmark</title>\n<style>\n{CSS}</style>\n</head>\n<body>"
    )?;
    write_header(page, document)?;
    page.push_str("<main>\n");
    let axis = Axis::over(document.benchmarks.values());
    write_overview(page, document, &axis)?;
    for (tier, Tier { title, .. }) in numbered() {
        write_tier(page, document, tier, title)?;
    }
    page.push_str("</main>\n");
    write_footer(page, document)?;
    page.push_str("</body>\n</html>\n");
    Ok(())
}

fn write_header(page: &mut String, document: &Document) -> fmt::Result {
    let score = Score::of(document);
    writeln!(page, "<header>\n<h1>blitz-io benchmark</h1>")?;
    writeln!(
        page,
        "<p class=\"lead\">blitz-io {} against the best other library of each row, \
         in one process, taking turns.</p>\n<dl class=\"score\">",
        Escaped(&document.metadata.version)
    )?;
    for (class, what, count) in [
        ("won", "won", score.won),
        ("tied", "tied", score.tied),
        ("lost", "lost", score.lost),
    ] {
        writeln!(
            page,
            "<div class=\"{class}\"><dt>{what}</dt><dd>{count}</dd></div>"
        )?;
    }
    page.push_str("</dl>\n");
    if let Some(heap) = &document.heap_bytes_per_op {
        writeln!(page, "<p>{}</p>", Escaped(heap.sentence()))?;
    }
    if document.interrupted {
        note(
            page,
            "This run was interrupted. It shows what was measured until then.",
        )?;
    }
    if let Some(failed) = &document.failure {
        note(
            page,
            format_args!("This run ended with a failure. {failed}."),
        )?;
    }
    if document.metadata.iterations < 5 {
        note(
            page,
            "Fewer than 5 iterations were measured. An interval is then only the range that was seen; do not trust the winners.",
        )?;
    }
    page.push_str("</header>\n");
    Ok(())
}

fn note(page: &mut String, text: impl Display) -> fmt::Result {
    writeln!(
        page,
        "<p class=\"note\" role=\"note\">{}</p>",
        Escaped(text)
    )
}

/// Writes all ratios below each other.
fn write_overview(page: &mut String, document: &Document, axis: &Axis) -> fmt::Result {
    let judged = document
        .benchmarks
        .iter()
        .filter(|(_, row)| row.ratio.is_some());
    let judged: Vec<_> = judged.collect();
    if judged.is_empty() {
        return Ok(());
    }
    page.push_str(
        "<section aria-labelledby=\"glance\">\n<h2 id=\"glance\">At a glance</h2>\n\
         <p>How many times faster blitz-io is than the best peer. The dot is the ratio of the medians, \
         the line its 95 % interval. A line that touches 1 is a tie.</p>\n<div class=\"forest\">\n",
    );
    axis.write_scale(page)?;
    page.push_str("<ol>\n");
    for (id, row) in judged {
        let verdict = Verdict::of(row);
        write!(
            page,
            "<li class=\"{}\"><a href=\"#{id}\">{}</a>",
            verdict.class(),
            Escaped(full_title(row)),
            id = Escaped(id),
        )?;
        axis.write_strip(page, row)?;
        let ratio = row.ratio.unwrap_or(1.0);
        writeln!(page, "<b>{}</b></li>", times(ratio))?;
    }
    page.push_str("</ol>\n</div>\n</section>\n");
    Ok(())
}

fn write_tier(page: &mut String, document: &Document, tier: u8, title: &str) -> fmt::Result {
    let rows: Vec<_> = document
        .benchmarks
        .iter()
        .filter(|(_, row)| row.tier == tier)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<section aria-labelledby=\"tier{tier}\">\n<h2 id=\"tier{tier}\">Tier {tier}: {title}</h2>\n<div class=\"cards\">"
    )?;
    for (id, row) in rows {
        write_card(page, id, row)?;
    }
    page.push_str("</div>\n</section>\n");
    Ok(())
}

fn write_card(page: &mut String, id: &str, row: &Row) -> fmt::Result {
    let verdict = Verdict::of(row);
    writeln!(
        page,
        "<article id=\"{}\" class=\"{}\">\n<h3>{}</h3>\n<p class=\"id\">{} · {}</p>",
        Escaped(id),
        verdict.class(),
        Escaped(full_title(row)),
        Escaped(id),
        match row.compares {
            Compares::NsPerOp => "time per operation",
            Compares::P99Ns => "99th percentile of the wait",
            Compares::P99_9Ns => "99.9th percentile of the wait",
            Compares::P50Ns => "median of the wait",
            Compares::BytesPerOp => "bytes that stay taken per operation",
        },
    )?;
    write_bars(page, row)?;
    if let (Some(ratio), Some(interval), Some(peer)) =
        (row.ratio, row.ratio_ci95, row.best_peer.as_deref())
    {
        writeln!(
            page,
            "<p class=\"verdict\"><span class=\"badge\">{}</span> <b>{}</b> \
             <span class=\"interval\">95 %: {}, against {}</span></p>",
            verdict.word(),
            times(ratio),
            range(interval),
            Escaped(peer),
        )?;
    }
    write_waits(page, row)?;
    write_cpu(page, row)?;
    write_memory(page, row)?;
    page.push_str("</article>\n");
    Ok(())
}

fn write_bars(page: &mut String, row: &Row) -> fmt::Result {
    let longest = row
        .everybody()
        .map(|(_, figures)| figures.compared(row.compares))
        .fold(f64::MIN_POSITIVE, f64::max);
    page.push_str("<ul class=\"bars\">\n");
    for (name, figures) in row.everybody() {
        let value = figures.compared(row.compares);
        writeln!(
            page,
            "<li{}><span class=\"who\">{}</span><span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.2}%\"></i></span><span class=\"value\">{}</span></li>",
            if name == OURS { " class=\"ours\"" } else { "" },
            Escaped(name),
            value / longest * 100.0,
            match row.compares {
                Compares::BytesPerOp => row.compares.text(value),
                _ => duration(value),
            },
        )?;
    }
    page.push_str("</ul>\n");
    Ok(())
}

/// Writes the percentiles, if the scenario has them: a column for each contender,
/// which fits a phone better than a row for each.
fn write_waits(page: &mut String, row: &Row) -> fmt::Result {
    let waits: Vec<(&str, &Figures, Latency)> = row
        .everybody()
        .filter_map(|(name, figures)| Some((name, figures, figures.latency?)))
        .collect();
    if waits.is_empty() {
        return Ok(());
    }
    page.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Percentiles of the wait\"><table>\n\
         <thead><tr><th scope=\"col\">wait</th>",
    );
    for (name, ..) in &waits {
        write!(page, "<th scope=\"col\">{}</th>", Escaped(name))?;
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    type Line = (&'static str, fn(&Figures, &Latency) -> f64);
    let lines: [Line; 6] = [
        ("p50", |_, latency| latency.p50_ns),
        ("p90", |_, latency| latency.p90_ns),
        ("p99", |_, latency| latency.p99_ns),
        ("p99.9", |_, latency| latency.p99_9_ns),
        ("longest", |_, latency| latency.max_ns),
        ("time per operation", |figures, _| figures.ns_per_op),
    ];
    for (what, value) in lines {
        write!(page, "<tr><th scope=\"row\">{what}</th>")?;
        for (_, figures, latency) in &waits {
            write!(page, "<td>{}</td>", duration(value(figures, latency)))?;
        }
        page.push_str("</tr>\n");
    }
    if waits.iter().any(|(_, _, latency)| latency.turns.is_some()) {
        page.push_str("<tr><th scope=\"row\">share of turns</th>");
        for (_, _, latency) in &waits {
            let turns = latency.turns.map_or_else(String::new, Turns::text);
            write!(page, "<td>{turns}</td>")?;
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
    Ok(())
}

/// Writes the processor time of each contender, if it was measured.
fn write_cpu(page: &mut String, row: &Row) -> fmt::Result {
    let times = row.everybody().map(|(name, figures)| {
        let time = figures.cpu_ns_per_op?;
        Some(format!("{name} {} ns", figure(time)))
    });
    let Some(times) = times.collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let list = times.join(", ");
    writeln!(
        page,
        "<p class=\"memory\">Processor time per operation: {}</p>",
        Escaped(list)
    )
}

/// Writes the allocations of each contender, if there are any.
fn write_memory(page: &mut String, row: &Row) -> fmt::Result {
    let allocates: Vec<String> = row
        .everybody()
        .filter(|(_, figures)| figures.allocs_per_op >= 0.005)
        .map(|(name, figures)| {
            format!(
                "{name} {} ({} bytes)",
                figure(figures.allocs_per_op),
                figure(figures.bytes_per_op)
            )
        })
        .collect();
    if allocates.is_empty() {
        return Ok(());
    }
    let list = allocates.join(", ");
    writeln!(
        page,
        "<p class=\"memory\">Allocations per operation: {}</p>",
        Escaped(list)
    )
}

fn write_footer(page: &mut String, document: &Document) -> fmt::Result {
    let meta = &document.metadata;
    let machine = &meta.machine;
    page.push_str("<footer>\n<h2>The machine and the run</h2>\n<dl>\n");
    let counts = format!(
        "{} measured after {} warm-ups; the median is the figure",
        meta.iterations, meta.warmup
    );
    for (what, value) in [
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("System", format!("{} {}", machine.os, machine.kernel)),
        ("Iterations", counts),
        (
            "Load",
            meta.load.words().unwrap_or_else(|| "none".to_owned()),
        ),
        ("Measured", meta.measured_at.clone()),
        ("Version", format!("{} {}", meta.runtime, meta.version)),
    ] {
        writeln!(
            page,
            "<div><dt>{what}</dt><dd>{}</dd></div>",
            Escaped(value)
        )?;
    }
    page.push_str(
        "</dl>\n<p>Ratios above 1 mean that blitz-io is faster. Intervals come from a bootstrap over pairs of \
         iterations that ran next to each other. Every iteration's work was verified. \
         Times drift with the machine's mood; ratios taken in one run do much less.</p>\n</footer>\n",
    );
    Ok(())
}

fn full_title(row: &Row) -> String {
    match tier(row.tier) {
        Some(tier) => tier.full_title(&row.title, row.threads),
        // The row is from a run of a later version.
        None => row.title.clone(),
    }
}

/// How a row went for blitz-io.
#[derive(Clone, Copy)]
enum Verdict {
    Won,
    Tied,
    Lost,
    Alone,
}

impl Verdict {
    fn of(row: &Row) -> Verdict {
        match row.winner.as_deref() {
            Some(OURS) => Verdict::Won,
            Some(TIE) => Verdict::Tied,
            Some(_) => Verdict::Lost,
            None => Verdict::Alone,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Verdict::Won => "won",
            Verdict::Tied => "tied",
            Verdict::Lost => "lost",
            Verdict::Alone => "alone",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Won => "won",
            Verdict::Tied => "tie",
            Verdict::Lost => "lost",
            Verdict::Alone => "",
        }
    }
}

/// Text that is escaped, so that none of it is taken for markup.
pub(super) struct Escaped<T>(pub(super) T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.to_string().chars() {
            match character {
                '&' => f.write_str("&amp;"),
                '<' => f.write_str("&lt;"),
                '>' => f.write_str("&gt;"),
                '"' => f.write_str("&quot;"),
                '\'' => f.write_str("&#39;"),
                other => f.write_char(other),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::tests::{run, samples};
    use crate::scenario::Scenario;

    #[test]
    fn a_row_has_bars_a_ratio_with_its_interval_and_waits() {
        let scenario = Scenario::new(4, "lock", "Lock <wait>", 1000).threads(2);
        let document = run(
            &scenario,
            vec![
                samples(OURS, &[10, 10, 10], Some(700)),
                samples("peer", &[40, 40, 40], Some(900)),
            ],
        );
        let page = render(&document);
        for part in [
            "<html lang=\"en\">",
            "width=device-width",
            "Lock &lt;wait&gt;, 2 threads",
            "width:25.00%",
            "width:100.00%",
            "10.0 ns",
            "40.0 ns",
            "4.00×",
            "95 %: 4.00 – 4.00, against peer",
            "p99.9",
            &document.metadata.machine.cpu,
        ] {
            assert!(page.contains(part), "{part} is missing");
        }
        // Every opened element is closed again.
        for tag in [
            "section", "article", "ul", "ol", "li", "div", "dl", "table", "p",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            let closed = page.matches(&format!("</{tag}>")).count();
            assert_eq!(opened, closed, "<{tag}>");
        }
    }

    #[test]
    fn markup_in_names_is_escaped() {
        let text = Escaped("<b> & \"x\" 'y'").to_string();
        assert_eq!(text, "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;");
    }
}
