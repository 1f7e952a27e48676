//! The output of a program, as a report shows it: the message of a panic always, and of a backtrace the program's own frames.

use std::fmt::Write;

use blitz_io_inspect::{Origin, origin};

use super::choices::counted;

/// Lines that are shown of a long output: at its end, and from a panic on.
const AT_END: usize = 20;
const OF_PANIC: usize = 20;
/// The line before a backtrace of Rust.
const BACKTRACE: &str = "stack backtrace:";
/// The line in which a panic says where it was.
const PANIC: &str = " panicked at ";

/// Returns the lines that a report shows, each after a bar. `all`: all of them.
pub fn shown(output: &str, all: bool) -> String {
    let mut text = String::new();
    if all {
        for line in output.lines() {
            put(&mut text, line);
        }
        return text;
    }
    let lines = without_foreign_frames(output);
    let end = lines.len().saturating_sub(AT_END);
    let panic = lines[..end].iter().position(|line| line.contains(PANIC));
    let of_panic = panic.map_or(end..end, |at| at..(at + OF_PANIC).min(end));
    // A panic at the end of the output is shown from its start, and with it what is before.
    let before = match panic {
        None if end <= OF_PANIC => 0,
        _ => of_panic.start,
    };
    put_left_out(&mut text, before);
    for line in &lines[before..of_panic.end] {
        put(&mut text, line);
    }
    put_left_out(&mut text, end - of_panic.end);
    for line in &lines[end..] {
        put(&mut text, line);
    }
    text
}

fn put(text: &mut String, line: &str) {
    let _ = writeln!(text, "  | {line}");
}

fn put_left_out(text: &mut String, lines: usize) {
    if lines > 0 {
        let lines = counted(lines, "line");
        put(
            text,
            &format!("… {lines}, which `blitz sim replay --all` shows"),
        );
    }
}

/// Returns the lines, those of backtraces without the frames of std, of the test harness and of this library.
fn without_foreign_frames(output: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        kept.push(line.to_owned());
        if line != BACKTRACE {
            continue;
        }
        let mut left_out = 0;
        while let Some(frame) = lines.next_if(|line| function_of(line).is_some()) {
            let place = lines.next_if(|line| place_of(line).is_some());
            let function = function_of(frame).unwrap_or_default();
            if is_foreign(function, place.and_then(place_of).unwrap_or_default()) {
                left_out += 1;
                continue;
            }
            kept.extend(
                [Some(frame), place]
                    .into_iter()
                    .flatten()
                    .map(str::to_owned),
            );
        }
        if left_out > 0 {
            let frames = counted(left_out, "frame");
            kept.push(format!(
                "      … {frames} of std, the test harness and blitz-io"
            ));
        }
    }
    kept
}

fn is_foreign(function: &str, place: &str) -> bool {
    // The harness and std's own shims have no line, unless their sources are there.
    let is_nameless = |part| place.is_empty() && function.trim_start_matches('<').starts_with(part);
    matches!(origin(function, place), Origin::System | Origin::Library)
        || ["test::", "__rustc", "main", "clone", "start_thread"]
            .into_iter()
            .any(is_nameless)
}

/// Returns the function in a line like `  12: app::main`.
fn function_of(line: &str) -> Option<&str> {
    let (number, function) = line.split_once(": ")?;
    let digits = number.strip_prefix(' ')?.trim_start();
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(function)
}

/// Returns the place in the line after a frame.
fn place_of(line: &str) -> Option<&str> {
    line.strip_prefix("             at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\nthread 'sells' (7) panicked at tests/races.rs:9:5:\nassertion failed\nstack backtrace:\n";

    /// Frames of std, one of the program, and more of std, of this library and of the harness.
    fn backtrace() -> String {
        let std = |number| {
            format!(
                "{number:4}: std::panicking::catch_unwind\n             at /rustc/59807616/library/std/src/panicking.rs:544:19\n"
            )
        };
        let first: String = (0..9).map(std).collect();
        let last: String = (12..40).map(std).collect();
        format!(
            "{HEAD}{first}   9: races::sells\n             at ./tests/races.rs:9:5\n  \
             10: blitz_io_runtime::api::enter::drive\n             at /u/blitz-io/crates/runtime/src/api/enter.rs:1:1\n  \
             11: test::__rust_begin_short_backtrace\n{last}note: Some details are omitted\n"
        )
    }

    #[test]
    fn a_panic_is_shown_with_the_frames_of_the_program_only() {
        let text = shown(&format!("running 1 test\n{}", backtrace()), false);
        assert_eq!(
            text,
            "  | running 1 test\n  | \n  | thread 'sells' (7) panicked at tests/races.rs:9:5:\n  | assertion failed\n  \
             | stack backtrace:\n  |    9: races::sells\n  |              at ./tests/races.rs:9:5\n  |       … 39 frames of std, the test harness and blitz-io\n  \
             | note: Some details are omitted\n"
        );
    }

    #[test]
    fn of_a_long_output_the_panic_and_the_end_are_shown() {
        let noise: String = (0..100).map(|line| format!("noise {line}\n")).collect();
        let text = shown(&format!("{noise}{}{noise}", backtrace()), false);
        let first = text.lines().next();
        assert_eq!(
            first,
            Some("  | … 101 lines, which `blitz sim replay --all` shows")
        );
        for part in [
            "panicked at tests/races.rs:9:5:",
            "assertion failed",
            "races::sells",
            "noise 99",
            "… 67 lines",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.lines().count(), 1 + OF_PANIC + 1 + AT_END, "{text}");
        let all = shown(&format!("{noise}{}{noise}", backtrace()), true);
        assert!(
            !all.contains('…') && all.contains("  | noise 50\n") && all.contains("catch_unwind")
        );
    }

    #[test]
    fn a_short_output_is_shown_as_it_is() {
        let lines: String = (0..AT_END + OF_PANIC)
            .map(|line| format!("line {line}\n"))
            .collect();
        assert_eq!(shown(&lines, false), shown(&lines, true));
        assert!(shown(&format!("{lines}last\n"), false).starts_with("  | … 21 lines"));
    }
}
