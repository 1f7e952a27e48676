//! `blitz bench`.

mod busy;
mod cpus;
mod files;
mod flame;
mod interrupt;
mod list;
pub mod load;
mod profile;
mod progress;
mod report;
mod runs;
mod select;
mod watchdog;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use blitz_io_bench::report::compare::Comparison;
use blitz_io_bench::report::document::BUSY;
use blitz_io_bench::report::flat::Flat;
use blitz_io_bench::report::{Style, table};
use blitz_io_bench::report::{html, wrapped};
use blitz_io_bench::{Document, Outcome, Scenario, Settings, runner};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::exit::Exit;
use crate::output;
use cpus::Cpus;
use load::Load;

const EXAMPLES: &str = "\
Examples:
  blitz bench --quick                      a look, in two minutes
  blitz bench --filter '^mutex_contended'  some scenarios
  blitz bench --tier 5 --peers tokio       one tier, against one peer
  blitz bench --json > before.json         keep a run …
  blitz bench --json=flat                  benchmarks.NAME.ns_per_op and the like, for scripts
  blitz bench --compare before.json        … and compare with it
  blitz bench --html report.html           a page with charts
  blitz bench --hog 1 --tier 4             beside a busy process
  blitz bench --profile barrier_4          a flame graph of one row, by perf
  blitz bench report run?.json | less      the documents of this project, from several kept runs

Exit statuses:
  0    everything was measured and verified
  1    a scenario's work was not done right (it is named), or a file is missing, is no run, or
       cannot be read or written
  64   the arguments are wrong
  130  interrupted (what was measured until then is printed)

Set NO_COLOR to keep colours out of the table.";

#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// Prints the run as JSON, and nothing else, on standard output. `--json=flat` has our figures alone, as
    /// numbers at benchmarks.NAME.ns_per_op and the like.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    json: Option<Form>,

    /// Writes the run as one self-contained HTML page; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Compares with an older run that was kept with --json.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// Lists the chosen scenarios instead of running them.
    #[arg(long, conflicts_with_all = ["html", "compare"])]
    list: bool,

    /// Runs this row of blitz-io's for long under the system's `perf`, and writes a flame graph to ROW.svg
    /// in the current folder.
    #[arg(long, value_name = "ROW", conflicts_with_all = ["json", "html", "compare", "list", "tier", "filter", "peers", "quick", "hog", "cpus"])]
    profile: Option<String>,

    /// Runs this tier only, such as 4 for threads or 5 for the runtime; --list shows all. May be given several times.
    #[arg(long, value_name = "N")]
    tier: Vec<u8>,

    /// Runs the scenarios whose name or title matches this regular expression, in upper or lower case.
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,

    /// Compares with these peers only, separated by commas; `none` runs blitz-io alone.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peers: Vec<String>,

    /// Runs smaller iterations, with a quarter of the operations, and one row of each kind, unless
    /// --tier or --filter choose rows: for an impression, not a measurement.
    #[arg(long)]
    quick: bool,

    /// Runs all rows of a quick run, in some six minutes.
    #[arg(long, requires = "quick")]
    all: bool,

    // The help has the defaults, because they depend on another option.
    #[arg(long, value_name = "N", help = iterations(), value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    iterations: Option<usize>,

    /// Worker threads of the runtime in tier 3. (Tier 5 has rows for 1, 2 and 4.)
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    workers: usize,

    /// Runs this many busy processes beside every measurement.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = RangedU64ValueParser::<usize>::new().range(0..=256))]
    hog: usize,

    /// Pins the whole run to these processors, such as 0 or 0,2-3.
    #[arg(long, value_name = "LIST")]
    cpus: Option<Cpus>,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the documents of this project from kept runs: the page with all rows, charts, the book's summary.
    Report(report::Arguments),
}

/// The form of a run as JSON.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Everything, which other commands read.
    Full,
    /// Our figures.
    Flat,
}

fn iterations() -> String {
    format!(
        "Measured iterations of each scenario [default: {}; with --quick: {}]",
        Settings::FULL.iterations,
        Settings::QUICK.iterations
    )
}

impl Arguments {
    fn settings(&self) -> Settings {
        let settings = if self.quick {
            Settings::QUICK
        } else {
            Settings::FULL
        };
        Settings {
            iterations: self.iterations.unwrap_or(settings.iterations),
            workers: self.workers,
            load: blitz_io_bench::Load {
                hog: self.hog,
                cpus: self.cpus.clone().map_or_else(Vec::new, |cpus| cpus.0),
            },
            ..settings
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    if let Some(Command::Report(arguments)) = &arguments.command {
        return report::run(arguments);
    }
    let scenarios = select::select(arguments)?;
    if let Some(name) = &arguments.profile {
        return profile::run(arguments, profile::row(&scenarios, name)?);
    }
    if arguments.list {
        list::print(&scenarios, &arguments.settings(), arguments.json.is_some())?;
        return Ok(Exit::Done);
    }
    // Errors in the files are reported before the run.
    let older = arguments.compare.as_deref().map(runs::read).transpose()?;
    let page = arguments.html.as_deref().map(files::open).transpose()?;
    let page_is_printed = page.as_ref().is_some_and(files::Page::is_printed);
    if page_is_printed && arguments.json.is_some() {
        return Err(Exit::usage(
            "--json and --html - both want standard output",
            "Give the page a file: --html report.html.",
        ));
    }
    // Before any other thread starts: later threads are pinned with this one.
    if let Some(cpus) = &arguments.cpus {
        cpus.pin()?;
    }

    let settings = arguments.settings();
    let busy_at_start = busy::processors();
    if let Some(busy) = busy_at_start.filter(|&busy| busy >= BUSY) {
        warn(busy);
    }
    let outcome = measure(&scenarios, &settings)?;
    let mut document = Document::new(&outcome, &settings);
    document.metadata.busy_at_start = busy_at_start;

    // If one report cannot be written, the other one still is.
    let printed = if let Some(form) = arguments.json {
        print_json(&document, form, older.as_ref())
    } else if page_is_printed {
        tell(&document, older.as_ref());
        Ok(())
    } else {
        print(&document, older.as_ref())
    };
    let written = page.map_or(Ok(()), |page| page.write(&html::render(&document)));
    printed.and(written)?;
    end(outcome)
}

/// Tells a user who can still stop the run that the machine is busy. The report says it too.
fn warn(busy: f64) {
    if let Some(width) = output::error_width() {
        let text = format!(
            "The machine is busy: other processes use {busy:.1} processors. Stop them and start again, or do not trust the figures.\n"
        );
        output::tell(wrapped(&text, Some(width)));
    }
}

/// Returns a limit far longer than any sample takes on a busy machine; each busy process of
/// the run takes its share of the time.
fn limit_of_a_sample(hogs: usize) -> Duration {
    Duration::from_secs(120) * (1 + hogs as u32)
}

fn measure<'a>(scenarios: &'a [Scenario], settings: &Settings) -> Result<Outcome<'a>, Exit> {
    let bar = progress::bar(runner::sample_count(scenarios, settings));
    let stop = interrupt::watch(bar.clone());
    let limit = limit_of_a_sample(settings.load.hog);
    let mut load = Load::start(settings.load.hog, 2 * limit)?;
    let watchdog = watchdog::Watchdog::new(limit);
    let mut progress = progress::Progress::new(bar, watchdog, &mut load, stop);
    let outcome = runner::run(scenarios, settings, stop, &mut progress);
    drop(progress);
    load.verify()?;
    Ok(outcome)
}

fn print(document: &Document, older: Option<&Document>) -> Result<(), Exit> {
    output::print(&text(document, older, style()))?;
    if document.interrupted && document.benchmarks.is_empty() {
        output::tell("Interrupted before anything was measured.\n");
    }
    Ok(())
}

/// Prints to standard error, because standard output belongs to the page.
fn tell(document: &Document, older: Option<&Document>) {
    output::tell(text(document, older, Style::default()));
}

/// Prints the document alone to standard output.
fn print_json(document: &Document, form: Form, older: Option<&Document>) -> Result<(), Exit> {
    match form {
        Form::Full => output::print_json(document)?,
        Form::Flat => output::print_json(&Flat::new(document))?,
    }
    if let Some(older) = older {
        output::tell(Comparison::new(older, document).render(Style::default()));
    }
    Ok(())
}

/// Returns the tables of a run, and the comparison with an older one.
fn text(document: &Document, older: Option<&Document>, style: Style) -> String {
    let mut text = String::new();
    if !document.benchmarks.is_empty() {
        text.push_str(&table::render(document, style));
    }
    if let Some(older) = older {
        let comparison = Comparison::new(older, document).render(style);
        text.push_str(&format!("\n{comparison}"));
    }
    text
}

fn style() -> Style {
    Style {
        colour: stdout().is_terminal() && output::has_colours(),
        width: output::width(),
    }
}

fn end(outcome: Outcome<'_>) -> Result<Exit, Exit> {
    if let Some(failed) = outcome.failed {
        return Err(Exit::Failed(format!(
            "{failed}\n\nA result whose work was not done is no result, so the run ended here. \
             Run `blitz bench --filter '^{}$'` to see whether it happens again.",
            failed.scenario
        )));
    }
    if outcome.interrupted {
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blitz_io_bench::runner::Failed;

    #[test]
    fn a_failed_verification_is_exit_code_1_and_named() {
        let outcome = Outcome {
            measurements: Vec::new(),
            interrupted: false,
            failed: Some(Failed {
                scenario: "planted".into(),
                contender: "liar".into(),
                reason: "messages: expected 10, found 9".into(),
            }),
        };
        let Err(Exit::Failed(message)) = end(outcome) else {
            panic!("a failure must not pass");
        };
        assert!(
            message.starts_with(
                "planted: liar failed its verification: messages: expected 10, found 9"
            )
        );
    }
}
