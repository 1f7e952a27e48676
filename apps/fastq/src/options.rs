//! The checked settings of a run.

use crate::arguments::{Arguments, Number};
use crate::failure::Failure;

/// The place of a UMI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UmiPlace {
    Index1,
    Index2,
    Read1,
    Read2,
    PerIndex,
    PerRead,
}

/// Settings for moving UMIs to the names.
#[derive(Clone)]
pub struct Umi {
    pub place: UmiPlace,
    pub length: usize,
    pub prefix: String,
    pub delimiter: String,
    pub skip: usize,
}

/// One sliding window.
#[derive(Clone, Copy, Default)]
pub struct Window {
    pub enabled: bool,
    pub size: i64,
    pub quality: i64,
}

/// The way of splitting the output.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Split {
    #[default]
    No,
    Files(i64),
    Records(i64),
}

/// Trims of one read of a pair.
#[derive(Clone, Copy, Default)]
pub struct Trim {
    pub front: i64,
    pub tail: i64,
    pub max_len: usize,
}

/// The settings of a run.
#[derive(Clone, Default)]
pub struct Options {
    pub in1: String,
    pub in2: String,
    pub out1: String,
    pub out2: String,
    pub unpaired1: String,
    pub unpaired2: String,
    pub overlapped_out: String,
    pub failed_out: String,
    pub merge: bool,
    pub merged_out: String,
    pub include_unmerged: bool,
    pub phred64: bool,
    pub compression: i32,
    pub stdin: bool,
    pub stdout: bool,
    pub interleaved: bool,
    pub reads_to_process: u64,
    pub fix_mgi_id: bool,
    /// The reads of a pair must have the same name.
    pub pair_names: bool,
    pub verbose: bool,
    pub adapters: bool,
    pub adapter1: String,
    pub adapter2: String,
    pub fasta: Vec<Vec<u8>>,
    pub detect_for_pairs: bool,
    /// The overlap by which adapters are trimmed may have a gap.
    pub overlap_gap: bool,
    /// The longest read that adapter trimming can leave of an adapter dimer.
    pub dimer_max_len: i64,
    pub trim: [Trim; 2],
    pub dedup: bool,
    pub duplication: bool,
    pub duplication_level: i64,
    pub poly_g: bool,
    pub poly_g_min: i64,
    pub detect_poly_g: bool,
    pub poly_x: bool,
    pub poly_x_min: i64,
    pub cut_front: Window,
    pub cut_tail: Window,
    pub cut_right: Window,
    pub quality_filter: bool,
    pub qualified: i8,
    pub unqualified_percent: i64,
    pub n_limit: i64,
    pub average_quality: i64,
    pub length_filter: bool,
    pub length_required: usize,
    pub length_limit: usize,
    pub complexity: Option<f64>,
    pub index1: Vec<Vec<u8>>,
    pub index2: Vec<Vec<u8>>,
    pub index_threshold: i64,
    pub correction: bool,
    pub overlap_required: i64,
    pub overlap_differences: i64,
    pub overlap_percent: i64,
    pub umi: Option<Umi>,
    pub overrepresented: bool,
    pub sampling: u64,
    pub json: String,
    pub html: String,
    pub title: String,
    pub threads: usize,
    pub split: Split,
    pub split_digits: usize,
    /// The command line, for the reports.
    pub command: String,
    /// The longest of the first reads; set after the input has been examined.
    pub read_length: [usize; 2],
    /// Number of records of each file when the output is split.
    pub split_size: i64,
}

impl Options {
    pub fn paired(&self) -> bool {
        !self.in2.is_empty() || self.interleaved
    }

    /// Returns `true` if the input is examined before it is processed. Like fastp, the program does
    /// not examine standard input.
    pub fn seekable(&self) -> bool {
        !self.stdin && self.in1 != crate::input::STDIN
    }

    /// Returns `true` if the adapter of read 1 or 2 is to be detected.
    pub fn detects_adapter(&self, second: bool) -> bool {
        if !self.adapters {
            return false;
        }
        if second {
            self.paired() && self.detect_for_pairs && self.adapter2 == "auto"
        } else {
            (!self.paired() || self.detect_for_pairs) && self.adapter1 == "auto"
        }
    }

    /// Reads the options. [`Options::check`] checks their values.
    pub fn new(given: &Arguments, command: String) -> Result<Self, Failure> {
        if given.discard_unmerged {
            eprintln!("DEPRECATED: --discard_unmerged has no effect");
        }
        if given.trim_poly_g && given.disable_trim_poly_g {
            return Err(Failure::options(
                "--trim_poly_g and --disable_trim_poly_g exclude each other",
            ));
        }
        let mut options = Self {
            command,
            read_length: [151; 2],
            threads: usize::try_from(given.thread.value)
                .unwrap_or(1)
                .clamp(1, 256),
            verbose: given.verbose,
            ..Self::default()
        };
        options.take_windows(given);
        options.split = split(given)?;
        options.take_input(given);
        options.take_outputs(given);
        options.take_adapters(given)?;
        options.take_trims(given);
        options.take_filters(given)?;
        options.take_pairs(given);
        options.take_counts(given);
        if matches!(options.split, Split::Files(_)) && !options.seekable() {
            return Err(Failure::options(
                "--split needs an input file: standard input cannot be read twice",
            ));
        }
        options.umi = umi(given, options.paired())?;
        warn_about_windows(given, &options);
        options.check(given)?;
        Ok(options)
    }

    fn take_windows(&mut self, given: &Arguments) {
        let (front, right) = old_names(given);
        let window = |enabled, size: Number, quality: Number| Window {
            enabled,
            size: size.or(given.cut_window_size),
            quality: quality.or(given.cut_mean_quality),
        };
        self.cut_front = window(
            front,
            given.cut_front_window_size,
            given.cut_front_mean_quality,
        );
        self.cut_tail = window(
            given.cut_tail,
            given.cut_tail_window_size,
            given.cut_tail_mean_quality,
        );
        self.cut_right = window(
            right,
            given.cut_right_window_size,
            given.cut_right_mean_quality,
        );
    }

    fn take_input(&mut self, given: &Arguments) {
        self.in1.clone_from(&given.in1);
        self.in2.clone_from(&given.in2);
        self.stdin = given.stdin;
        self.interleaved = given.interleaved_in;
        self.phred64 = given.phred64;
        self.fix_mgi_id = given.fix_mgi_id;
        self.pair_names = !given.dont_check_pair_names;
    }

    fn take_outputs(&mut self, given: &Arguments) {
        self.out1.clone_from(&given.out1);
        self.out2.clone_from(&given.out2);
        self.unpaired1.clone_from(&given.unpaired1);
        self.unpaired2.clone_from(if given.unpaired2.is_empty() {
            &given.unpaired1
        } else {
            &given.unpaired2
        });
        self.overlapped_out.clone_from(&given.overlapped_out);
        self.failed_out.clone_from(&given.failed_out);
        self.merge = given.merge;
        self.merged_out.clone_from(&given.merged_out);
        self.include_unmerged = given.include_unmerged;
        self.stdout = given.stdout;
        self.compression = given.compression.value as i32;
        self.json.clone_from(&given.json);
        self.html.clone_from(&given.html);
        self.title.clone_from(&given.report_title);
    }

    fn take_adapters(&mut self, given: &Arguments) -> Result<(), Failure> {
        self.adapters = !given.disable_adapter_trimming;
        self.detect_for_pairs = given.detect_adapter_for_pe;
        self.adapter1.clone_from(&given.adapter_sequence);
        self.adapter2.clone_from(&given.adapter_sequence_r2);
        if self.adapter2 == "auto" && !self.detect_for_pairs && self.adapter1 != "auto" {
            self.adapter2.clone_from(&given.adapter_sequence);
        }
        self.fasta = crate::lists::adapters(&given.adapter_fasta)?;
        self.overlap_gap = given.allow_gap_overlap_trimming;
        self.dimer_max_len = given.dimer_max_len.value;
        Ok(())
    }

    fn take_trims(&mut self, given: &Arguments) {
        let max_len = |number: i64| usize::try_from(number).unwrap_or(0);
        self.trim = [
            Trim {
                front: given.trim_front1.value,
                tail: given.trim_tail1.value,
                max_len: max_len(given.max_len1.value),
            },
            Trim {
                front: given.trim_front2.or(given.trim_front1),
                tail: given.trim_tail2.or(given.trim_tail1),
                max_len: max_len(given.max_len2.or(given.max_len1)),
            },
        ];
        self.poly_g = given.trim_poly_g;
        self.poly_g_min = given.poly_g_min_len.value;
        self.detect_poly_g = !given.trim_poly_g && !given.disable_trim_poly_g;
        self.poly_x = given.trim_poly_x;
        self.poly_x_min = given.poly_x_min_len.value;
    }

    fn take_filters(&mut self, given: &Arguments) -> Result<(), Failure> {
        self.quality_filter = !given.disable_quality_filtering;
        self.qualified = (given.qualified_quality_phred.value.clamp(0, 94) + 33) as i8;
        self.unqualified_percent = given.unqualified_percent_limit.value;
        self.n_limit = given.n_base_limit.value;
        self.average_quality = given.average_qual.value;
        self.length_filter = !given.disable_length_filtering;
        self.length_limit = usize::try_from(given.length_limit.value).unwrap_or(0);
        let threshold = given.complexity_threshold.value.clamp(0, 100);
        self.complexity = given
            .low_complexity_filter
            .then_some(threshold as f64 / 100.0);
        self.index1 = crate::lists::barcodes(&given.filter_by_index1)?;
        self.index2 = crate::lists::barcodes(&given.filter_by_index2)?;
        self.index_threshold = given.filter_by_index_threshold.value;
        Ok(())
    }

    fn take_pairs(&mut self, given: &Arguments) {
        self.correction = given.correction;
        self.overlap_required = given.overlap_len_require.value;
        self.overlap_differences = given.overlap_diff_limit.value;
        self.overlap_percent = given.overlap_diff_percent_limit.value;
    }

    fn take_counts(&mut self, given: &Arguments) {
        self.dedup = given.dedup;
        self.duplication = given.dedup || !given.dont_eval_duplication;
        self.duplication_level = match given.dup_calc_accuracy {
            accuracy if accuracy.is_given => accuracy.value.clamp(1, 6),
            _ if given.dedup => 3,
            _ => 1,
        };
        self.overrepresented = given.overrepresentation_analysis;
    }
}

fn split(given: &Arguments) -> Result<Split, Failure> {
    let (files, lines) = (given.split, given.split_by_lines);
    match (files.is_given, lines.is_given) {
        (true, true) => Err(Failure::options(
            "--split and --split_by_lines exclude each other",
        )),
        (true, false) => Ok(Split::Files(files.value)),
        (false, true) if lines.value % 4 != 0 => {
            Err(Failure::options("--split_by_lines must be a multiple of 4"))
        }
        (false, true) => Ok(Split::Records(lines.value / 4)),
        (false, false) => Ok(Split::No),
    }
}

/// Returns the values of `--cut_front` and `--cut_right`, which their old names also turn on.
/// That `--cut_by_quality3` turns on the cut at the front is a fault of fastp that changes
/// reads.
fn old_names(given: &Arguments) -> (bool, bool) {
    let mut front = given.cut_front;
    let mut right = given.cut_right;
    for (old, is_given, new, flag) in [
        (
            "cut_by_quality5",
            given.cut_by_quality5,
            "cut_front",
            &mut front,
        ),
        (
            "cut_by_quality3",
            given.cut_by_quality3,
            "cut_tail",
            &mut false,
        ),
        (
            "cut_by_quality_aggressive",
            given.cut_by_quality_aggressive,
            "cut_right",
            &mut right,
        ),
    ] {
        if is_given && !*flag {
            eprintln!("WARNING: --{old} is deprecated, use --{new}");
            *flag = true;
        }
    }
    (front || given.cut_by_quality3, right)
}

fn warn_about_windows(given: &Arguments, options: &Options) {
    let enabled =
        options.cut_front.enabled || options.cut_tail.enabled || options.cut_right.enabled;
    let windows = [
        given.cut_window_size,
        given.cut_mean_quality,
        given.cut_front_window_size,
        given.cut_front_mean_quality,
        given.cut_tail_window_size,
        given.cut_tail_mean_quality,
        given.cut_right_window_size,
        given.cut_right_mean_quality,
    ];
    if !enabled && windows.iter().any(|number| number.is_given) {
        eprintln!(
            "WARNING: a window is given, but none of --cut_front, --cut_tail, --cut_right: it has no effect"
        );
    }
}

fn umi(given: &Arguments, paired: bool) -> Result<Option<Umi>, Failure> {
    if !given.umi {
        return Ok(None);
    }
    let loc = given.umi_loc.to_lowercase();
    let place = match loc.as_str() {
        "" => return Err(Failure::options("--umi needs --umi_loc")),
        "index1" => UmiPlace::Index1,
        "index2" => UmiPlace::Index2,
        "read1" => UmiPlace::Read1,
        "read2" => UmiPlace::Read2,
        "per_index" => UmiPlace::PerIndex,
        "per_read" => UmiPlace::PerRead,
        _ => {
            return Err(Failure::options(
                "--umi_loc must be index1, index2, read1, read2, per_index or per_read",
            ));
        }
    };
    if !paired && matches!(place, UmiPlace::Index2 | UmiPlace::Read2) {
        return Err(Failure::options(format!("--umi_loc {loc} needs pairs")));
    }
    let (length, skip) = (given.umi_len.value, given.umi_skip.value);
    if matches!(place, UmiPlace::Read1 | UmiPlace::Read2 | UmiPlace::PerRead) {
        if length == 0 {
            return Err(Failure::options(format!("--umi_loc {loc} needs --umi_len")));
        }
        if !(1..=100).contains(&length) || !(0..=100).contains(&skip) {
            return Err(Failure::options(
                "--umi_len must be 1 to 100 and --umi_skip 0 to 100",
            ));
        }
    } else if skip > 0 || length > 0 {
        return Err(Failure::options(
            "--umi_len and --umi_skip need a UMI in a read: read1, read2 or per_read",
        ));
    }
    let prefix = &given.umi_prefix;
    if prefix.len() >= 10 || !prefix.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(Failure::options(format!(
            "--umi_prefix must be up to 9 letters and digits, not {prefix:?}"
        )));
    }
    Ok(Some(Umi {
        place,
        length: length as usize,
        prefix: prefix.clone(),
        delimiter: given.umi_delim.clone(),
        skip: skip as usize,
    }))
}
