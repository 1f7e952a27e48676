//! Reports of the simulator about threads, for people.
//!
//! The simulator writes, for each thread, what it waits for, and the addresses on its stack. Here the addresses become
//! lines of the program's source. Frames of std, libc and this library are left out. What the program says of itself (`blitz why`) is
//! at the top. Then come the threads, first those that matter. A thread that only waits for the end of others comes after them.
//! A worker without tasks is one line, and so is the main thread of a test program, at the end.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use blitz_io_inspect::{Origin, origin as origin_of, short_place};
use blitz_io_sim::Program;

use super::symbols::{self, Address, Frame, Frames};

/// Frames of a thread that are shown.
const FRAMES: usize = 8;
/// Frames of packages that are shown of a thread that executes nothing else.
const OF_PACKAGES: usize = 4;
/// The system keeps so many bytes of a thread's name.
const NAME: usize = 15;
/// What follows is the program's own report, which has its places already.
const EXPLAINED: &str = "what `blitz why` says:";
/// The line between that report and the threads.
const THREADS: &str = "what the threads do:";
/// The start of the line about waits that a time would have ended.
const NO_TIMEOUTS: &str = "with --no-timeouts, ";
const WORKER: &str = "is a worker without tasks";
/// Said of a program with tasks that does not say what these wait for.
const INSPECT: &str = "with the feature `inspect` (`--features inspect`, which `blitz migrate` writes), this report says what the tasks wait for";
/// Said of a program with tasks of a Tokio that tells nothing about them.
const MIGRATE: &str = "the tasks of this Tokio say nothing of themselves: after `blitz migrate`, and with \
`--features inspect`, this report names the tasks, the lines at which they wait, and for what";
/// Parts of the names of functions in which a thread of this library waits if it has nothing to do, and what it is then.
const IDLE: [(&str, &str, &str); 3] = [
    ("blitz_io_runtime::kernel::idle::", "", WORKER),
    (
        "blitz_io_runtime::kernel::job_queue::",
        "",
        "is a thread of the blocking pool without work",
    ),
    (
        "blitz_io_pool::worker::",
        "wait_for_work",
        "is a worker of the fork-join pool without jobs",
    ),
];
/// Parts of the names of functions of this library in which every wait ends. The ones that call them say more.
const WAITS: [&str; 4] = [
    "blitz_io::sim::",
    "blitz_io_futex::",
    "blitz_io_core::parker::",
    "blitz_io_core::spin::",
];

/// A line of a report, and the stack below it.
#[derive(Debug, Default)]
struct Part {
    line: String,
    /// The thread that the line is about.
    thread: Option<u32>,
    stack: Vec<Address>,
}

/// A report, taken apart.
#[derive(Debug, Default)]
pub struct Report {
    parts: Vec<Part>,
    /// The program's own report, with its head.
    own: String,
}

impl Report {
    pub fn parse(text: &str) -> Report {
        let mut report = Report::default();
        let mut lines = text.split_inclusive('\n');
        for line in lines.by_ref() {
            let line = line.trim_end_matches('\n');
            if line == EXPLAINED {
                _ = writeln!(report.own, "{line}");
                break;
            }
            let address = line.strip_prefix("    ").and_then(parse_address);
            match (address, report.parts.last_mut()) {
                (Some(address), Some(part)) => part.stack.push(address),
                _ => report.parts.push(Part {
                    line: line.to_owned(),
                    thread: thread_of(line),
                    stack: vec![],
                }),
            }
        }
        report.own.extend(lines);
        report
    }

    /// Returns all addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.parts.iter().flat_map(|part| &part.stack)
    }
}

/// Parses `FILE+0xOFFSET`, which a symbol may follow.
fn parse_address(text: &str) -> Option<Address> {
    let (file, rest) = text.rsplit_once("+0x")?;
    let digits = rest.split(' ').next()?;
    Some(Address {
        file: file.to_owned(),
        offset: u64::from_str_radix(digits, 16).ok()?,
    })
}

/// Returns the number of the thread with which a line begins.
fn thread_of(line: &str) -> Option<u32> {
    let number = line.strip_prefix("thread ")?;
    number.split(' ').next()?.parse().ok()
}

fn origin(address: &Address, frame: &Frame) -> Origin {
    if is_of_system(address) {
        return Origin::System;
    }
    origin_of(&frame.function, &frame.place)
}

/// Returns `true` if the address is in a library of the system.
fn is_of_system(address: &Address) -> bool {
    const LIBRARIES: [&str; 8] = [
        "libc.",
        "libc-",
        "libpthread",
        "ld-linux",
        "libgcc_s",
        "libstdc++",
        "libm.",
        "linux-vdso",
    ];
    let file = Path::new(&address.file).file_name().unwrap_or_default();
    let file = file.to_string_lossy();
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

/// The names for a program's threads and places.
pub struct Names {
    /// The name of the test, if the program is one test.
    test: Option<String>,
    /// Paths below these folders are shown from there on.
    folders: Vec<PathBuf>,
}

impl Names {
    pub fn new(program: &Program) -> Names {
        let folders = env::current_dir().ok().into_iter();
        Names {
            test: test_of(program).map(str::to_owned),
            folders: folders.chain(program.folder.clone()).collect(),
        }
    }

    /// Returns the name of the program: of the test, if it is one.
    pub fn title(&self, program: &Program) -> String {
        let file = program.path.file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        match &self.test {
            // Cargo adds a hash to the name of a test program.
            Some(test) => match file.rsplit_once('-') {
                Some((target, _)) => format!("{target}::{test}"),
                None => format!("{file}::{test}"),
            },
            None => file.into_owned(),
        }
    }

    /// Returns a thread's name. The system cuts the one of the test's thread.
    pub fn thread<'a>(&'a self, name: &'a str) -> &'a str {
        match &self.test {
            Some(test) if name.len() == NAME && test.starts_with(name) => test,
            _ => name,
        }
    }

    fn place<'a>(&self, place: &'a str) -> &'a str {
        let path = Path::new(place);
        let mut below = self.folders.iter().filter_map(|folder| {
            let below = path.strip_prefix(folder).ok()?;
            below.to_str()
        });
        below.next().unwrap_or_else(|| short_place(place))
    }

    /// Returns a frame as `function at file:line`.
    fn frame(&self, address: &Address, frame: &Frame) -> String {
        let function = without_arguments(&frame.function);
        match (function, self.place(&frame.place)) {
            ("", "") => short_address(address),
            (function, "") => format!("{function}, {}", short_address(address)),
            ("", place) => format!("at {place}"),
            (function, place) => format!("{function} at {place}"),
        }
    }

    /// Returns the frames of a stack that a person wants to see, the innermost first.
    fn stack(&self, stack: &[Address], frames: &Frames) -> Vec<String> {
        let all: Vec<(Origin, &Address, &Frame)> = stack
            .iter()
            .flat_map(|address| {
                let frames = frames.get(address).map_or(&[][..], Vec::as_slice);
                frames
                    .iter()
                    .map(move |frame| (origin(address, frame), address, frame))
            })
            .collect();
        let of = |wanted: Origin| all.iter().filter(move |(origin, ..)| *origin == wanted);
        let own = all
            .iter()
            .position(|(origin, ..)| *origin == Origin::Program);
        let shown: Vec<_> = match own {
            // The function of a package that the program calls says more than the line alone.
            Some(first) => {
                let mut called = all[..first].iter().rev();
                let called = called.find(|(origin, ..)| *origin == Origin::Package);
                called.into_iter().chain(of(Origin::Program)).collect()
            }
            None if of(Origin::Package).next().is_some() => {
                of(Origin::Package).take(OF_PACKAGES).collect()
            }
            None if of(Origin::Unknown).next().is_some() => of(Origin::Unknown).collect(),
            None => {
                let calls = of(Origin::Library).filter(|(.., frame)| !is_in(frame, &WAITS));
                calls.take(OF_PACKAGES).collect()
            }
        };
        let mut lines: Vec<String> = shown
            .iter()
            .take(FRAMES)
            .map(|(_, address, frame)| self.frame(address, frame))
            .collect();
        if let more @ 1.. = shown.len().saturating_sub(FRAMES) {
            let callers = if more == 1 { "caller" } else { "callers" };
            lines.push(format!("and {more} more {callers}"));
        }
        // Nothing is known of a file without symbols.
        if lines.is_empty() && all.iter().all(|(_, address, _)| is_of_system(address)) {
            let mut others = stack.iter().filter(|address| !is_of_system(address));
            lines.extend(others.by_ref().take(OF_PACKAGES).map(short_address));
        }
        lines
    }

    /// Returns a report for people.
    pub fn report(&self, report: &Report, frames: &Frames) -> String {
        let names: Vec<(u32, &str)> = report.parts.iter().filter_map(named).collect();
        let is_held = |thread: u32| {
            let held = format!("held by thread {thread},");
            report.parts.iter().any(|part| part.line.contains(&held))
        };
        let mut parts: Vec<(Rank, &Part)> = report
            .parts
            .iter()
            .map(|part| match part.thread {
                Some(thread) if !is_held(thread) => (rank(part, frames), part),
                Some(_) => (Rank::Matters, part),
                None => (Rank::Line, part),
            })
            .collect();
        // Lines about the run stay where they are, before the threads or after them.
        let first = parts.iter().position(|(rank, _)| *rank != Rank::Line);
        let last = parts.iter().rposition(|(rank, _)| *rank != Rank::Line);
        if let (Some(first), Some(last)) = (first, last) {
            parts[first..=last].sort_by_key(|(rank, _)| *rank);
        }
        let mut text = String::new();
        if !report.own.is_empty() {
            // A reader needs this line for the program's report.
            let is_head = |part: &Part| part.line.starts_with(NO_TIMEOUTS);
            for (_, head) in parts.iter().filter(|(_, part)| is_head(part)) {
                _ = writeln!(text, "{}", head.line);
            }
            parts.retain(|(_, part)| !is_head(part));
            let end = if report.own.ends_with('\n') { "" } else { "\n" };
            _ = writeln!(text, "{}{end}\n{THREADS}", report.own);
        }
        let is_unexplained =
            report.own.is_empty() && parts.iter().any(|(rank, _)| *rank == Rank::Idle(WORKER));
        let is_foreign = report.own.is_empty() && has_tokio(report, frames);
        for (rank, part) in parts {
            if let Rank::Idle(what) = rank {
                let line = self.line(&part.line, &names);
                let mut ends = [" waits ", " could run"].into_iter();
                let name = ends.find_map(|end| line.split_once(end));
                let name = name.map_or(&*line, |(name, _)| name);
                _ = writeln!(text, "{name} {what}");
                continue;
            }
            _ = writeln!(text, "{}", self.line(&part.line, &names));
            // A thread of the library that runs on is no reason for anything.
            if part.line.contains(" could run") && is_of_library(part, frames) {
                continue;
            }
            for line in self.stack(&part.stack, frames) {
                _ = writeln!(text, "    {line}");
            }
        }
        if is_unexplained {
            _ = writeln!(text, "{INSPECT}");
        } else if is_foreign {
            _ = writeln!(text, "{MIGRATE}");
        }
        text
    }

    /// Returns the stack of a thread in a report, for people. `None`: the report does not have the thread.
    pub fn stack_of(&self, report: &Report, thread: u32, frames: &Frames) -> Option<Vec<String>> {
        let mut parts = report.parts.iter();
        let part = parts.find(|part| part.thread == Some(thread))?;
        if part.stack.iter().all(is_of_system) {
            return Some(vec!["has not begun".to_owned()]);
        }
        let mut lines = self.stack(&part.stack, frames);
        if lines.is_empty() {
            // It is in std, such as at its start, or in a wait of the library that has no caller of interest.
            let own = part.stack.iter().filter(|it| !is_of_system(it));
            let mut own = own.flat_map(|it| {
                let frames = frames.get(it).into_iter().flatten();
                frames.map(move |frame| (it, frame))
            });
            let shown = own.find(|(_, frame)| !is_in(frame, &WAITS));
            lines.extend(shown.map(|(it, frame)| self.frame(it, frame)));
        }
        Some(lines)
    }

    /// Completes the names of threads in a line, and makes an address in it readable.
    fn line(&self, line: &str, names: &[(u32, &str)]) -> String {
        let mut line = line.replace("the end of a thread, thread ", "the end of thread ");
        if let Some((before, cut)) = line.split_once('"').filter(|_| thread_of(&line).is_some())
            && let Some((cut, after)) = cut.split_once('"')
        {
            line = format!("{before}\"{}\"{after}", self.thread(cut));
        }
        for before in ["held by thread ", "the end of thread "] {
            let Some(at) = line.find(before).map(|at| at + before.len()) else {
                continue;
            };
            let digits = line[at..].chars().take_while(char::is_ascii_digit).count();
            let Ok(number) = line[at..at + digits].parse::<u32>() else {
                continue;
            };
            let name = names.iter().find(|(id, _)| *id == number);
            if let Some((_, name)) = name {
                let name = format!(" \"{}\"", self.thread(name));
                line.insert_str(at + digits, &name);
            }
        }
        let Some((before, address)) = line.split_once(", /") else {
            return line;
        };
        match parse_address(&format!("/{address}")) {
            Some(address) => {
                let frames = symbols::look_up([&address].into_iter());
                let stack = self.stack(std::slice::from_ref(&address), &frames);
                match stack.first() {
                    Some(place) => format!("{before}, {place}"),
                    None => format!("{before}, {}", short_address(&address)),
                }
            }
            None => line,
        }
    }
}

/// Returns a report of the simulator, for people.
pub fn readable(program: &Program, text: &str) -> String {
    let report = Report::parse(text);
    let frames = symbols::look_up(report.addresses());
    Names::new(program).report(&report, &frames)
}

/// The order of the parts in a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// It is not about a thread.
    Line,
    Matters,
    /// The thread only waits for the end of others.
    Joins,
    /// The thread is no part of the program's own work, and is this.
    Idle(&'static str),
}

/// The main thread of a test program.
const HARNESS: &str = "of the test harness waits for the end of the test";

fn rank(part: &Part, frames: &Frames) -> Rank {
    let is = |name: &str| part.line.contains(name);
    if is(" could run") {
        // Also a worker that was just woken has no task yet.
        return idle(part, frames).map_or(Rank::Matters, Rank::Idle);
    }
    let functions = || {
        let frames = part.stack.iter().filter_map(|address| frames.get(address));
        frames.flatten().map(|frame| frame.function.as_str())
    };
    let is_harness = |function: &str| function.starts_with("test::console::run_tests");
    if part.thread == Some(0) && functions().any(is_harness) {
        return Rank::Idle(HARNESS);
    }
    if let Some(what) = idle(part, frames) {
        return Rank::Idle(what);
    }
    let ends_scope = |function: &str| function.starts_with("std::thread::scoped::scope");
    if is(" waits for the end of a thread") || functions().any(ends_scope) {
        return Rank::Joins;
    }
    Rank::Matters
}

/// Says what a thread is that executes nothing but code of this library, if it has nothing to do there.
fn idle(part: &Part, frames: &Frames) -> Option<&'static str> {
    let mut found = None;
    for address in &part.stack {
        for frame in frames.get(address).into_iter().flatten() {
            match origin(address, frame) {
                Origin::System => {}
                Origin::Library => {
                    let is = |(module, name, _): &&(&str, &str, &str)| {
                        frame.function.contains(module) && frame.function.contains(name)
                    };
                    found = found.or(IDLE.iter().find(is).map(|(.., what)| *what));
                }
                _ => return None,
            }
        }
    }
    found
}

/// Returns `true` if a thread executes nothing but code of this library.
fn is_of_library(part: &Part, frames: &Frames) -> bool {
    let origins = || {
        let of = |address| frames.get(address).into_iter().flatten();
        let stack = part.stack.iter();
        stack.flat_map(move |address| of(address).map(move |frame| origin(address, frame)))
    };
    origins().any(|it| it == Origin::Library)
        && origins().all(|it| matches!(it, Origin::Library | Origin::System))
}

/// Returns `true` if a thread is in the runtime of Tokio itself, which is not this library.
fn has_tokio(report: &Report, frames: &Frames) -> bool {
    report.addresses().any(|address| {
        let mut frames = frames.get(address).into_iter().flatten();
        frames.any(|frame| {
            frame.function.contains("tokio::runtime::") && origin(address, frame) == Origin::Package
        })
    })
}

/// Returns `true` if the function's name has one of these parts.
fn is_in(frame: &Frame, parts: &[&str]) -> bool {
    parts.iter().any(|part| frame.function.contains(part))
}

/// Returns the number and the name of the thread that a part is about.
fn named(part: &Part) -> Option<(u32, &str)> {
    let (_, name) = part.line.split_once('"')?;
    Some((part.thread?, name.split_once('"')?.0))
}

/// Returns the name of the test that a program runs, as `targets` has named it.
fn test_of(program: &Program) -> Option<&str> {
    match program.arguments.as_slice() {
        [exact, name, ..] if exact == "--exact" => name.to_str(),
        _ => None,
    }
}

fn short_address(address: &Address) -> String {
    let file = Path::new(&address.file).file_name().unwrap_or_default();
    format!("{}+{:#x}", file.to_string_lossy(), address.offset)
}

/// Returns a function's name without the types at its end, which may take many lines.
fn without_arguments(function: &str) -> &str {
    match function.find('<') {
        Some(at @ 1..) if function.ends_with('>') => function[..at].trim_end_matches("::"),
        _ => function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, place: &str) -> Frame {
        Frame {
            function: function.to_owned(),
            place: place.to_owned(),
        }
    }

    /// A report in the simulator's words, and the frames of its addresses.
    fn example() -> (Report, Frames) {
        let text = "\
step 9 of a run
thread 0 waits for a word of memory at 0x10, in futex wait
    /app/deps/app-01+0x1
thread 1 \"modules::of::a_\" waits for the end of a thread, thread 2, in pthread_join
    /app/deps/app-01+0x2
thread 2 \"worker\" waits for a mutex at 0x20, held by thread 3, in pthread_mutex_lock
    /lib/x86_64-linux-gnu/libc.so.6+0x5 pthread_mutex_lock
    /app/deps/app-01+0x3
thread 3 waits for the end of a thread, thread 2, in pthread_join
    /app/deps/app-01+0x4
crash at step 4
what `blitz why` says:
thread 1 waits
    /app/deps/app-01+0x1
";
        let registry = "/u/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        let std = "/rustc/0123/library/std/src/lib.rs:1";
        let mut frames = Frames::new();
        let mut add = |offset, of: &[Frame]| {
            let file = "/app/deps/app-01".to_owned();
            frames.insert(Address { file, offset }, of.to_vec());
        };
        let harness = frame("test::console::run_tests_console", std);
        add(1, &[harness, frame("app::main", "/app/src/lib.rs:1")]);
        let joins = frame("<std::thread::JoinHandle<()>>::join", std);
        add(2, &[joins, frame("app::a_test", "/app/src/lib.rs:7")]);
        add(
            3,
            &[
                frame(
                    "raw::lock",
                    &format!("{registry}/blitz-io-sync-0.2.0/src/a.rs:1"),
                ),
                frame(
                    "lock_api::lock",
                    &format!("{registry}/lock_api-0.4.1/src/b.rs:2"),
                ),
                frame("app::debit::<app::Account>", "/app/src/debit.rs:8"),
                frame("core::ops::FnOnce::call_once", std),
            ],
        );
        add(4, &[frame("app::credit", "/elsewhere/credit.rs:9")]);
        (Report::parse(text), frames)
    }

    fn names() -> Names {
        Names {
            test: Some("modules::of::a_test".to_owned()),
            folders: vec![PathBuf::from("/app")],
        }
    }

    #[test]
    fn threads_that_only_join_and_the_harness_come_last() {
        let (report, frames) = example();
        assert_eq!(
            names().report(&report, &frames),
            "\
what `blitz why` says:
thread 1 waits
    /app/deps/app-01+0x1

what the threads do:
step 9 of a run
thread 2 \"worker\" waits for a mutex at 0x20, held by thread 3, in pthread_mutex_lock
    lock_api::lock at lock_api-0.4.1/src/b.rs:2
    app::debit at src/debit.rs:8
thread 3 waits for the end of thread 2 \"worker\", in pthread_join
    app::credit at /elsewhere/credit.rs:9
thread 1 \"modules::of::a_test\" waits for the end of thread 2 \"worker\", in pthread_join
    app::a_test at src/lib.rs:7
thread 0 of the test harness waits for the end of the test
crash at step 4
"
        );
    }

    #[test]
    fn a_worker_without_tasks_is_one_line_and_one_with_a_task_has_its_lines() {
        let text = "\
thread 1 waits for a word of memory at 0x10, in futex wait
    /app/deps/app-01+0x1
    /app/deps/app-01+0x2
thread 2 \"tokio-rt-worker\" waits for a word of memory at 0x20, in futex wait
    /app/deps/app-01+0x1
thread 3 \"tokio-rt-worker\" waits for a word of memory at 0x30, in futex wait
    /app/deps/app-01+0x3
";
        let checkout = "/u/blitz-io/crates/some/src/lib.rs:1";
        let library = |function| frame(function, checkout);
        let std = frame("std::thread::start", "/rustc/0123/library/std/src/lib.rs:1");
        let idle = "blitz_io_runtime::kernel::idle::Idle::sleep";
        let (park, run) = (
            "blitz_io_core::parker::Parker::park",
            "blitz_io_runtime::run",
        );
        let frames = [
            (1, vec![library(park), library(idle), library(run), std]),
            (
                2,
                vec![frame("app::main", "/app/src/main.rs:3"), library(run)],
            ),
            (
                3,
                vec![
                    library("blitz_io_core::spin::timed_yield"),
                    library(park),
                    library("<blitz_io_runtime::Queue>::lock"),
                    library(run),
                ],
            ),
        ];
        let address = |offset| Address {
            file: "/app/deps/app-01".to_owned(),
            offset,
        };
        let frames: Frames = frames
            .into_iter()
            .map(|(offset, frames)| (address(offset), frames))
            .collect();
        let shown = names().report(&Report::parse(text), &frames);
        // One that the library itself keeps waiting is none without tasks.
        let expected = format!(
            "\
thread 1 waits for a word of memory at 0x10, in futex wait
    app::main at src/main.rs:3
thread 3 \"tokio-rt-worker\" waits for a word of memory at 0x30, in futex wait
    <blitz_io_runtime::Queue>::lock at {checkout}
    blitz_io_runtime::run at {checkout}
thread 2 \"tokio-rt-worker\" is a worker without tasks
{INSPECT}
"
        );
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_worker_that_was_woken_has_no_task_either_and_what_no_time_limit_ends_comes_first() {
        let text = "\
with --no-timeouts, no time limit ends a wait: without the option, the first would end after 5 ns
thread 1 \"tokio-rt-worker\" could run, in futex wait
    /app/deps/app-01+0x1
thread 2 \"tokio-rt-worker\" could run, in futex wake
    /app/deps/app-01+0x2
what `blitz why` says:
nothing certain
";
        let address = |offset| Address {
            file: "/app/deps/app-01".to_owned(),
            offset,
        };
        let of = |function| vec![frame(function, "/u/crates/runtime/src/lib.rs:1")];
        let frames = Frames::from([
            (
                address(1),
                of("blitz_io_runtime::kernel::idle::Idle::sleep"),
            ),
            (address(2), of("blitz_io_runtime::Shared::wake")),
        ]);
        assert_eq!(
            names().report(&Report::parse(text), &frames),
            "\
with --no-timeouts, no time limit ends a wait: without the option, the first would end after 5 ns
what `blitz why` says:
nothing certain

what the threads do:
thread 2 \"tokio-rt-worker\" could run, in futex wake
thread 1 \"tokio-rt-worker\" is a worker without tasks
"
        );
    }

    #[test]
    fn a_report_of_threads_of_tokio_says_how_to_see_its_tasks() {
        let text = "thread 1 waits for a word of memory at 0x10, in futex wait\n    /app/deps/app-01+0x1\n";
        let address = Address {
            file: "/app/deps/app-01".to_owned(),
            offset: 1,
        };
        let registry = "/u/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tokio-1.47.0";
        let park = "tokio::runtime::park::Inner::park";
        let shown = |place: &str, text: &str| {
            let frames = Frames::from([(address.clone(), vec![frame(park, place)])]);
            names().report(&Report::parse(text), &frames)
        };
        let place = format!("{registry}/src/runtime/park.rs:1");
        let told = |text: &str| text.ends_with(&format!("{MIGRATE}\n"));
        assert!(told(&shown(&place, text)));
        // The package of this library in its place says that its feature is missing, if a worker waits. And a program that
        // explains its deadlock needs nothing.
        assert!(!told(&shown(
            "/u/blitz-io/drop-in/tokio/src/lib.rs:1",
            text
        )));
        assert!(!told(&shown(
            &place,
            &format!("{text}{EXPLAINED}\ntask 1\n")
        )));
    }

    #[test]
    fn a_thread_in_std_or_before_its_start_has_a_line_of_a_choice() {
        let text = "thread 1 could run\n    /lib/libc.so.6+0x1\nthread 2 could run\n    /app/deps/app-01+0x2\n";
        let report = Report::parse(text);
        let address = Address {
            file: "/app/deps/app-01".to_owned(),
            offset: 2,
        };
        let start = frame(
            "std::thread::start",
            "/rustc/0123/library/std/src/thread.rs:3",
        );
        let frames = Frames::from([(address, vec![start])]);
        let of = |thread| names().stack_of(&report, thread, &frames);
        assert_eq!(of(1), Some(vec!["has not begun".to_owned()]));
        let std = "std::thread::start at library/std/src/thread.rs:3";
        assert_eq!(of(2), Some(vec![std.to_owned()]));
        assert_eq!(of(3), None);
    }

    #[test]
    fn a_file_without_symbols_has_addresses() {
        let text = "escaped: fork, /app/a.out+0x9\n    /app/a.out+0x9\n    /lib/libc.so.6+0x1\n";
        let report = Report::parse(text);
        let text = names().report(&report, &Frames::new());
        assert_eq!(text, "escaped: fork, a.out+0x9\n    a.out+0x9\n");
    }

    #[test]
    fn a_program_that_is_a_test_has_its_name() {
        let test = Program::new("/app/deps/app-01", ["--exact", "modules::of::a_test"]);
        let other = Program::new("/bin/app-01", ["--selftest"]);
        assert_eq!(Names::new(&test).title(&test), "app::modules::of::a_test");
        assert_eq!(Names::new(&other).title(&other), "app-01");
        assert_eq!(names().thread("modules::of::a_"), "modules::of::a_test");
        assert_eq!(names().thread("modules"), "modules");
    }
}
