//! The figures of a run, for the reports and for standard error.

use crate::collect::Collector;
use crate::counts::Counts;
use crate::filter::Verdict;
use crate::number::number;
use crate::options::Options;
use crate::overrepresented::Sequences;
use crate::stats::{Stats, Summary};

/// The adapters of a run.
pub struct Adapters {
    pub reads: u64,
    pub bases: u64,
    pub names: Vec<String>,
    pub counts: Vec<Vec<(Vec<u8>, u64)>>,
}

/// An overrepresented sequence: its bases, how often it occurred, and how often it covers
/// each cycle.
pub type Found = (String, u64, Vec<u64>);

/// The figures of a run.
pub struct Report {
    pub paired: bool,
    pub merge: bool,
    pub title: String,
    pub command: String,
    pub before: Vec<Summary>,
    pub after: Vec<Summary>,
    pub found_before: Vec<Vec<Found>>,
    pub found_after: Vec<Vec<Found>>,
    pub overrepresented: bool,
    pub sampling: u64,
    pub passed: u64,
    pub low_quality: u64,
    pub too_many_n: u64,
    pub too_short: u64,
    pub too_long: u64,
    pub low_complexity: Option<u64>,
    /// Shown if adapters are trimmed.
    pub dimers: Option<u64>,
    /// How many reads and bases a correction has changed.
    pub corrected: Option<(u64, u64)>,
    pub poly_x: Option<([u64; 4], [u64; 4])>,
    pub duplication: Option<f64>,
    pub inserts: Vec<u64>,
    pub merged_pairs: u64,
    pub adapters: Option<Adapters>,
    /// Adapters to show on standard error even if the reports do not show them.
    pub trimmed: Option<(u64, u64)>,
    length_filter: Option<bool>,
}

fn shown(adapter: &str) -> String {
    if adapter.is_empty() || adapter == "auto" {
        "unspecified".to_owned()
    } else {
        adapter.to_owned()
    }
}

fn found(all: &[Sequences]) -> Vec<Vec<Found>> {
    let owned = |(seq, count, places): (&[u8], u64, &[u64])| {
        let seq = String::from_utf8_lossy(seq).into_owned();
        (seq, count, places.to_vec())
    };
    all.iter()
        .map(|some| some.found().into_iter().map(owned).collect())
        .collect()
}

impl Adapters {
    /// Returns those of one read or the two of a pair, if they are trimmed.
    fn new(options: &Options, collector: &Collector, reads: usize) -> Option<Self> {
        if !options.adapters || (!options.paired() && options.adapter1.is_empty()) {
            return None;
        }
        let names = [&options.adapter1, &options.adapter2];
        let owned = |(bases, count): (&[u8], u64)| (bases.to_vec(), count);
        Some(Self {
            reads: collector.trimmed_reads,
            bases: collector.trimmed_bases,
            names: names[..reads].iter().map(|name| shown(name)).collect(),
            counts: collector.adapters[..reads]
                .iter()
                .map(|found| found.sorted().into_iter().map(owned).collect())
                .collect(),
        })
    }
}

impl Report {
    pub fn new(options: &Options, mut counts: Counts, collector: &Collector) -> Self {
        let reads = if options.paired() { 2 } else { 1 };
        let (before, after) = counts.stats();
        let verdict = |verdict: Verdict| counts.verdicts[verdict as usize];
        Self {
            paired: options.paired(),
            merge: options.merge,
            title: options.title.clone(),
            command: options.command.clone(),
            before: before.into_iter().take(reads).map(Stats::summary).collect(),
            after: after.into_iter().take(reads).map(Stats::summary).collect(),
            found_before: found(&collector.before[..reads]),
            found_after: found(&collector.after[..reads]),
            overrepresented: options.overrepresented,
            sampling: options.sampling,
            passed: verdict(Verdict::Pass),
            low_quality: verdict(Verdict::Quality),
            too_many_n: verdict(Verdict::TooManyN),
            too_short: verdict(Verdict::TooShort),
            too_long: verdict(Verdict::TooLong),
            low_complexity: options.complexity.map(|_| verdict(Verdict::Complexity)),
            dimers: options.adapters.then(|| verdict(Verdict::Dimer)),
            corrected: options
                .correction
                .then_some((counts.corrected_reads, counts.corrected_bases)),
            poly_x: options
                .poly_x
                .then_some((counts.poly_x_reads, counts.poly_x_bases)),
            duplication: collector.seen.as_ref().map(|seen| seen.rate()),
            inserts: counts.inserts,
            merged_pairs: counts.merged_pairs,
            adapters: Adapters::new(options, collector, reads),
            trimmed: options
                .adapters
                .then_some((collector.trimmed_reads, collector.trimmed_bases)),
            length_filter: options.length_filter.then_some(options.length_limit > 0),
        }
    }

    pub fn sequencing(&self) -> String {
        let cycles: Vec<_> = self
            .before
            .iter()
            .map(|stats| format!("{} cycles", stats.cycles))
            .collect();
        let ends = if self.paired { "paired" } else { "single" };
        format!("{ends} end ({})", cycles.join(" + "))
    }

    /// Returns the most frequent insert size.
    pub fn insert_peak(&self) -> usize {
        let mut peak = 0;
        for (size, count) in self
            .inserts
            .iter()
            .enumerate()
            .take(crate::counts::LONGEST_INSERT)
        {
            if *count > self.inserts[peak] {
                peak = size;
            }
        }
        peak
    }

    /// Returns the statistics in the order of the reports, with their names there.
    pub fn sections(&self) -> Vec<(&'static str, &Summary, &[Found])> {
        let names = [
            ["read1_before_filtering", "read2_before_filtering"],
            [
                if self.merge {
                    "merged_and_filtered"
                } else {
                    "read1_after_filtering"
                },
                "read2_after_filtering",
            ],
        ];
        let mut sections = vec![];
        for (at, (stats, found)) in [
            (&self.before, &self.found_before),
            (&self.after, &self.found_after),
        ]
        .into_iter()
        .enumerate()
        {
            let shown = if at == 1 && self.merge {
                1
            } else {
                stats.len()
            };
            for which in 0..shown {
                sections.push((names[at][which], &stats[which], &found[which][..]));
            }
        }
        sections
    }

    /// Prints a summary of the run to standard error.
    pub fn print(&self) {
        self.print_sections();
        self.print_filtering();
        if let Some(rate) = self.duplication {
            let about = if self.paired {
                ""
            } else {
                " (may be overestimated since this is SE data)"
            };
            eprintln!("\nDuplication rate{about}: {}%", number(rate * 100.0));
        }
        if self.paired {
            eprintln!(
                "\nInsert size peak (evaluated by paired-end reads): {}",
                self.insert_peak()
            );
        }
        if self.merge {
            eprintln!("\nRead pairs merged: {}", self.merged_pairs);
            eprintln!(
                "% of original read pairs: {}%",
                percent(self.merged_pairs, self.before[0].reads)
            );
            eprintln!(
                "% in reads after filtering: {}%",
                percent(self.merged_pairs, self.after[0].reads)
            );
        }
    }

    fn print_sections(&self) {
        for (name, stats, _) in self.sections() {
            let name = match name {
                "read1_before_filtering" => "Read1 before filtering",
                "read2_before_filtering" => "Read2 before filtering",
                "read1_after_filtering" => "Read1 after filtering",
                "read2_after_filtering" => "Read2 after filtering",
                _ => "Merged and filtered",
            };
            eprintln!(
                "{name}:\ntotal reads: {}\ntotal bases: {}",
                stats.reads, stats.bases
            );
            for (quality, bases) in [(20, stats.q20), (30, stats.q30), (40, stats.q40)] {
                eprintln!(
                    "Q{quality} bases: {bases}({}%)",
                    percent(bases, stats.bases)
                );
            }
            eprintln!();
        }
    }

    fn print_filtering(&self) {
        eprintln!("Filtering result:\nreads passed filter: {}", self.passed);
        eprintln!("reads failed due to low quality: {}", self.low_quality);
        eprintln!("reads failed due to too many N: {}", self.too_many_n);
        if let Some(limited) = self.length_filter {
            eprintln!("reads failed due to too short: {}", self.too_short);
            if limited {
                eprintln!("reads failed due to too long: {}", self.too_long);
            }
        }
        if let Some(reads) = self.low_complexity {
            eprintln!("reads failed due to low complexity: {reads}");
        }
        if let Some(reads) = self.dimers {
            eprintln!("reads failed due to adapter dimer: {reads}");
        }
        if let Some((reads, bases)) = self.trimmed {
            eprintln!(
                "reads with adapter trimmed: {reads}\nbases trimmed due to adapters: {bases}"
            );
        }
        if let Some((reads, bases)) = self.poly_x {
            eprintln!("reads with polyX in 3' end: {}", reads.iter().sum::<u64>());
            eprintln!("bases trimmed in polyX tail: {}", bases.iter().sum::<u64>());
        }
        if let Some((reads, bases)) = self.corrected {
            eprintln!(
                "reads corrected by overlap analysis: {reads}\nbases corrected by overlap analysis: {bases}"
            );
        }
    }
}

fn percent(part: u64, whole: u64) -> String {
    number(if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    })
}
