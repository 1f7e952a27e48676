//! Checks that options are compatible, and that their values are valid.

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::file_names::path;
use crate::options::{Options, Split};
use blitz_io::pipeline::atomic_output::{Identity, Target};

impl Options {
    /// Checks that the options are compatible, and drops those that have no effect.
    pub(crate) fn check(&mut self, given: &Arguments) -> Result<(), Failure> {
        self.check_inputs()?;
        self.check_merging()?;
        self.check_outputs(given.dont_overwrite)?;
        self.check_ranges(given)?;
        if self.correction && !self.paired() {
            eprintln!("WARNING: --correction works on pairs only and is ignored");
            self.correction = false;
        }
        Ok(())
    }

    fn check_inputs(&mut self) -> Result<(), Failure> {
        if self.in1.is_empty() {
            if !self.in2.is_empty() {
                return Err(Failure::options("--in2 is given, but --in1 is not"));
            }
            if !self.stdin {
                return Err(Failure::options(
                    "no input: give --in1, or --stdin to read standard input",
                ));
            }
            self.in1 = "/dev/stdin".to_owned();
        } else {
            crate::lists::must_be_file(&self.in1)?;
        }
        if !self.in2.is_empty() {
            crate::lists::must_be_file(&self.in2)?;
            if self.interleaved {
                return Err(Failure::options(
                    "--in2 and --interleaved_in exclude each other",
                ));
            }
        }
        Ok(())
    }

    fn check_merging(&mut self) -> Result<(), Failure> {
        if self.stdout {
            drop_name(&mut self.out1, "--out1", "with --stdout");
            drop_name(&mut self.out2, "--out2", "with --stdout");
        }
        if !self.merge {
            drop_name(&mut self.merged_out, "--merged_out", "without --merge");
            return Ok(());
        }
        if self.split != Split::No {
            return Err(Failure::options("--merge does not work with splitting"));
        }
        if !self.paired() {
            return Err(Failure::options(
                "--merge needs pairs: give --in2 or --interleaved_in",
            ));
        }
        self.correction = true;
        if self.merged_out.is_empty()
            && !self.stdout
            && !self.out1.is_empty()
            && self.out2.is_empty()
        {
            eprintln!("--merged_out is not given: merged reads go to the file of --out1");
            self.merged_out = std::mem::take(&mut self.out1);
        }
        if self.include_unmerged {
            for (name, option) in [
                (&mut self.out1, "--out1"),
                (&mut self.out2, "--out2"),
                (&mut self.unpaired1, "--unpaired1"),
                (&mut self.unpaired2, "--unpaired2"),
            ] {
                drop_name(name, option, "with --include_unmerged");
            }
        }
        if self.merged_out.is_empty() && !self.stdout {
            return Err(Failure::options("--merge needs --merged_out or --stdout"));
        }
        Ok(())
    }

    fn check_outputs(&mut self, keep_existing: bool) -> Result<(), Failure> {
        if self.stdout && self.split != Split::No {
            return Err(Failure::options("--stdout does not work with splitting"));
        }
        let paired = self.paired();
        if !paired && !self.out2.is_empty() {
            return Err(Failure::options(
                "--out2 is given, but the input has no read 2",
            ));
        }
        if paired && !self.out1.is_empty() && self.out2.is_empty() {
            return Err(Failure::options("pairs need --out2 as well as --out1"));
        }
        if paired && self.out1.is_empty() && !self.out2.is_empty() && !self.merge {
            return Err(Failure::options("pairs need --out1 as well as --out2"));
        }
        for (name, option) in [
            (&mut self.unpaired1, "--unpaired1"),
            (&mut self.unpaired2, "--unpaired2"),
            (&mut self.overlapped_out, "--overlapped_out"),
        ] {
            if !paired {
                drop_name(name, option, "without pairs");
            } else if self.split != Split::No && option != "--overlapped_out" {
                drop_name(name, option, "when the output is split");
            }
        }
        self.check_names(keep_existing)
    }

    /// Returns every file that the run writes, with the option that names it.
    pub fn outputs(&self) -> [(&'static str, &str); 9] {
        [
            ("--out1", &self.out1),
            ("--out2", &self.out2),
            ("--unpaired1", &self.unpaired1),
            ("--unpaired2", &self.unpaired2),
            ("--merged_out", &self.merged_out),
            ("--failed_out", &self.failed_out),
            ("--overlapped_out", &self.overlapped_out),
            ("--json", &self.json),
            ("--html", &self.html),
        ]
    }

    fn check_names(&self, keep_existing: bool) -> Result<(), Failure> {
        let inputs = self.inputs();
        let mut outputs: Vec<(&str, &str, Target)> = vec![];
        for (option, name) in self.outputs() {
            if name.is_empty() {
                continue;
            }
            let target = Target::new(path(name))
                .map_err(|error| Failure::file(name, "create it", &error))?;
            if keep_existing && path(name).exists() {
                return Err(Failure::options(format!(
                    "{name} exists, and --dont_overwrite is given"
                )));
            }
            check_input(&inputs, &target, option, name)?;
            for (other, its, earlier) in &outputs {
                let both_unpaired = *other == "--unpaired1" && option == "--unpaired2";
                let shared = target.is_direct() || (both_unpaired && *its == name);
                if *earlier == target && !shared {
                    return Err(Failure::options(format!(
                        "{other} and {option} name the same file: {name}"
                    )));
                }
            }
            outputs.push((option, name, target));
        }
        if self.stdout {
            check_input(&inputs, &Target::stdout(), "--stdout", "standard output")?;
        }
        Ok(())
    }

    /// Returns the identities of the input files.
    fn inputs(&self) -> Vec<Identity> {
        let names = [&self.in1, &self.in2].into_iter();
        let identities = names.filter_map(|name| Identity::new(&path(name)).ok());
        identities.filter(|input| !input.is_device()).collect()
    }

    fn check_ranges(&mut self, given: &Arguments) -> Result<(), Failure> {
        let cuts = self.cut_front.enabled || self.cut_tail.enabled || self.cut_right.enabled;
        for (name, value, from, to) in ranges(given)
            .into_iter()
            .chain(split_ranges(given, self.split))
            .chain(cuts.then(|| window_ranges(given)).into_iter().flatten())
        {
            if value < from || value > to {
                let limit = if to == i64::MAX {
                    format!("at least {from}")
                } else {
                    format!("{from} to {to}")
                };
                return Err(Failure::options(format!(
                    "--{name} must be {limit}, not {value}"
                )));
            }
        }
        self.reads_to_process = given.reads_to_process.value as u64;
        self.length_required = given.length_required.value as usize;
        self.sampling = given.overrepresentation_sampling.value as u64;
        self.split_digits = given.split_prefix_digits.value.clamp(0, 10) as usize;
        check_adapter("--adapter_sequence", &self.adapter1)?;
        check_adapter("--adapter_sequence_r2", &self.adapter2)
    }
}

/// An option, its number, and the least and the greatest that it may have.
type Range = (&'static str, i64, i64, i64);

/// Lists options with their numbers and bounds.
macro_rules! ranges {
    ($given:ident, $($name:ident $from:literal to $to:expr;)*) => {
        [$((stringify!($name), $given.$name.value, $from, $to)),*]
    };
}

fn ranges(given: &Arguments) -> [Range; 18] {
    let mut all = ranges!(given,
        compression 1 to 9;
        reads_to_process 0 to i64::MAX;
        trim_front1 0 to 30;
        trim_tail1 0 to 100;
        trim_front2 0 to 30;
        trim_tail2 0 to 100;
        qualified_quality_phred 0 to 93;
        average_qual 0 to 93;
        unqualified_percent_limit 0 to 100;
        n_base_limit 0 to 50;
        length_required 0 to i64::MAX;
        overlap_len_require 1 to i64::MAX;
        overlap_diff_limit 0 to i64::MAX;
        overlap_diff_percent_limit 0 to 100;
        poly_g_min_len 1 to i64::MAX;
        poly_x_min_len 1 to i64::MAX;
        filter_by_index_threshold 0 to i64::MAX;
        overrepresentation_sampling 1 to 10_000;
    );
    // A negative quality becomes 0, as in fastp.
    for (name, value, ..) in &mut all {
        if *name == "qualified_quality_phred" {
            *value = (*value).max(0);
        }
    }
    all
}

fn split_ranges(given: &Arguments, split: Split) -> Vec<Range> {
    let digits = ranges!(given, split_prefix_digits 0 to 10;);
    let size = match split {
        Split::No => return vec![],
        Split::Files(_) => ranges!(given, split 2 to 999;),
        Split::Records(_) => ranges!(given, split_by_lines 1000 to i64::MAX;),
    };
    size.into_iter().chain(digits).collect()
}

fn window_ranges(given: &Arguments) -> [Range; 8] {
    ranges!(given,
        cut_window_size 1 to 1000;
        cut_mean_quality 1 to 30;
        cut_front_window_size 1 to 1000;
        cut_front_mean_quality 1 to 30;
        cut_tail_window_size 1 to 1000;
        cut_tail_mean_quality 1 to 30;
        cut_right_window_size 1 to 1000;
        cut_right_mean_quality 1 to 30;
    )
}

fn check_adapter(option: &str, adapter: &str) -> Result<(), Failure> {
    if adapter == "auto" || adapter.is_empty() {
        return Ok(());
    }
    if adapter.len() <= 3 {
        return Err(Failure::options(format!(
            "{option} must have more than 3 bases"
        )));
    }
    if let Some(other) = adapter.chars().find(|base| !"ATCG".contains(*base)) {
        return Err(Failure::options(format!(
            "{option} may have A, T, C and G only, not {other:?}: {adapter}"
        )));
    }
    Ok(())
}

fn drop_name(name: &mut String, option: &str, when: &str) {
    if !name.is_empty() {
        eprintln!("{option} {name} is ignored {when}");
        name.clear();
    }
}

/// Fails if an output is one of the inputs.
fn check_input(
    inputs: &[Identity],
    target: &Target,
    option: &str,
    name: &str,
) -> Result<(), Failure> {
    let is_input = target
        .identity()
        .is_ok_and(|output| inputs.contains(&output));
    if is_input {
        return Err(Failure::data(format!(
            "{option} names an input file: {name}"
        )));
    }
    Ok(())
}
