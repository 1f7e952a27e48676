//! The command line: which options exist and how they are read.

use std::fmt::Write;

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flag,
    Text,
    Number,
}

/// `true` if an option without a value is given.
type Flag = bool;
/// The text of an option, or its default.
type Text = String;

/// The number of an option, or its default.
#[derive(Clone, Copy)]
pub struct Number {
    pub value: i64,
    pub is_given: bool,
}

impl Number {
    /// Returns this number if it is given, else the other one.
    pub fn or(self, other: Self) -> i64 {
        if self.is_given {
            self.value
        } else {
            other.value
        }
    }
}

/// The place of the value of an option.
enum Place<'a> {
    Flag(&'a mut Flag),
    Text(&'a mut Text),
    Number(&'a mut Number),
}

/// A value that no command line has set yet.
trait Initial {
    fn initial(default: &str) -> Self;
}

impl Initial for Flag {
    fn initial(_: &str) -> Self {
        false
    }
}

impl Initial for Text {
    fn initial(default: &str) -> Self {
        default.to_owned()
    }
}

impl Initial for Number {
    fn initial(default: &str) -> Self {
        Self {
            value: default.parse().expect("the default is a number"),
            is_given: false,
        }
    }
}

/// One option: long name, short name (0 for none), kind, default, explanation.
pub struct Spec {
    pub long: &'static str,
    pub short: u8,
    pub kind: Kind,
    pub default: &'static str,
    pub help: &'static str,
}

macro_rules! options {
    ($($long:ident $short:literal $kind:ident $default:literal $help:literal)*) => {
        /// Every option, in the order of the help.
        pub const SPECS: &[Spec] = &[$(Spec {
            long: stringify!($long),
            short: $short,
            kind: Kind::$kind,
            default: $default,
            help: $help,
        }),*];

        /// The options of a command line, each under its long name.
        pub struct Arguments {
            $(pub $long: $kind),*
        }

        impl Default for Arguments {
            fn default() -> Self {
                Self {
                    $($long: Initial::initial($default)),*
                }
            }
        }

        impl Arguments {
            fn place(&mut self, long: &str) -> Option<Place<'_>> {
                match long {
                    $(stringify!($long) => Some(Place::$kind(&mut self.$long)),)*
                    _ => None,
                }
            }
        }
    };
}

#[rustfmt::skip]
options! {
    in1 b'i' Text "" "input file of read 1"
    out1 b'o' Text "" "output file of read 1"
    in2 b'I' Text "" "input file of read 2"
    out2 b'O' Text "" "output file of read 2"
    unpaired1 0 Text "" "write read 1 here if it passes and read 2 does not (default: drop it)"
    unpaired2 0 Text "" "write read 2 here if it passes and read 1 does not (default: the file of --unpaired1)"
    overlapped_out 0 Text "" "write the overlapping part of each pair here if both reads agree on it"
    failed_out 0 Text "" "write reads that fail a filter here, with the reason in the name line"
    merge b'm' Flag "" "merge each overlapping pair into one read; needs --merged_out or --stdout"
    merged_out 0 Text "" "file of the merged reads"
    include_unmerged 0 Flag "" "write pairs that do not overlap to the file of the merged reads as well"
    phred64 b'6' Flag "" "qualities of the input start at 64; those of the output start at 33"
    compression b'z' Number "4" "gzip level of the output, 1 (fastest) to 9 (smallest)"
    stdin 0 Flag "" "read from standard input; add --interleaved_in if it has pairs"
    stdout 0 Flag "" "write reads that pass to standard output, pairs interleaved"
    interleaved_in 0 Flag "" "--in1 has read 1 and read 2 in turn"
    reads_to_process 0 Number "0" "stop after this many reads or pairs (0: process all)"
    dont_overwrite 0 Flag "" "fail if an output file exists"
    fix_mgi_id 0 Flag "" "put a space before the /1 and /2 of MGI read names"
    dont_check_pair_names 0 Flag "" "pair reads whatever their names are"
    verbose b'V' Flag "" "say on standard error how far the run has come"
    disable_adapter_trimming b'A' Flag "" "do not trim adapters"
    adapter_sequence b'a' Text "auto" "adapter of read 1; with single reads it is detected if not given"
    adapter_sequence_r2 0 Text "auto" "adapter of read 2 (default: that of read 1)"
    adapter_fasta 0 Text "" "trim every sequence of this FASTA file from both reads"
    detect_adapter_for_pe b'2' Flag "" "detect adapters of pairs too"
    allow_gap_overlap_trimming 0 Flag "" "an overlap of a pair may have one gap when adapters are trimmed"
    dimer_max_len 0 Number "2" "a read of which adapter trimming leaves at most this many bases is an adapter dimer"
    trim_front1 b'f' Number "0" "bases to trim at the front of read 1"
    trim_tail1 b't' Number "0" "bases to trim at the tail of read 1"
    max_len1 b'b' Number "0" "shorten read 1 to this length at its tail (0: no limit)"
    trim_front2 b'F' Number "0" "bases to trim at the front of read 2 (default: as for read 1)"
    trim_tail2 b'T' Number "0" "bases to trim at the tail of read 2 (default: as for read 1)"
    max_len2 b'B' Number "0" "shorten read 2 to this length at its tail (default: as for read 1)"
    dedup b'D' Flag "" "drop reads or pairs that occurred before"
    dup_calc_accuracy 0 Number "0" "accuracy of the duplication estimate, 1 to 6 (default: 1, with --dedup 3)"
    dont_eval_duplication 0 Flag "" "do not estimate the duplication rate"
    trim_poly_g b'g' Flag "" "trim poly-G tails (default: only for NextSeq and NovaSeq data)"
    poly_g_min_len 0 Number "10" "shortest poly-G tail"
    disable_trim_poly_g b'G' Flag "" "never trim poly-G tails"
    trim_poly_x b'x' Flag "" "trim poly-X tails"
    poly_x_min_len 0 Number "10" "shortest poly-X tail"
    cut_front b'5' Flag "" "drop windows of low mean quality from the front until one is good enough"
    cut_tail b'3' Flag "" "drop windows of low mean quality from the tail until one is good enough"
    cut_right b'r' Flag "" "cut at the first window of low mean quality, and all after it"
    cut_window_size b'W' Number "4" "window size of the three, 1 to 1000"
    cut_mean_quality b'M' Number "20" "mean quality of the three, 1 to 30"
    cut_front_window_size 0 Number "4" "window size of --cut_front (default: --cut_window_size)"
    cut_front_mean_quality 0 Number "20" "mean quality of --cut_front (default: --cut_mean_quality)"
    cut_tail_window_size 0 Number "4" "window size of --cut_tail (default: --cut_window_size)"
    cut_tail_mean_quality 0 Number "20" "mean quality of --cut_tail (default: --cut_mean_quality)"
    cut_right_window_size 0 Number "4" "window size of --cut_right (default: --cut_window_size)"
    cut_right_mean_quality 0 Number "20" "mean quality of --cut_right (default: --cut_mean_quality)"
    disable_quality_filtering b'Q' Flag "" "do not filter by quality"
    qualified_quality_phred b'q' Number "15" "quality from which a base counts as qualified"
    unqualified_percent_limit b'u' Number "40" "percentage of bases that may be unqualified, 0 to 100"
    n_base_limit b'n' Number "5" "number of N that a read may have"
    average_qual b'e' Number "0" "mean quality that a read must have (0: any)"
    disable_length_filtering b'L' Flag "" "do not filter by length"
    length_required b'l' Number "15" "drop reads shorter than this"
    length_limit 0 Number "0" "drop reads longer than this (0: no limit)"
    low_complexity_filter b'y' Flag "" "drop reads in which too few bases differ from the next one"
    complexity_threshold b'Y' Number "30" "percentage of such bases that a read must have, 0 to 100"
    filter_by_index1 0 Text "" "file with barcodes of index 1 to drop, one a line"
    filter_by_index2 0 Text "" "file with barcodes of index 2 to drop, one a line"
    filter_by_index_threshold 0 Number "0" "differences that a barcode to drop may have"
    correction b'c' Flag "" "correct bases where the reads of a pair overlap"
    overlap_len_require 0 Number "30" "shortest overlap of a pair"
    overlap_diff_limit 0 Number "5" "differences that an overlap may have"
    overlap_diff_percent_limit 0 Number "20" "percentage of differences that an overlap may have"
    umi b'U' Flag "" "move the unique molecular identifier (UMI) to the read name"
    umi_loc 0 Text "" "where the UMI is: index1, index2, read1, read2, per_index or per_read"
    umi_len 0 Number "0" "length of a UMI in a read"
    umi_prefix 0 Text "" "text to put before the UMI, joined with an underscore"
    umi_skip 0 Number "0" "bases to drop after a UMI in a read"
    umi_delim 0 Text ":" "text between the read name and the UMI"
    overrepresentation_analysis b'p' Flag "" "count overrepresented sequences"
    overrepresentation_sampling b'P' Number "20" "look at one of so many reads, 1 to 10000"
    json b'j' Text "fastp.json" "file of the JSON report"
    html b'h' Text "fastp.html" "file of the HTML report"
    report_title b'R' Text "fastp report" "title of the HTML report"
    thread b'w' Number "3" "threads that process reads; one more reads and writes"
    split b's' Number "0" "split the output into this many files, 2 to 999, named 0001.NAME and so on"
    split_by_lines b'S' Number "0" "split the output into files of this many lines, at least 1000"
    split_prefix_digits b'd' Number "4" "digits of the number in such a name, 0 to 10"
    cut_by_quality5 0 Flag "" "old name of --cut_front"
    cut_by_quality3 0 Flag "" "old name of --cut_tail"
    cut_by_quality_aggressive 0 Flag "" "old name of --cut_right"
    discard_unmerged 0 Flag "" "has no effect any more"
    help b'?' Flag "" "print this message"
}

fn by_short(short: u8) -> Result<&'static Spec, String> {
    SPECS
        .iter()
        .find(|spec| spec.short != 0 && spec.short == short)
        .ok_or_else(|| format!("undefined short option: -{}", short as char))
}

fn by_long(long: &str) -> Result<&'static Spec, String> {
    SPECS
        .iter()
        .find(|spec| spec.long == long)
        .ok_or_else(|| format!("undefined option: --{long}"))
}

impl Arguments {
    /// Reads `words`. The first error is the message for the user.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                match long.split_once('=') {
                    Some((name, value)) => arguments.set(by_long(name)?, Some(value))?,
                    None => {
                        let spec = by_long(long)?;
                        let value = if spec.kind == Kind::Flag {
                            None
                        } else {
                            words.next()
                        };
                        arguments.set(spec, value.map(String::as_str))?;
                    }
                }
            } else if let Some(shorts) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                let (last, flags) = shorts.as_bytes().split_last().expect("it is not empty");
                for &flag in flags {
                    arguments.set(by_short(flag)?, None)?;
                }
                let spec = by_short(*last)?;
                let value = if spec.kind == Kind::Flag {
                    None
                } else {
                    words.next()
                };
                arguments.set(spec, value.map(String::as_str))?;
            } else {
                return Err(format!(
                    "{word:?} is no option: which one is it the value of? Reads are given so: -i FILE"
                ));
            }
        }
        Ok(arguments)
    }

    fn set(&mut self, spec: &'static Spec, value: Option<&str>) -> Result<(), String> {
        let place = self.place(spec.long).expect("every option has a place");
        match (place, value) {
            (Place::Flag(flag), None) => *flag = true,
            (Place::Flag(_), Some(value)) => return Err(invalid(spec, value)),
            (_, None) => return Err(format!("option needs value: --{}", spec.long)),
            (Place::Text(text), Some(value)) => value.clone_into(text),
            (Place::Number(number), Some(value)) => match value.parse::<i64>() {
                Ok(given) if spec.long == "split_by_lines" || i32::try_from(given).is_ok() => {
                    *number = Number {
                        value: given,
                        is_given: true,
                    };
                }
                _ => return Err(invalid(spec, value)),
            },
        }
        Ok(())
    }
}

fn invalid(spec: &Spec, value: &str) -> String {
    format!("option value is invalid: --{}={value}", spec.long)
}

/// Returns the text of `--help`.
pub fn usage(program: &str) -> String {
    let mut text = format!("usage: {program} [options] ...\noptions:\n");
    let width = SPECS.iter().map(|spec| spec.long.len()).max().unwrap_or(0) + 2;
    for spec in SPECS {
        let short = match spec.short {
            0 => "    ".to_owned(),
            short => format!("-{}, ", short as char),
        };
        let default = match spec.kind {
            Kind::Flag => String::new(),
            Kind::Text => format!(" (string [={}])", spec.default),
            Kind::Number => format!(" (int [={}])", spec.default),
        };
        let _ = writeln!(
            text,
            "  {short}--{:width$}{}{default}",
            spec.long, spec.help
        );
    }
    let _ = write!(
        text,
        "examples:\n  \
         {program} -i in.fq.gz -o out.fq.gz\n  \
         {program} -i in.1.fq.gz -I in.2.fq.gz -o out.1.fq.gz -O out.2.fq.gz\n"
    );
    text
}
