//! `blitz-fastq`: a FASTQ preprocessor with the options and results of fastp 0.23.2.
//!
//! A [source] cuts the input into batches of reads, [workers](process) take the batches in
//! any order, and their results are [collected](collect) and [written](output) in the order
//! of the input again.

#[macro_use]
mod messages;

mod adapter;
mod arguments;
mod bins;
mod chart;
mod check;
mod collect;
mod compared;
mod count;
mod counts;
mod detect;
mod duplicates;
mod failure;
mod filter;
mod html;
mod input;
mod json;
mod known;
mod lists;
mod names;
mod noted;
mod options;
mod output;
mod overlap;
mod overrepresented;
mod process;
mod record;
mod report;
mod run;
mod source;
mod spare;
mod stats;
mod umi;

use std::process::ExitCode;

/// The version of fastp whose results this program reproduces.
const FASTP: &str = "0.23.2";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let program = words.first().map_or("blitz-fastq", String::as_str);
    let rest = words.get(1..).unwrap_or_default();
    if let [only] = rest
        && ["-v", "--version"].contains(&only.as_str())
    {
        println!(
            "blitz-fastq {} (results of fastp {FASTP})",
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::SUCCESS;
    }
    let arguments = match arguments::Arguments::parse(rest) {
        Err(error) => {
            eprintln!("{error}\n{}", arguments::usage(program));
            return ExitCode::from(1);
        }
        Ok(arguments) if rest.is_empty() || arguments.has("help") => {
            eprintln!("{}", arguments::usage(program).trim_end());
            return ExitCode::SUCCESS;
        }
        Ok(arguments) => arguments,
    };
    let start = std::time::Instant::now();
    let command = words.iter().map(|word| format!("{word} ")).collect();
    match options::Options::new(&arguments, command).and_then(run::run) {
        Ok(()) => {
            eprintln!(
                "blitz-fastq v{}, time used: {} seconds",
                env!("CARGO_PKG_VERSION"),
                start.elapsed().as_secs()
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("ERROR: {failure}");
            ExitCode::from(failure.code)
        }
    }
}
