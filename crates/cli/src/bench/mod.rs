//! `blitz bench`.

mod files;
mod interrupt;
mod list;
mod progress;
mod select;
mod watchdog;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

use blitz_bench::report::compare::Comparison;
use blitz_bench::report::table::{self, Style};
use blitz_bench::{Document, Outcome, Scenario, Settings, report, runner};
use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  blitz bench --quick                      a look, in two minutes
  blitz bench --filter '^mutex_contended'  some scenarios
  blitz bench --tier 5 --peers tokio       one tier, against one peer
  blitz bench --json > before.json         keep a run …
  blitz bench --compare before.json        … and compare with it
  blitz bench --html report.html           a page with charts

Exit codes:
  0    everything was measured and verified
  1    a scenario's work was not done right (it is named), or a report could not be written
  2    the arguments are wrong
  130  interrupted (what was measured until then is printed)

Set NO_COLOR to keep colours out of the table.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print the run as JSON, and nothing else, on standard output.
    #[arg(long)]
    json: bool,

    /// Write the run as one self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Compare with an older run that was kept with --json.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// List the chosen scenarios instead of running them.
    #[arg(long, conflicts_with_all = ["html", "compare"])]
    list: bool,

    /// Run this tier only: 1 and 2 are fast paths, 3 tasks, 4 threads, 5 the runtime. May be given several times.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u8>::new().range(1..=8))]
    tier: Vec<u8>,

    /// Run the scenarios whose name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,

    /// Meet these peers only, separated by commas; `none` runs blitz-io alone.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peers: Vec<String>,

    /// Fewer iterations and smaller ones: a look, not a measurement.
    #[arg(long)]
    quick: bool,

    /// Measured iterations of each scenario [default: 10; with --quick: 8].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    iterations: Option<usize>,

    /// Worker threads of the runtime in tier 3. (Tier 5 has rows for 1, 2 and 4.)
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    workers: usize,
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
            ..settings
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let scenarios = select::select(arguments)?;
    if arguments.list {
        list::print(&scenarios, &arguments.settings(), arguments.json)?;
        return Ok(Exit::Done);
    }
    // Whatever can be wrong with the files is wrong before the run.
    let older = arguments.compare.as_deref().map(files::read).transpose()?;
    let page = arguments.html.as_deref().map(files::open).transpose()?;

    let settings = arguments.settings();
    let outcome = measure(&scenarios, &settings);
    let document = Document::new(&outcome, &settings);

    // A report that cannot be written does not cost the other one.
    let printed = print(&document, older.as_ref(), arguments.json);
    let written = page.map_or(Ok(()), |page| page.write(&report::html::render(&document)));
    printed.and(written)?;
    end(outcome)
}

fn measure<'a>(scenarios: &'a [Scenario], settings: &Settings) -> Outcome<'a> {
    let stop = interrupt::watch();
    let total = runner::sample_count(scenarios, settings);
    let mut progress = progress::Progress::new(total);
    runner::run(scenarios, settings, stop, &mut progress)
}

fn print(document: &Document, older: Option<&Document>, json: bool) -> Result<(), Exit> {
    let comparison = older.map(|older| Comparison::new(older, document));
    if json {
        output::print_json(document)?;
        // Standard output belongs to the document.
        if let Some(comparison) = comparison {
            output::tell(comparison.render(Style::default()));
        }
        return Ok(());
    }
    let style = style();
    if !document.benchmarks.is_empty() {
        output::print(&table::render(document, style))?;
    } else if document.interrupted {
        output::tell("Interrupted before anything was measured.\n");
    }
    match comparison {
        Some(comparison) => output::print(&format!("\n{}", comparison.render(style))),
        None => Ok(()),
    }
}

fn style() -> Style {
    let terminal = stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style {
        colour: terminal && !no_colour,
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
    use blitz_bench::runner::Failed;

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
