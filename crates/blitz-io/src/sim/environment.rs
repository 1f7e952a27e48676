//! The variables of the environment that begin as those of simulations, and are none: a wrong name would have no effect.

use std::env;
use std::io::{self, Write};
use std::sync::Once;

/// The begin of the names of all variables.
const BEGIN: &str = "BLITZ_SIM_";

/// The names of the variables that set a simulation, without their begin.
const NAMES: [&str; 6] = ["EVENTS", "SCHEDULE", "SEED", "SEEDS", "TIME", "TRACE"];

/// Those that a simulated program has of the process that runs it.
const OF_PROGRAMS: [&str; 3] = ["EXEC", "FS", "THREADS"];

static WARNED: Once = Once::new();

/// Prints, once in a process, which variables of the environment are unknown.
pub(super) fn warn_of_unknown() {
    WARNED.call_once(|| {
        let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        for text in names.filter_map(|name| unknown(&name)) {
            // Past the harness, which hides what a test that passes prints.
            _ = writeln!(io::stderr(), "{text}");
        }
    });
}

/// Returns a sentence about a variable with this name, if it is unknown.
fn unknown(name: &str) -> Option<String> {
    let own = name.strip_prefix(BEGIN)?;
    let mut known = NAMES.iter().chain(&OF_PROGRAMS);
    if known.any(|known| *known == own) {
        return None;
    }
    let names = NAMES.map(|name| format!("{BEGIN}{name}"));
    Some(format!(
        "the variable {name} has no effect: those of simulations are {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_are_unknown() {
        for known in ["BLITZ_SIM_SEED", "BLITZ_SIM_THREADS", "BLITZ_TRACE", "PATH"] {
            assert_eq!(unknown(known), None, "{known}");
        }
        let text = unknown("BLITZ_SIM_SEEED").unwrap();
        let begin = "the variable BLITZ_SIM_SEEED has no effect: those of simulations are BLITZ_SIM_EVENTS, ";
        assert!(text.starts_with(begin), "{text}");
    }
}
