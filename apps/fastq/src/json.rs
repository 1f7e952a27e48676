//! The JSON report: keys, order and number formats of fastp.

use crate::bins;
use crate::number::{self, number};
use crate::report::Report;
use crate::stats::Summary;
use std::fmt::Write;

/// Returns `text` as the content of a JSON string.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

fn list<T>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(",")
}

fn share(part: u64, whole: u64) -> String {
    number(if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    })
}

/// Writes the report.
pub fn write(report: &Report) -> String {
    let mut out = String::from("{\n");
    summary(&mut out, report);
    filtering(&mut out, report);
    if let Some(rate) = report.duplication {
        let _ = write!(
            out,
            "\t\"duplication\": {{\n\t\t\"rate\": {}\n\t}},\n",
            number(rate)
        );
    }
    if report.paired {
        let (unknown, sizes) = report.inserts.split_last().expect("it has a last");
        let _ = write!(
            out,
            "\t\"insert_size\": {{\n\t\t\"peak\": {},\n\t\t\"unknown\": {unknown},\n\t\t\"histogram\": [{}]\n\t}},\n",
            report.insert_peak(),
            list(sizes, u64::to_string)
        );
    }
    adapters(&mut out, report);
    poly_x(&mut out, report);
    for (name, stats, sequences) in report.sections() {
        section(&mut out, name, stats, sequences);
    }
    let _ = write!(out, "\t\"command\": \"{}\"\n}}", escaped(&report.command));
    out
}

/// Returns the version of fastp whose results these are, and this program as its local label
/// in the sense of PEP 440: MultiQC sorts such versions and shows them as they are.
fn version() -> String {
    format!("{}+blitz-fastq.{}", crate::FASTP, env!("CARGO_PKG_VERSION"))
}

fn summary(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "\t\"summary\": {{\n\t\t\"fastp_version\": \"{}\",",
        version()
    );
    let _ = writeln!(out, "\t\t\"sequencing\": \"{}\",", report.sequencing());
    for (name, stats, merged, end) in [
        ("before", &report.before, false, ","),
        ("after", &report.after, report.merge, ""),
    ] {
        let sum = |field: fn(&Summary) -> u64| stats.iter().map(field).sum::<u64>();
        let bases = sum(|s| s.bases);
        let (q20, q30) = (sum(|s| s.q20), sum(|s| s.q30));
        let _ = writeln!(out, "\t\t\"{name}_filtering\": {{");
        let _ = writeln!(out, "\t\t\t\"total_reads\":{},", sum(|s| s.reads));
        let _ = writeln!(out, "\t\t\t\"total_bases\":{bases},");
        let _ = writeln!(out, "\t\t\t\"q20_bases\":{q20},");
        let _ = writeln!(out, "\t\t\t\"q30_bases\":{q30},");
        let _ = writeln!(out, "\t\t\t\"q20_rate\":{},", share(q20, bases));
        let _ = writeln!(out, "\t\t\t\"q30_rate\":{},", share(q30, bases));
        let _ = writeln!(out, "\t\t\t\"read1_mean_length\":{},", stats[0].mean_length);
        if let (Some(second), false) = (stats.get(1), merged) {
            let _ = writeln!(out, "\t\t\t\"read2_mean_length\":{},", second.mean_length);
        }
        let _ = writeln!(out, "\t\t\t\"gc_content\":{}", share(sum(|s| s.gc), bases));
        let _ = writeln!(out, "\t\t}}{end}");
    }
    out.push_str("\t},\n");
}

fn filtering(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\t\"filtering_result\": {{");
    let mut lines = vec![("passed_filter_reads", report.passed)];
    if let Some((reads, bases)) = report.corrected {
        lines.extend([("corrected_reads", reads), ("corrected_bases", bases)]);
    }
    lines.extend([
        ("low_quality_reads", report.low_quality),
        ("too_many_N_reads", report.too_many_n),
    ]);
    lines.extend(
        report
            .low_complexity
            .map(|reads| ("low_complexity_reads", reads)),
    );
    lines.extend(report.dimers.map(|reads| ("adapter_dimer_reads", reads)));
    lines.extend([
        ("too_short_reads", report.too_short),
        ("too_long_reads", report.too_long),
    ]);
    let _ = writeln!(out, "{}", lines.map_lines("\t\t"));
    out.push_str("\t},\n");
}

/// The lines of an object, with commas between them.
trait MapLines {
    fn map_lines(&self, padding: &str) -> String;
}

impl MapLines for Vec<(&str, u64)> {
    fn map_lines(&self, padding: &str) -> String {
        let lines: Vec<_> = self
            .iter()
            .map(|(key, value)| format!("{padding}\"{key}\": {value}"))
            .collect();
        lines.join(",\n")
    }
}

/// Adapters that are less than this share of all are shown together.
const RARE: f64 = 0.01;

fn adapters(out: &mut String, report: &Report) {
    let Some(adapters) = &report.adapters else {
        return;
    };
    let _ = writeln!(out, "\t\"adapter_cutting\": {{");
    let _ = writeln!(out, "\t\t\"adapter_trimmed_reads\": {},", adapters.reads);
    let _ = writeln!(out, "\t\t\"adapter_trimmed_bases\": {},", adapters.bases);
    for (at, name) in adapters.names.iter().enumerate() {
        let _ = writeln!(out, "\t\t\"read{}_adapter_sequence\": \"{name}\",", at + 1);
    }
    let counts: Vec<_> = adapters
        .counts
        .iter()
        .enumerate()
        .map(|(at, counts)| {
            let total: u64 = counts.iter().map(|(_, count)| count).sum();
            let (rare, often): (Vec<_>, Vec<_>) = counts
                .iter()
                .partition(|(_, count)| (*count as f64 / total as f64) < RARE);
            let mut shown: Vec<_> = often
                .iter()
                .map(|(bases, count)| {
                    format!("\"{}\":{count}", escaped(&String::from_utf8_lossy(bases)))
                })
                .collect();
            let rest: u64 = rare.iter().map(|(_, count)| count).sum();
            if rest > 0 {
                shown.push(format!("\"others\":{rest}"));
            }
            format!(
                "\t\t\"read{}_adapter_counts\": {{{}}}",
                at + 1,
                shown.join(", ")
            )
        })
        .collect();
    let _ = writeln!(out, "{}\n\t}},", counts.join(",\n"));
}

fn poly_x(out: &mut String, report: &Report) {
    let Some((reads, bases)) = report.poly_x else {
        return;
    };
    let _ = writeln!(out, "\t\"polyx_trimming\": \t{{");
    for (name, counts, end) in [("reads", reads, ","), ("bases", bases, "")] {
        let total: u64 = counts.iter().sum();
        let each: Vec<_> = "ATCG"
            .chars()
            .zip(counts)
            .map(|(base, count)| format!("\"{base}\": {count}"))
            .collect();
        let _ = writeln!(out, "\t\t\"total_polyx_trimmed_{name}\": {total},");
        let _ = writeln!(
            out,
            "\t\t\"polyx_trimmed_{name}\":{{{}}}{end}",
            each.join(", ")
        );
    }
    out.push_str("\t},\n");
}

fn section(out: &mut String, name: &str, stats: &Summary, sequences: &[(String, u64, Vec<u64>)]) {
    let _ = writeln!(out, "\t\"{name}\": {{");
    let lines = vec![
        ("total_reads", stats.reads),
        ("total_bases", stats.bases),
        ("q20_bases", stats.q20),
        ("q30_bases", stats.q30),
        ("q40_bases", stats.q40),
        ("total_cycles", stats.cycles as u64),
    ];
    let _ = writeln!(out, "{},", lines.map_lines("\t\t"));
    for (name, curves) in [
        ("quality_curves", &stats.qualities),
        ("content_curves", &stats.contents),
    ] {
        let _ = writeln!(out, "\t\t\"{name}\": {{");
        for (at, (name, curve)) in curves.iter().enumerate() {
            let _ = write!(out, "{}\t\t\t\"{name}\":[", if at > 0 { ",\n" } else { "" });
            for (at, &value) in curve.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                number::push(out, value);
            }
            out.push(']');
        }
        out.push_str("\n\t\t},\n");
    }
    let entries = stats.qualities.first().map_or(0, |(_, curve)| curve.len());
    if entries > bins::EXACT {
        let cycles = list(0..entries, |bin| (bins::start(bin) + 1).to_string());
        let _ = writeln!(out, "\t\t\"curve_cycles\": [{cycles}],");
    }
    out.push_str("\t\t\"kmer_count\": {\n");
    for (at, (kmer, count)) in stats.kmers().enumerate() {
        let between = match at % 16 {
            _ if at == 0 => "",
            0 => ",\n",
            _ => ",",
        };
        let _ = write!(out, "{between}\t\t\t\"{kmer}\":{count}");
    }
    out.push_str("\n\t\t},\n");
    let found: Vec<_> = sequences
        .iter()
        .map(|(seq, count, _)| format!("\t\t\t\"{}\":{count}", escaped(seq)))
        .collect();
    let _ = writeln!(
        out,
        "\t\t\"overrepresented_sequences\": {{\n{}\t\t}}\n\t}},",
        found.join(",\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_both_programs_in_the_form_of_pep_440() {
        let version = version();
        let (fastp, label) = version.split_once('+').expect("it has a label");
        assert_eq!(fastp, crate::FASTP);
        assert!(fastp.split('.').all(|part| part.parse::<u32>().is_ok()));
        let own = label.strip_prefix("blitz-fastq.");
        assert_eq!(own, Some(env!("CARGO_PKG_VERSION")));
        let alphanumeric = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric());
        let mut parts = label.split(['.', '-', '_']);
        assert!(parts.all(|part| !part.is_empty() && alphanumeric(part)));
    }
}
