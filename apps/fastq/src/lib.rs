//! `blitz-fastq`: a FASTQ preprocessor with the options and results of fastp 1.3.6.
//!
//! A source cuts the input into batches of reads, workers take the batches in any order, and
//! their results are collected and written in the order of the input again.
//!
//! The program is a library so that fuzz targets can call its parts.

#[macro_use]
mod messages;
#[macro_use]
mod vector;

mod adapter;
mod ahead;
mod arguments;
mod bins;
mod bitmap;
mod chart;
mod check;
mod cluster;
mod collect;
mod compared;
mod count;
mod counts;
mod cut;
mod detect;
mod done;
mod duplicates;
mod failure;
mod file_names;
mod filter;
#[doc(hidden)]
pub mod fuzz;
mod hot;
mod html;
mod inflate;
mod input;
mod json;
mod kmers;
mod known;
mod lists;
mod names;
mod noted;
mod number;
mod options;
mod output;
mod overlap;
mod overrepresented;
mod parallel;
#[doc(hidden)]
pub mod peak;
mod process;
mod record;
mod report;
mod rows;
mod run;
mod source;
mod spare;
mod stats;
mod trim;
mod umi;
mod unknown;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// The version of fastp whose results this program reproduces.
const FASTP: &str = "1.3.6";

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let texts: Vec<_> = words.iter().map(|word| file_names::text(word)).collect();
    let program = texts.first().map_or("blitz-fastq", String::as_str);
    let rest = texts.get(1..).unwrap_or_default();
    if let [only] = rest
        && ["-v", "--version"].contains(&only.as_str())
    {
        return print(&format!(
            "blitz-fastq {} (results of fastp {FASTP})\n",
            env!("CARGO_PKG_VERSION")
        ));
    }
    match cluster::step(program, rest) {
        None => {}
        Some(Ok(cluster::Done::Usage(text))) => return print(text),
        Some(Ok(cluster::Done::Step)) => return ExitCode::SUCCESS,
        Some(Err(failure)) => return failed(&failure),
    }
    let arguments = match arguments::Arguments::parse(rest) {
        Err(error) => {
            eprintln!("ERROR: {error}\n{program} --help lists the options");
            return ExitCode::from(1);
        }
        Ok(arguments) if rest.is_empty() || arguments.help => {
            return print(&arguments::usage(program));
        }
        Ok(arguments) => arguments,
    };
    let start = std::time::Instant::now();
    let shown = |word: &std::ffi::OsString| format!("{} ", word.to_string_lossy());
    let command = words.iter().map(shown).collect();
    match options::Options::new(&arguments, command).and_then(run::run) {
        Ok(()) => {
            eprintln!(
                "blitz-fastq v{}, time used: {} seconds",
                env!("CARGO_PKG_VERSION"),
                start.elapsed().as_secs()
            );
            ExitCode::SUCCESS
        }
        Err(failure) => failed(&failure),
    }
}

fn failed(failure: &failure::Failure) -> ExitCode {
    eprintln!("ERROR: {failure}");
    ExitCode::from(failure.code)
}

/// Prints text on standard output. A closed pipe is no failure (`--help | head`).
fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("ERROR: standard output: cannot write it: {error}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}
