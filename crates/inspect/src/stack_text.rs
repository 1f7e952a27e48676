//! Stacks in a report for people: the functions of the program, and one line for each run of other functions.

use crate::lines::Lines;
use crate::names::{of_waiter, short};
use crate::origin::{Origin, origin};
use crate::snapshot::{Frame, Snapshot, Stack, Waiter};

/// The functions of a stack that are shown.
const FRAMES: usize = 16;
/// A line names so many packages.
const PACKAGES: usize = 4;

/// Writes the stacks. Threads with the same stack share one. `is_whole`: with each function.
pub(crate) fn describe_stacks(text: &mut Lines, snapshot: &Snapshot, is_whole: bool) {
    let mut shown: Vec<&Stack> = Vec::new();
    for stack in &snapshot.stacks {
        if shown.iter().any(|other| are_alike(other, stack)) {
            continue;
        }
        shown.push(stack);
        let others = snapshot.stacks.iter();
        let others = others.filter(|other| other.thread != stack.thread && are_alike(other, stack));
        let threads: Vec<u64> = others.map(|other| other.thread).collect();
        describe_stack(text, snapshot, stack, &threads, is_whole);
    }
}

fn are_alike(one: &Stack, other: &Stack) -> bool {
    let facts = |stack: &Stack| (stack.state.clone(), stack.missing.clone());
    facts(one) == facts(other) && one.frames == other.frames
}

/// Writes the functions that a thread is in, the innermost one first.
fn describe_stack(
    text: &mut Lines,
    snapshot: &Snapshot,
    stack: &Stack,
    others: &[u64],
    is_whole: bool,
) {
    let thread = |id: u64| of_waiter(snapshot, Waiter::Thread(id));
    let ids = [stack.thread].into_iter().chain(others.iter().copied());
    let threads = ids.map(thread).collect::<Vec<_>>().join(", ");
    let does = match stack.state.as_str() {
        "" => String::new(),
        state if others.is_empty() => format!(", which {state}"),
        state => format!(", each of which {state}"),
    };
    if stack.frames.is_empty() {
        let missing = match stack.missing.as_str() {
            "" => "it blocks the signal, or does not run",
            missing => missing,
        };
        return text.line("", &format!("no stack of {threads}{does}: {missing}"));
    }
    text.line("", &format!("stack of {threads}{does}:"));
    if is_whole {
        let frames = stack.frames.iter();
        frames.for_each(|frame| describe_frame(text, frame));
    } else if stack.frames.iter().any(is_of_program) {
        describe_own(text, &stack.frames);
    } else {
        describe_others(text, &stack.frames);
    }
    if !stack.missing.is_empty() {
        text.line("  ", &stack.missing);
    }
}

/// Writes the first functions of a stack without a known one of the program, which may be among them: without debug
/// information no function has a line. Those of this library are one line for each run.
fn describe_others(text: &mut Lines, frames: &[Frame]) {
    let is_of_library = |frame: &Frame| origin(&frame.function, &frame.location) == Origin::Library;
    let (mut rest, mut shown) = (frames, 0);
    while shown < FRAMES && !rest.is_empty() {
        let run = rest.iter().take_while(|frame| is_of_library(frame)).count();
        if run > 1 {
            text.line("  ", &folded(&rest[..run]));
        } else {
            describe_frame(text, &rest[0]);
        }
        rest = &rest[run.max(1)..];
        shown += 1;
    }
    describe_more(text, rest.len());
}

/// Writes how many callers are left out.
fn describe_more(text: &mut Lines, more: usize) {
    if more != 0 {
        let line = format!("… {more} callers; `blitz why --all` shows them");
        text.line("  ", &line);
    }
}

/// Writes the functions of the program. Between them, of the others only those that it has called.
fn describe_own(text: &mut Lines, frames: &[Frame]) {
    let all = 0..frames.len();
    let own: Vec<usize> = all.filter(|&at| is_of_program(&frames[at])).collect();
    let mut from = 0;
    for &at in own.iter().take(FRAMES) {
        describe_called(text, &frames[from..at]);
        describe_frame(text, &frames[at]);
        from = at + 1;
    }
    match &frames[from..] {
        [] => {}
        rest if own.len() > FRAMES => describe_more(text, rest.len()),
        rest => text.line("  ", &folded(rest)),
    }
}

/// Writes which function the program has called, and how many it is in since.
fn describe_called(text: &mut Lines, frames: &[Frame]) {
    let Some((called, inner)) = frames.split_last() else {
        return;
    };
    if !inner.is_empty() {
        text.line("  ", &folded(inner));
    }
    let function = text.end_of(without_arguments(&called.function), 2);
    text.line("  ", &function);
}

/// Returns the line that stands for functions.
fn folded(frames: &[Frame]) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for package in frames.iter().map(package) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    let more = packages.len() > PACKAGES;
    packages.truncate(PACKAGES);
    let more = if more { ", …" } else { "" };
    let count = blitz_io_observe::counted(frames.len(), "frame");
    format!("… {count} of {}{more}", packages.join(", "))
}

/// Returns the name of the package of a function that is not the program's.
fn package(frame: &Frame) -> &str {
    match origin(&frame.function, &frame.location) {
        Origin::Library => "blitz-io",
        Origin::System => "std",
        Origin::Package => {
            let place = short(&frame.location);
            let folder = place.split('/').next().unwrap_or(place);
            // The version follows, or the name of a checkout.
            folder.rsplit_once('-').map_or(folder, |(name, _)| name)
        }
        Origin::Unknown | Origin::Program => "the system",
    }
}

/// Returns `true` for a function of the program. The files of the C library look as if they were the program's.
pub(crate) fn is_of_program(frame: &Frame) -> bool {
    let is_of_system = frame.location.starts_with("./") || frame.location.starts_with("../");
    !frame.location.is_empty()
        && !is_of_system
        && origin(&frame.function, &frame.location) == Origin::Program
}

fn describe_frame(text: &mut Lines, frame: &Frame) {
    let function = text.end_of(without_arguments(&frame.function), 2);
    text.line("  ", &function);
    if !frame.location.is_empty() {
        let location = text.end_of(short(&frame.location), 7);
        text.line("    ", &format!("at {location}"));
    }
}

/// Returns a function's name without the types at its end, which may take many lines.
fn without_arguments(function: &str) -> &str {
    match function.find('<') {
        Some(at @ 1..) if function.ends_with('>') => &function[..at],
        _ => function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, location: &str) -> Frame {
        Frame {
            function: function.into(),
            location: location.into(),
        }
    }

    fn stack(thread: u64) -> Stack {
        let registry = "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        let std = "/rustc/59807616e/library/std/src/thread/functions.rs:289";
        Stack {
            thread,
            state: "sleeps in the system call clock_nanosleep".into(),
            missing: String::new(),
            frames: vec![
                frame("__GI___clock_nanosleep", "./time/../sysdeps/nano.c:48"),
                frame("std::sys::sleep", std),
                frame("std::thread::functions::sleep", std),
                frame("{async_fn#0}", "/u/shop/src/main.rs:60"),
                frame("shop::dns", "/u/shop/src/main.rs:64"),
                frame("poll", &format!("{registry}/axum-0.8.9/src/lib.rs:3")),
                frame(
                    "poll",
                    &format!("{registry}/hyper-util-0.1.21/src/lib.rs:3"),
                ),
                frame("blitz_io_runtime::poll", ""),
            ],
        }
    }

    fn report(stacks: Vec<Stack>, is_whole: bool) -> String {
        let snapshot = Snapshot {
            stacks,
            ..Snapshot::default()
        };
        let mut text = Lines::new(usize::MAX);
        describe_stacks(&mut text, &snapshot, is_whole);
        text.text
    }

    #[test]
    fn the_functions_of_the_program_are_shown_and_others_counted() {
        let expected = "stack of thread 2, which sleeps in the system call clock_nanosleep:\n  \
            … 2 frames of the system, std\n  \
            std::thread::functions::sleep\n  \
            {async_fn#0}\n    at /u/shop/src/main.rs:60\n  \
            shop::dns\n    at /u/shop/src/main.rs:64\n  \
            … 3 frames of axum, hyper-util, blitz-io\n";
        assert_eq!(report(vec![stack(2)], false), expected);
        let whole = report(vec![stack(2)], true);
        assert!(
            whole.contains("    at axum-0.8.9/src/lib.rs:3\n"),
            "{whole}"
        );
        assert!(!whole.contains('…'), "{whole}");
    }

    #[test]
    fn threads_with_the_same_stack_share_one() {
        let text = report(vec![stack(2), stack(3), stack(4)], false);
        let first = "stack of thread 2, thread 3, thread 4, each of which sleeps in";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(text.matches("stack of").count(), 1);
        let mut other = stack(3);
        other.frames.pop();
        assert_eq!(
            report(vec![stack(2), other], false)
                .matches("stack of")
                .count(),
            2
        );
    }

    #[test]
    fn a_stack_without_functions_of_the_program_has_its_first_ones() {
        let mut only = stack(2);
        only.frames = vec![frame("poll", ""); 20];
        let text = report(vec![only], false);
        assert!(
            text.ends_with("  … 4 callers; `blitz why --all` shows them\n"),
            "{text}"
        );
    }

    #[test]
    fn functions_of_the_library_are_folded_before_one_of_a_program_without_lines() {
        let mut only = stack(2);
        let latch = "/u/blitz-io/crates/pool/src/latch.rs:272";
        only.frames = vec![frame("blitz_io_pool::latch::CountLatch::wait", latch); 20];
        only.frames.insert(0, frame("syscall", ""));
        only.frames.push(frame("shop::upload", ""));
        only.frames.push(frame("blitz_io::enter", ""));
        let expected = "stack of thread 2, which sleeps in the system call clock_nanosleep:\n  \
            syscall\n  … 20 frames of blitz-io\n  shop::upload\n  blitz_io::enter\n";
        assert_eq!(report(vec![only], false), expected);
    }
}
