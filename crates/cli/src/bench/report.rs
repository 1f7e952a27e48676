//! `blitz bench report`: documents made from kept runs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blitz_io_bench::Document;
use blitz_io_bench::report::chart::{self, Theme};
use blitz_io_bench::report::markdown;
use blitz_io_bench::report::runs::Runs;
use clap::Args;

use super::runs;
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  for run in 1 2 3; do blitz bench --json > run$run.json; done
  blitz bench --hog 1 --json > hog.json
  blitz bench --cpus 0 --json > pinned.json
  blitz bench report *.json --page docs/benchmarks.md --charts docs \\
    --summary book/src/benchmarks/index.md
  blitz bench report run?.json | less

Exit statuses:
  0    the documents are written or printed
  1    a file is missing, cannot be read or written, or is not what it should be
  64   the arguments are wrong, or the runs are too few, too short, or do not belong together";

/// The runs without load that a report needs: with fewer, a range is not meaningful.
const ENOUGH: usize = 3;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Runs that were kept with `blitz bench --json`, at least three without load.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Writes the page with all rows as Markdown; without --charts and --summary it is printed.
    /// A section of the file that `ecosystem/bench/run` has written is kept.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Writes the chart of the summary's rows, or of all rows if none of those was measured,
    /// for light and for dark pages, into this folder.
    #[arg(long, value_name = "FOLDER")]
    charts: Option<PathBuf>,

    /// Replaces the figures between the markers of this page of the book.
    #[arg(long, alias = "readme", value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Accepts fewer than three runs, or quick ones: for a draft.
    #[arg(long)]
    draft: bool,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let documents: Result<Vec<Document>, Exit> =
        arguments.runs.iter().map(|path| runs::read(path)).collect();
    let documents = documents?;
    let groups = Runs::by_load(&documents).map_err(|unfit| {
        Exit::usage(
            unfit,
            "Give runs of one machine and one length, and whole ones.",
        )
    })?;
    let quiet = quiet(&groups, arguments.draft)?;

    // All texts are made before the first file is written: a mistake leaves all files
    // unchanged.
    let old = arguments
        .page
        .as_deref()
        .map_or(Ok(String::new()), as_it_was)?;
    let page = markdown::page(&groups, &old);
    let summary = arguments
        .summary
        .as_deref()
        .map(|path| with_figures(path, quiet))
        .transpose()?;
    let charts = match &arguments.charts {
        Some(folder) => charts(folder, quiet)?,
        None => Vec::new(),
    };
    match &arguments.page {
        Some(path) => write(path, &page)?,
        None if summary.is_none() && charts.is_empty() => output::print(&page)?,
        None => {}
    }
    for (path, text) in charts.iter().chain(&summary) {
        write(path, text)?;
    }
    Ok(Exit::Done)
}

/// Returns the runs without load, if there are enough.
fn quiet(groups: &[Runs], draft: bool) -> Result<&Runs, Exit> {
    let missing = |problem: String| {
        Exit::usage(
            problem,
            "`blitz bench --json > FILE` keeps one; --draft takes fewer and shorter ones.",
        )
    };
    match groups.first() {
        Some(quiet) if quiet.metadata.load.words().is_none() => {
            if !draft && quiet.count < ENOUGH {
                let count = quiet.count;
                return Err(missing(format!(
                    "{count} of {ENOUGH} runs without load are there"
                )));
            }
            if !draft && groups.iter().any(|group| !group.metadata.is_full()) {
                return Err(missing("not all of the runs are full ones".to_owned()));
            }
            Ok(quiet)
        }
        _ => Err(missing("there is no run without load".to_owned())),
    }
}

/// Returns the current content of the page that will be replaced, if there is one.
fn as_it_was(path: &Path) -> Result<String, Exit> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(|error| {
            Exit::unreadable(path, error)
                .with_advice("--page: give a file of text, or one that does not exist.")
        }),
    }
}

/// Returns the file's content with the figures in it.
fn with_figures(path: &Path, quiet: &Runs) -> Result<(PathBuf, String), Exit> {
    let text = fs::read_to_string(path).map_err(|error| {
        Exit::unreadable(path, error).with_advice("--summary: give a file that exists.")
    })?;
    let [begin, end] = markdown::MARKERS;
    let text = markdown::replace(&text, &markdown::figures(quiet)).ok_or_else(|| {
        Exit::unreadable(path, "it has no place for figures").with_advice(format_args!(
            "--summary: put the lines {begin} and {end} where they belong."
        ))
    })?;
    Ok((path.to_owned(), text))
}

/// Returns the charts and their paths.
fn charts(folder: &Path, quiet: &Runs) -> Result<Vec<(PathBuf, String)>, Exit> {
    let chart = |theme: Theme| Some((folder.join(theme.file()), chart::svg(quiet, theme)?));
    let charts: Option<Vec<_>> = Theme::ALL.into_iter().map(chart).collect();
    charts.ok_or_else(|| {
        Exit::usage(
            "--charts: there is no row with a peer",
            "Measure without `--peers none`.",
        )
    })
}

fn write(path: &Path, text: &str) -> Result<(), Exit> {
    fs::write(path, text).map_err(|error| Exit::unwritable(path, error))?;
    output::tell(format_args!("Wrote {}.\n", path.display()));
    Ok(())
}
