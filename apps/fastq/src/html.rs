//! The HTML report: one file that needs nothing else and includes its pictures.

use crate::chart::{self, Line};
use crate::number::push_fixed;
use crate::report::{Found, Report};
use crate::stats::{BASES, Summary};
use std::fmt::Write;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --head: #2a6f97; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { color: var(--head); margin: 2.2rem 0 .6rem; font-size: 1.25rem; }
h3 { margin: 1.4rem 0 .4rem; font-size: 1rem; } p { margin: .2rem 0; opacity: .75; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
text-align: right; font-variant-numeric: tabular-nums; } td:first-child, th:first-child { text-align: left; }
th { font-weight: 600; } .seq { font-family: ui-monospace, monospace; font-size: .8rem; word-break: break-all; max-width: 34rem; }
.kmers td { padding: .05rem .2rem; font: 10px ui-monospace, monospace; text-align: center; border: 0; }
.bar { display: inline-block; height: .7rem; background: var(--head); vertical-align: middle; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
details > summary { cursor: pointer; margin: .6rem 0; } footer { margin: 3rem 0 1rem; font-size: .8rem; opacity: .7; word-break: break-all; }
";

/// The colours of A, T, C, G, N, and of all bases together.
const COLOURS: [&str; 6] = [
    "#2a9d8f", "#e76f51", "#457b9d", "#b5838d", "#888", "#e9b44c",
];

/// Returns `text` with the characters escaped that have a meaning in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Formats 1234567 as 1,234,567.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn percent(part: u64, whole: u64) -> String {
    format!(
        "{:.2} %",
        if whole == 0 {
            0.0
        } else {
            part as f64 * 100.0 / whole as f64
        }
    )
}

/// Writes the report.
pub fn write(report: &Report) -> String {
    let mut out = String::new();
    let title = escaped(&report.title);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <h1>{title}</h1>\n<p>{}</p>\n",
        report.sequencing()
    );
    summary(&mut out, report);
    filters(&mut out, report);
    adapters(&mut out, report);
    inserts(&mut out, report);
    duplicates(&mut out, report);
    crate::compared::write(&mut out, report);
    for (name, stats, found) in report.sections() {
        section(&mut out, report, name, stats, found);
    }
    let version = env!("CARGO_PKG_VERSION");
    let _ = write!(
        out,
        "<footer>{}<br>blitz-fastq {version}</footer>\n</body></html>\n",
        escaped(&report.command)
    );
    out
}

fn row(out: &mut String, cells: &[&str]) {
    let cells: Vec<_> = cells
        .iter()
        .map(|cell| format!("<td>{cell}</td>"))
        .collect();
    let _ = writeln!(out, "<tr>{}</tr>", cells.concat());
}

/// Sums over the reads of a pair.
struct Sums {
    reads: u64,
    bases: u64,
    /// Bases of quality 20, 30 and 40.
    qualities: [u64; 3],
    gc: u64,
}

fn summary(out: &mut String, report: &Report) {
    out.push_str("<h2>Summary</h2>\n<table><tr><th></th><th>before filtering</th><th>after filtering</th></tr>\n");
    let sums = [&report.before, &report.after].map(|stats| {
        let sum = |field: fn(&Summary) -> u64| stats.iter().map(field).sum::<u64>();
        Sums {
            reads: sum(|s| s.reads),
            bases: sum(|s| s.bases),
            qualities: [sum(|s| s.q20), sum(|s| s.q30), sum(|s| s.q40)],
            gc: sum(|s| s.gc),
        }
    });
    let mut both = |name: &str, show: &dyn Fn(&Sums) -> String| {
        row(out, &[name, &show(&sums[0]), &show(&sums[1])]);
    };
    both("reads", &|s| count(s.reads));
    both("bases", &|s| count(s.bases));
    for (at, least) in [20, 30, 40].into_iter().enumerate() {
        both(&format!("bases of quality {least} and more"), &|s| {
            let bases = s.qualities[at];
            format!("{} ({})", count(bases), percent(bases, s.bases))
        });
    }
    both("G and C", &|s| percent(s.gc, s.bases));
    for which in 0..report.before.len() {
        let after = if report.merge && which == 1 {
            String::new()
        } else {
            count(report.after[which].mean_length)
        };
        row(
            out,
            &[
                &format!("mean length of read {}", which + 1),
                &count(report.before[which].mean_length),
                &after,
            ],
        );
    }
    out.push_str("</table>\n");
}

fn filters(out: &mut String, report: &Report) {
    out.push_str("<h2>Filters</h2>\n<table>\n");
    let total = report.before.iter().map(|stats| stats.reads).sum();
    let mut line = |name: &str, reads: u64| {
        let bar = format!(
            "<span class=\"bar\" style=\"width:{:.2}rem\"></span>",
            12.0 * reads as f64 / (total as f64).max(1.0)
        );
        row(out, &[name, &count(reads), &percent(reads, total), &bar]);
    };
    line("passed", report.passed);
    line("low quality", report.low_quality);
    line("too many N", report.too_many_n);
    line("too short", report.too_short);
    line("too long", report.too_long);
    if let Some(reads) = report.low_complexity {
        line("low complexity", reads);
    }
    if let Some(reads) = report.dimers {
        line("adapter dimer", reads);
    }
    if let Some((reads, _)) = report.corrected {
        line("corrected in the overlap", reads);
    }
    if let Some((reads, _)) = &report.poly_x {
        line("poly-X tail trimmed", reads.iter().sum());
    }
    if report.merge {
        line("merged", 2 * report.merged_pairs);
    }
    out.push_str("</table>\n");
}

fn duplicates(out: &mut String, report: &Report) {
    let Some(rate) = report.duplication else {
        return;
    };
    let (all, about) = if report.paired {
        ("pairs", "")
    } else {
        ("reads", " For single reads this is an upper bound.")
    };
    let part = rate * 100.0;
    let _ = writeln!(
        out,
        "<h2>Duplication</h2>\n<p>{part:.3} % of the {all} occurred before.{about}</p>\n\
         <svg viewBox=\"0 0 900 40\" role=\"img\"><rect width=\"900\" height=\"16\" fill=\"{}\"/>\
         <rect x=\"{:.1}\" width=\"{:.1}\" height=\"16\" fill=\"{}\"/>\
         <text y=\"34\">for the first time</text>\
         <text x=\"900\" y=\"34\" text-anchor=\"end\">occurred before</text></svg>",
        COLOURS[0],
        900.0 - 9.0 * part,
        9.0 * part,
        COLOURS[1]
    );
}

/// How many adapters are shown.
const MOST_ADAPTERS: usize = 20;

fn adapters(out: &mut String, report: &Report) {
    let Some(adapters) = &report.adapters else {
        return;
    };
    let _ = writeln!(
        out,
        "<h2>Adapters</h2>\n<p>{} reads trimmed, {} bases.</p>",
        count(adapters.reads),
        count(adapters.bases)
    );
    for (which, (name, counts)) in adapters.names.iter().zip(&adapters.counts).enumerate() {
        let _ = writeln!(
            out,
            "<h3>Read {}: {}</h3>\n<table><tr><th>trimmed</th><th>times</th></tr>",
            which + 1,
            escaped(name)
        );
        let mut most: Vec<_> = counts.iter().collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (bases, times) in most.iter().take(MOST_ADAPTERS) {
            let seq = format!(
                "<span class=\"seq\">{}</span>",
                escaped(&String::from_utf8_lossy(bases))
            );
            row(out, &[&seq, &count(*times)]);
        }
        let rest: u64 = most
            .iter()
            .skip(MOST_ADAPTERS)
            .map(|(_, count)| count)
            .sum();
        if rest > 0 {
            row(out, &["others", &count(rest)]);
        }
        out.push_str("</table>\n");
    }
}

fn inserts(out: &mut String, report: &Report) {
    if !report.paired {
        return;
    }
    let (unknown, sizes) = report.inserts.split_last().expect("it has a last");
    let total: u64 = report.inserts.iter().sum();
    let _ = writeln!(
        out,
        "<h2>Insert size</h2>\n<p>Most frequent: {}. {} of the pairs do not overlap, so that theirs is not known.</p>",
        report.insert_peak(),
        percent(*unknown, total)
    );
    let shares: Vec<f64> = sizes
        .iter()
        .map(|&pairs| pairs as f64 * 100.0 / (total as f64).max(1.0))
        .collect();
    let line = Line {
        name: "% of pairs",
        colour: COLOURS[2],
        values: &shares,
    };
    out.push_str(&chart::draw(&[line], "insert size", 0));
}

fn section(out: &mut String, report: &Report, name: &str, stats: &Summary, found: &[Found]) {
    let _ = writeln!(
        out,
        "<h2>{}</h2>",
        name.replace('_', " ")
            .replace("read1", "Read 1")
            .replace("read2", "Read 2")
            .replace("merged", "Merged")
    );
    for (title, curves) in [
        ("Mean quality", &stats.qualities),
        ("Share of bases", &stats.contents),
    ] {
        let lines: Vec<_> = curves
            .iter()
            .enumerate()
            .map(|(at, (name, values))| Line {
                name,
                values,
                colour: if at + 1 == curves.len() {
                    COLOURS[5]
                } else {
                    COLOURS[at]
                },
            })
            .collect();
        let _ = writeln!(
            out,
            "<h3>{title} by cycle</h3>\n{}",
            chart::draw(&lines, "cycle", 1)
        );
    }
    let shares: Vec<_> = BASES
        .iter()
        .zip(stats.by_base)
        .map(|((name, _), bases)| format!("{name} {}", percent(bases, stats.bases)))
        .collect();
    let _ = writeln!(out, "<p>{}</p>", shares.join(" · "));
    kmers(out, stats);
    if report.overrepresented {
        overrepresented(out, report, stats, found);
    }
}

fn kmers(out: &mut String, stats: &Summary) {
    let kmers: Vec<_> = stats.kmers().collect();
    let most = kmers
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    out.push_str("<details><summary>Sequences of five bases (darker: more frequent)</summary>\n<table class=\"kmers\">\n");
    for line in kmers.chunks(16) {
        out.push_str("<tr>");
        for (kmer, times) in line {
            let shade = *times as f64 / most as f64;
            out.push_str("<td style=\"background:rgba(42,111,151,");
            push_fixed(out, shade, 2);
            let _ = write!(out, ")\" title=\"{times}\">{kmer}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></details>\n");
}

fn overrepresented(out: &mut String, report: &Report, stats: &Summary, found: &[Found]) {
    let _ = writeln!(
        out,
        "<h3>Overrepresented sequences (one of {} reads looked at)</h3>",
        report.sampling
    );
    if found.is_empty() {
        out.push_str("<p>none</p>\n");
        return;
    }
    out.push_str(
        "<table><tr><th>sequence</th><th>times</th><th>of all bases</th><th>where</th></tr>\n",
    );
    for (seq, times, places) in found {
        let bases = times * seq.len() as u64 * report.sampling;
        let seq = format!("<span class=\"seq\">{}</span>", escaped(seq));
        row(
            out,
            &[
                &seq,
                &count(*times),
                &percent(bases, stats.bases),
                &chart::spark(places),
            ],
        );
    }
    out.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_and_text_are_readable() {
        assert_eq!(super::count(0), "0");
        assert_eq!(super::count(1_234_567), "1,234,567");
        assert_eq!(super::escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
        assert_eq!(super::percent(1, 0), "0.00 %");
    }
}
