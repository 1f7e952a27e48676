//! The checked settings of a run.

use crate::arguments::Arguments;
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
#[derive(Clone, Copy)]
pub struct Window {
    pub enabled: bool,
    pub size: i64,
    pub quality: i64,
}

/// The way of splitting the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Split {
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
#[derive(Clone)]
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
        let text = |name: &str| given.text(name);
        let number = |name: &str| given.number(name);
        let or = |name: &str, other: &str| number(if given.has(name) { name } else { other });
        let cut = |name: &str, enabled| Window {
            enabled,
            size: or(&format!("cut_{name}_window_size"), "cut_window_size"),
            quality: or(&format!("cut_{name}_mean_quality"), "cut_mean_quality"),
        };
        if given.has("discard_unmerged") {
            eprintln!("DEPRECATED: --discard_unmerged has no effect");
        }
        let dedup = given.has("dedup");
        let detect_for_pairs = given.has("detect_adapter_for_pe");
        let adapter1 = text("adapter_sequence");
        let mut adapter2 = text("adapter_sequence_r2");
        if adapter2 == "auto" && !detect_for_pairs && adapter1 != "auto" {
            adapter2.clone_from(&adapter1);
        }
        let (poly_g, no_poly_g) = (given.has("trim_poly_g"), given.has("disable_trim_poly_g"));
        if poly_g && no_poly_g {
            return Err(Failure::options(
                "--trim_poly_g and --disable_trim_poly_g exclude each other",
            ));
        }
        let (front, right) = old_names(given);
        let max_len = |name: &str, other: &str| usize::try_from(or(name, other)).unwrap_or(0);
        let trim = [
            Trim {
                front: number("trim_front1"),
                tail: number("trim_tail1"),
                max_len: max_len("max_len1", "max_len1"),
            },
            Trim {
                front: or("trim_front2", "trim_front1"),
                tail: or("trim_tail2", "trim_tail1"),
                max_len: max_len("max_len2", "max_len1"),
            },
        ];
        let split = match (given.has("split"), given.has("split_by_lines")) {
            (true, true) => {
                return Err(Failure::options(
                    "--split and --split_by_lines exclude each other",
                ));
            }
            (true, false) => Split::Files(number("split")),
            (false, true) if number("split_by_lines") % 4 != 0 => {
                return Err(Failure::options("--split_by_lines must be a multiple of 4"));
            }
            (false, true) => Split::Records(number("split_by_lines") / 4),
            (false, false) => Split::No,
        };
        let unpaired1 = text("unpaired1");
        let mut unpaired2 = text("unpaired2");
        if unpaired2.is_empty() {
            unpaired2.clone_from(&unpaired1);
        }
        let mut options = Self {
            in1: text("in1"),
            in2: text("in2"),
            out1: text("out1"),
            out2: text("out2"),
            unpaired1,
            unpaired2,
            overlapped_out: text("overlapped_out"),
            failed_out: text("failed_out"),
            merge: given.has("merge"),
            merged_out: text("merged_out"),
            include_unmerged: given.has("include_unmerged"),
            phred64: given.has("phred64"),
            compression: number("compression") as i32,
            stdin: given.has("stdin"),
            stdout: given.has("stdout"),
            interleaved: given.has("interleaved_in"),
            reads_to_process: 0,
            fix_mgi_id: given.has("fix_mgi_id"),
            pair_names: !given.has("dont_check_pair_names"),
            verbose: given.has("verbose"),
            adapters: !given.has("disable_adapter_trimming"),
            adapter1,
            adapter2,
            fasta: crate::lists::adapters(&text("adapter_fasta"))?,
            detect_for_pairs,
            overlap_gap: given.has("allow_gap_overlap_trimming"),
            dimer_max_len: number("dimer_max_len"),
            trim,
            dedup,
            duplication: dedup || !given.has("dont_eval_duplication"),
            duplication_level: if given.has("dup_calc_accuracy") {
                number("dup_calc_accuracy").clamp(1, 6)
            } else if dedup {
                3
            } else {
                1
            },
            poly_g,
            poly_g_min: number("poly_g_min_len"),
            detect_poly_g: !poly_g && !no_poly_g,
            poly_x: given.has("trim_poly_x"),
            poly_x_min: number("poly_x_min_len"),
            cut_front: cut("front", front),
            cut_tail: cut("tail", given.has("cut_tail")),
            cut_right: cut("right", right),
            quality_filter: !given.has("disable_quality_filtering"),
            qualified: (number("qualified_quality_phred").clamp(0, 94) + 33) as i8,
            unqualified_percent: number("unqualified_percent_limit"),
            n_limit: number("n_base_limit"),
            average_quality: number("average_qual"),
            length_filter: !given.has("disable_length_filtering"),
            length_required: 0,
            length_limit: usize::try_from(number("length_limit")).unwrap_or(0),
            complexity: given
                .has("low_complexity_filter")
                .then(|| number("complexity_threshold").clamp(0, 100) as f64 / 100.0),
            index1: crate::lists::barcodes(&text("filter_by_index1"))?,
            index2: crate::lists::barcodes(&text("filter_by_index2"))?,
            index_threshold: number("filter_by_index_threshold"),
            correction: given.has("correction"),
            overlap_required: number("overlap_len_require"),
            overlap_differences: number("overlap_diff_limit"),
            overlap_percent: number("overlap_diff_percent_limit"),
            umi: None,
            overrepresented: given.has("overrepresentation_analysis"),
            sampling: 0,
            json: text("json"),
            html: text("html"),
            title: text("report_title"),
            threads: usize::try_from(number("thread")).unwrap_or(1).clamp(1, 256),
            split,
            split_digits: 0,
            command,
            read_length: [151; 2],
            split_size: 0,
        };
        if matches!(split, Split::Files(_)) && !options.seekable() {
            return Err(Failure::options(
                "--split needs an input file: standard input cannot be read twice",
            ));
        }
        options.umi = umi(given, options.paired())?;
        warn_about_windows(given, &options);
        options.check(given)?;
        Ok(options)
    }
}

/// Returns the values of `--cut_front` and `--cut_right`, which their old names also turn on.
/// That `--cut_by_quality3` turns on the cut at the front is a fault of fastp that changes
/// reads.
fn old_names(given: &Arguments) -> (bool, bool) {
    let mut front = given.has("cut_front");
    let mut right = given.has("cut_right");
    for (old, new, flag) in [
        ("cut_by_quality5", "cut_front", &mut front),
        ("cut_by_quality3", "cut_tail", &mut false),
        ("cut_by_quality_aggressive", "cut_right", &mut right),
    ] {
        if given.has(old) && !*flag {
            eprintln!("WARNING: --{old} is deprecated, use --{new}");
            *flag = true;
        }
    }
    (front || given.has("cut_by_quality3"), right)
}

fn warn_about_windows(given: &Arguments, options: &Options) {
    let enabled =
        options.cut_front.enabled || options.cut_tail.enabled || options.cut_right.enabled;
    let window = |name: &str| {
        name.starts_with("cut_") && (name.ends_with("size") || name.ends_with("mean_quality"))
    };
    if !enabled
        && crate::arguments::SPECS
            .iter()
            .any(|spec| window(spec.long) && given.has(spec.long))
    {
        eprintln!(
            "WARNING: a window is given, but none of --cut_front, --cut_tail, --cut_right: it has no effect"
        );
    }
}

fn umi(given: &Arguments, paired: bool) -> Result<Option<Umi>, Failure> {
    if !given.has("umi") {
        return Ok(None);
    }
    let loc = given.text("umi_loc").to_lowercase();
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
    let (length, skip) = (given.number("umi_len"), given.number("umi_skip"));
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
    let prefix = given.text("umi_prefix");
    if prefix.len() >= 10 || !prefix.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(Failure::options(format!(
            "--umi_prefix must be up to 9 letters and digits, not {prefix:?}"
        )));
    }
    Ok(Some(Umi {
        place,
        length: length as usize,
        prefix,
        delimiter: given.text("umi_delim"),
        skip: skip as usize,
    }))
}
