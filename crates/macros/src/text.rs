//! Error messages for wrong arguments. They are Tokio's, because people search for them,
//! with this crate's name instead of Tokio's.

use crate::purpose::{Flavor, Purpose};

pub(crate) const NOT_ASYNC: &str = "the `async` keyword is missing from the function declaration";
pub(crate) const MAIN_WITH_ARGUMENTS: &str = "the main function cannot accept arguments";
pub(crate) const SIM_WITH_ARGUMENTS: &str = "the function of a simulation cannot accept arguments";
pub(crate) const SECOND_TEST: &str = "second test attribute is supplied, consider removing or changing the order of your test attributes";
pub(crate) const NOT_AN_IDENT: &str = "Must have specified ident";
pub(crate) const NOT_A_LITERAL: &str = "Must be a literal";
pub(crate) const NOT_AN_ARGUMENT: &str = "Unknown attribute inside the macro";
pub(crate) const CORE_THREADS: &str = "Attribute `core_threads` is renamed to `worker_threads`";
pub(crate) const NO_SEEDS: &str = "`seeds` may not be 0: the test would never run, and pass.";
pub(crate) const NO_WORKERS: &str = "`worker_threads` may not be 0.";

pub(crate) fn twice(argument: &str) -> String {
    format!("`{argument}` set multiple times.")
}

pub(crate) fn unknown(argument: &str) -> String {
    format!(
        "Unknown attribute {argument} is specified; expected one of: `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`."
    )
}

pub(crate) fn unknown_of_sim(argument: &str) -> String {
    format!(
        "Unknown attribute {argument} is specified; expected one of: `seed`, `seeds`, `time`, `schedule`, `max_steps`, `max_time`, `allow_leaks`, `allow_panics`, `early_timers`, `check_determinism`, `check_sometimes`, `shrink`, `threads`, `crate`."
    )
}

pub(crate) const NOT_ALL: &str =
    "The only value of `threads` is \"all\". Without it, one thread plays all workers.";

/// The error about a text that is no schedule.
pub(crate) const NOT_A_SCHEDULE: &str = "The schedules are `portfolio`, `random`, `round-robin`, `pct:3`, `pos`, `surw`, `guided`, \
    `exhaustive` and `exhaustive:2`.";

pub(crate) fn of_tasks(argument: &str) -> String {
    format!("`{argument}` is of a simulation of tasks, and does nothing with `threads`.")
}

pub(crate) fn without_value(argument: &str) -> String {
    format!("The `{argument}` attribute requires an argument.")
}

pub(crate) fn not_a(kind: &str, argument: &str) -> String {
    format!("Failed to parse value of `{argument}` as {kind}.")
}

pub(crate) fn not_an_integer(argument: &str, why: &syn::Error) -> String {
    format!("Failed to parse value of `{argument}` as integer: {why}")
}

/// Returns the message for a value that is no time. `value`: its source.
pub(crate) fn not_a_time(argument: &str, value: &str) -> String {
    format!(
        "Failed to parse value of `{argument}` as a time: {value}. \
         A time is a text with a number of seconds, or a number with `ms`, `s`, `m` or `h`, such as \"10m\"."
    )
}

pub(crate) fn not_a_path(argument: &str, value: &str) -> String {
    format!("Failed to parse value of `{argument}` as path: \"{value}\"")
}

/// Returns the message for a flavor that is written without `flavor =`.
pub(crate) fn bare_flavor(purpose: Purpose, flavor: &str) -> String {
    format!(
        "Set the runtime flavor with #[{}(flavor = \"{flavor}\")].",
        purpose.attribute()
    )
}

pub(crate) fn unknown_flavor(flavor: &str) -> String {
    match flavor {
        "single_thread" => "The single threaded runtime flavor is called `current_thread`.".into(),
        "basic_scheduler" => {
            "The `basic_scheduler` runtime flavor has been renamed to `current_thread`.".into()
        }
        "threaded_scheduler" => {
            "The `threaded_scheduler` runtime flavor has been renamed to `multi_thread`.".into()
        }
        _ => format!(
            "No such runtime flavor `{flavor}`. The runtime flavors are `current_thread`, `local`, and `multi_thread`."
        ),
    }
}

pub(crate) fn unknown_panic_policy(policy: &str) -> String {
    format!(
        "No such unhandled panic behavior `{policy}`. The unhandled panic behaviors are `ignore` and `shutdown_runtime`."
    )
}

pub(crate) fn unknown_deadlock_policy(policy: &str) -> String {
    format!("No such deadlock behavior `{policy}`. The deadlock behavior is `panic`.")
}

/// Returns the message for an argument that only another flavor has.
pub(crate) fn other_flavor(argument: &str, flavor: Flavor, purpose: Purpose) -> String {
    let (flavor, attribute) = (flavor.name(), purpose.attribute());
    format!(
        "The `{argument}` option requires the `{flavor}` runtime flavor. Use `#[{attribute}(flavor = \"{flavor}\")]`"
    )
}

/// The error of the attribute `sim` where that feature is off.
pub(crate) const NO_SIM: &str = "The attribute `sim` needs the feature `sim` of blitz-io. If Cargo.toml has a feature `sim` of its own, as \
    `blitz migrate` writes it, run `cargo test --features sim`. Otherwise add `features = [\"sim\"]` to blitz-io in Cargo.toml.";

pub(crate) fn no_runtime(purpose: Purpose) -> String {
    format!(
        "The #[{}] macro requires rt or rt-multi-thread.",
        purpose.attribute()
    )
}
