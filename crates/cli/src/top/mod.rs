//! `blitz top`: what a process does at the moment.

mod live;
mod page;
mod scheduler;
#[cfg(test)]
mod tests;
mod units;
mod view;

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use blitz_io_inspect::{Answer, ask, ask_without_stacks};
use ratatui::text::Line;
use serde::Serialize;

use crate::duration;
use crate::exit::Exit;
use crate::output;
use crate::why::{choose, failed};
use page::{Page, text};
use scheduler::Schedulers;
use view::View;

/// The options of `blitz top`.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The process id, or the program's name; may be left out if there is one such process.
    #[arg(value_name = "PID|NAME")]
    process: Option<String>,
    /// Shows the scheduler instead: queues, steals, and which workers sleep, where.
    #[arg(long)]
    scheduler: bool,
    /// Prints one page as text and ends, as without a terminal.
    #[arg(long)]
    once: bool,
    /// Prints one JSON object and ends.
    #[arg(long)]
    json: bool,
    /// Time between two looks, such as 500ms.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = duration::parse, allow_negative_numbers = true)]
    every: Duration,
}

const HELP: &str = "\
Examples:
  blitz top                        the only process that answers
  blitz top server                 by the name of its program; by its process id: blitz top 4711
  blitz top server --scheduler     queues, steals, and which workers sleep
  blitz top server --json          one look, for scripts

Keys:
  Up, Down       select one of the longest waits
  Enter          shows what it waits for in turn, or hides it
  q, Esc, Ctrl-C end

Set NO_COLOR to do without colours.

A process can be shown if it answers `blitz why`: see `blitz why --help`.

Exit statuses:
  0    it worked, or the process has ended
  1    no such process answers
  64   the arguments are wrong";

/// The time between the two looks from which one page has its rates.
const A_MOMENT: Duration = Duration::from_millis(200);

/// Shows one process until it or the user ends that.
pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let (pid, name) = choose("top", arguments.process.as_deref())?;
    if arguments.once || arguments.json || !io::stdout().is_terminal() {
        once(pid, &name, arguments)
    } else {
        live::run(pid, &name, arguments.every, arguments.scheduler)
    }
}

/// A question to a process.
type Ask = fn(u32, &str) -> io::Result<Answer>;

fn once(pid: u32, name: &str, arguments: &Arguments) -> Result<Exit, Exit> {
    let look = |ask: Ask| ask(pid, name).map_err(|error| failed(pid, &error));
    let earlier = look(ask_without_stacks)?;
    thread::sleep(A_MOMENT);
    // The stack of a thread that sleeps in a poll has the line.
    let mut findings = earlier.findings.iter();
    let is_in_long_poll = findings.any(|finding| finding.kind == "long-poll");
    let later = look(if is_in_long_poll {
        ask
    } else {
        ask_without_stacks
    })?;
    let columns = output::width();
    if arguments.scheduler {
        let view = Schedulers::new(Some(&earlier), &later, name);
        let columns = columns.unwrap_or(usize::MAX);
        return show(&view, arguments.json, || view.lines(columns));
    }
    let view = View::new(Some(&earlier), &later, name);
    show(&view, arguments.json, || {
        Page::of_text(columns, &view).lines(&view)
    })
}

/// Prints a view as JSON, or its page.
fn show<'a>(
    view: &impl Serialize,
    json: bool,
    page: impl FnOnce() -> Vec<Line<'a>>,
) -> Result<Exit, Exit> {
    if json {
        output::print_json(view)?;
    } else {
        output::print(&text(&page()))?;
    }
    Ok(Exit::Done)
}
