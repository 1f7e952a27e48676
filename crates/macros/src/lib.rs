//! The procedural macros of `blitz-io`.
//!
//! The attributes `#[blitz_io::main]` and `#[blitz_io::test]` turn an `async fn` into an
//! ordinary function that starts a runtime and runs the body on it. The hidden functions
//! here generate the code of `blitz_io::select!`, `join!` and `try_join!`.
//! `#[derive(PlainData)]` checks that values of a struct can be sent to other processes.
//!
//! Use them through `blitz-io` (feature `macros`), not from this crate.

mod arguments;
mod crate_path;
mod expand;
mod function;
mod join;
mod manifest;
mod options;
mod pattern;
mod plain_data;
mod purpose;
mod select;
mod simulate;
mod text;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use purpose::Purpose;

/// Runs an `async fn` on a runtime of its own.
///
/// The function becomes an ordinary one. Each call builds a runtime with
/// [`enable_all`], blocks on the body, and shuts the runtime down. It is intended for
/// `main`, but works on any function. For options that are not arguments here, use
/// [`runtime::Builder`].
///
/// The body runs on the calling thread, which is not a worker. Spawn tasks to run work on
/// the workers.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `flavor = "multi_thread"` | the default: a worker for each processor |
/// | `flavor = "current_thread"` | everything on the calling thread |
/// | `flavor = "local"` | the same, and tasks need not be `Send` |
/// | `worker_threads = N` | how many workers; only with `multi_thread` |
/// | `start_paused = true` | the clock starts paused; not with `multi_thread` |
/// | `unhandled_panic = "ignore"` or `"shutdown_runtime"` | what a task's panic does; not with `multi_thread` |
/// | `name = "…"` | the runtime's name |
/// | `deadlock = "panic"` | panics with a report once the body certainly never ends, or aborts with it if threads are blocked for ever; needs the feature `inspect` of `blitz-io` |
/// | `crate = "…"` | the path of `blitz_io` |
///
/// The arguments and the error messages are Tokio's. Without `crate`, the attribute looks
/// in the package's `Cargo.toml` for the name of the dependency `blitz-io`, so that a
/// renamed one (`b = { package = "blitz-io" }`) needs no argument.
///
/// # Errors and panics
///
/// The function returns what the body returns. It panics with "Failed building the
/// Runtime" if the system cannot start a thread.
///
/// # Examples
///
/// ```
/// #[blitz_io::main]
/// async fn main() {
///     let sum = blitz_io::spawn(async { 1 + 2 }).await.unwrap();
///     assert_eq!(sum, 3);
/// }
/// ```
///
/// With arguments, and a result:
///
/// ```
/// #[blitz_io::main(flavor = "multi_thread", worker_threads = 2)]
/// async fn main() -> Result<(), std::num::ParseIntError> {
///     let number = blitz_io::spawn(async { "17".parse::<u32>() });
///     assert_eq!(number.await.unwrap()?, 17);
///     Ok(())
/// }
/// ```
///
/// On any function, here with the crate under a different name:
///
/// ```
/// mod project {
///     pub use blitz_io as waiting;
/// }
///
/// #[blitz_io::main(flavor = "current_thread", crate = "project::waiting")]
/// async fn double(number: u32) -> u32 {
///     number * 2
/// }
///
/// assert_eq!(double(21), 42);
/// ```
///
/// Misuse does not compile:
///
/// ```compile_fail
/// #[blitz_io::main(flavor = "current_thread", worker_threads = 2)]
/// async fn main() {}
/// ```
///
/// ```compile_fail
/// #[blitz_io::main]
/// fn main() {} // not async
/// ```
///
/// [`enable_all`]: ../blitz_io/runtime/struct.Builder.html#method.enable_all
/// [`runtime::Builder`]: ../blitz_io/runtime/struct.Builder.html
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(
        Purpose::Main,
        crate_path::found,
        arguments.into(),
        item.into(),
    )
    .into()
}

/// Runs an `async fn` as a test, on a runtime of its own.
///
/// # Arguments
///
/// The arguments are those of [`main`](macro@main), except that the default flavor is
/// `current_thread`. With `start_paused = true`, a test of timeouts and intervals takes no
/// time: when no task is ready, the clock advances to the next timer.
///
/// Other attributes are kept (`#[should_panic]`, `#[ignore]`, `#[cfg(…)]`), but a second
/// `#[test]` is rejected: the test would run twice.
///
/// # Examples
///
/// ```no_run
/// #[blitz_io::test]
/// async fn tasks_add_up() {
///     let task = blitz_io::spawn(async { 40 });
///     assert_eq!(task.await.unwrap() + 2, 42);
/// }
///
/// #[blitz_io::test(start_paused = true)]
/// async fn a_day_passes_at_once() {
///     blitz_io::time::sleep(std::time::Duration::from_secs(86_400)).await;
/// }
///
/// #[blitz_io::test(flavor = "multi_thread", worker_threads = 2)]
/// async fn on_two_workers() -> Result<(), Box<dyn std::error::Error>> {
///     blitz_io::spawn(async {}).await?;
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// #[blitz_io::test]
/// #[test]
/// async fn twice() {}
/// ```
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(
        Purpose::Test,
        crate_path::found,
        arguments.into(),
        item.into(),
    )
    .into()
}

/// Runs an `async fn` as a test in many orders: see the module `blitz_io::sim` (feature `sim`).
///
/// Each run has a future of its own, and is a task of a simulation. A run that fails ends the test, which prints why, and
/// a line that replays the run.
///
/// The runs are on threads of their own. On Linux, the clocks of the standard library, `thread::sleep`, random numbers, the order of a
/// `HashMap`, and names of hosts are those of the simulation, too: see there.
///
/// # Arguments
///
/// | argument | meaning |
/// |---|---|
/// | `seed = N` | the seed of the first run; by default 0 |
/// | `seeds = N` | the number of runs, at least 1; by default 1,000, and with `schedule = "exhaustive"` as many as there are orders |
/// | `time = "10m"` | the time after which no run begins, by the system's clock, in place of a number of runs, but one run is always made; then `schedule` is `guided` by default |
/// | `schedule = "…"` | `portfolio` (the default), `random`, `round-robin`, `pct:3`, `pos`, `surw`, `guided`, `exhaustive`, or `exhaustive:2` |
/// | `max_steps = N` | the number of steps after which a run counts as endless; by default a million |
/// | `max_time = "10s"` | the simulated time after which a run counts as endless; by default a year |
/// | `allow_leaks = true` | tasks, timers and sockets may be left at the end; with `threads`, threads |
/// | `allow_panics = true` | tasks may panic |
/// | `early_timers = true` | timers may fire although tasks are ready |
/// | `check_determinism = true` | each run is made twice, and must be the same |
/// | `check_sometimes = true` | the test fails if a name of `sim::sometimes` has never happened; by default it prints the name |
/// | `shrink = false` | the decisions of a failure are not shortened |
/// | `threads = "all"` | real threads in place of one that plays all workers (feature `sim-threads`, on Linux with x86-64): see `Builder::run_threads`. `max_steps` then counts calls without progress, and `max_time` and the arguments from `allow_panics` to `shrink` are refused |
/// | `crate = "…"` | the path of `blitz_io` |
///
/// The environment has precedence: `BLITZ_SIM_SEED`, `BLITZ_SIM_SEEDS`, `BLITZ_SIM_TIME`, `BLITZ_SIM_SCHEDULE` and
/// `BLITZ_SIM_TRACE`. `BLITZ_SIM_EVENTS=all` lets the text of a failure have all events, and `merged` has them in one list.
///
/// # Examples
///
/// ```ignore
/// use blitz_io::sync::mpsc; // with the feature `sim`
///
/// #[blitz_io::sim(seeds = 500)]
/// async fn a_value_arrives() {
///     let (sender, mut receiver) = mpsc::channel(1);
///     let task = blitz_io::spawn(async move { sender.send(7).await });
///     assert_eq!(receiver.recv().await, Some(7));
///     task.await.unwrap().unwrap();
/// }
/// ```
#[proc_macro_attribute]
pub fn sim(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let around = simulate::Around {
        path: crate_path::found,
        options: options::of_cargo,
    };
    simulate::attribute(around, arguments.into(), item.into()).into()
}

/// Implements `PlainData` for a struct, so that its values can be messages between processes.
///
/// The struct needs `#[repr(C)]` or `#[repr(transparent)]`, and must be `Copy`. It does not
/// compile if:
///
/// * a field is not plain data itself (a reference, a `bool`, an enum);
/// * there is padding between the fields or after them: put the larger fields first, and
///   fill the rest with a field of bytes;
/// * the type has parameters, or is an enum or a union.
///
/// The path of the trait is found in the package's `Cargo.toml`, like the path of
/// [`main`](macro@main); where it is elsewhere, `#[plain_data(crate = "other::ipc")]` names
/// its module.
///
/// # Examples
///
/// ```
/// use blitz_io::ipc::{PlainData, Queue};
///
/// #[derive(Clone, Copy, PartialEq, Debug, PlainData)]
/// #[repr(C)]
/// struct Order {
///     price: f64,
///     volume: u32,
///     market: [u8; 4],
/// }
///
/// # if blitz_io::ipc::is_supported() {
/// # let name = &format!("orders-doc-{}", std::process::id());
/// # let _ = r#"
/// let name = "orders";
/// # "#;
/// let (mut sender, mut receiver) = (Queue::sender(name)?, Queue::receiver(name)?);
/// let order = Order { price: 12.5, volume: 100, market: *b"XETR" };
/// sender.send_value(&order)?;
/// assert_eq!(receiver.recv_value::<Order>()?, order);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Padding, whose bytes have no value:
///
/// ```compile_fail,E0080
/// # use blitz_io::ipc::PlainData;
/// #[derive(Clone, Copy, PlainData)]
/// #[repr(C)]
/// struct Padded {
///     small: u8,
///     large: u64,
/// }
/// # fn main() {}
/// ```
///
/// A field that is meaningful in only one process, and one that does not allow every byte
/// value:
///
/// ```compile_fail,E0277
/// # use blitz_io::ipc::PlainData;
/// #[derive(Clone, Copy, PlainData)]
/// #[repr(C)]
/// struct Pointing {
///     text: &'static u8,
/// }
/// # fn main() {}
/// ```
///
/// ```compile_fail,E0277
/// # use blitz_io::ipc::PlainData;
/// #[derive(Clone, Copy, PlainData)]
/// #[repr(transparent)]
/// struct Switch(bool);
/// # fn main() {}
/// ```
///
/// A parameter:
///
/// ```compile_fail
/// # use blitz_io::ipc::PlainData;
/// #[derive(Clone, Copy, PlainData)]
/// #[repr(C)]
/// struct Pair<T>(T, T);
/// # fn main() {}
/// ```
#[proc_macro_derive(PlainData, attributes(plain_data))]
pub fn plain_data(item: TokenStream) -> TokenStream {
    plain_data::derive(item.into()).into()
}

/// Works like [`main`](macro@main), for the package that stands in for Tokio.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn tokio_main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (arguments, item) = (arguments.into(), item.into());
    expand::attribute(Purpose::Main, crate_path::tokio, arguments, item).into()
}

/// Works like [`test`](macro@test), for the package that stands in for Tokio.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn tokio_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (arguments, item) = (arguments.into(), item.into());
    expand::attribute(Purpose::Test, crate_path::tokio, arguments, item).into()
}

/// Replaces [`main`](macro@main) where the feature `rt` is off: it reports that.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn main_without_runtime(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::no_runtime(Purpose::Main, item.into()).into()
}

/// Replaces [`test`](macro@test) where the feature `rt` is off: it reports that.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn test_without_runtime(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::no_runtime(Purpose::Test, item.into()).into()
}

/// Replaces [`sim`](macro@sim) where the feature `sim` is off: it reports that. The function is left out, as what it uses may be missing,
/// too.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn sim_without_feature(_: TokenStream, _: TokenStream) -> TokenStream {
    simulate::no_feature().into()
}

/// Generates the code of `select!` from branches that the macro has parsed.
#[doc(hidden)]
#[proc_macro]
pub fn select_branches(input: TokenStream) -> TokenStream {
    select::generate(input.into()).into()
}

/// Generates the code of `join!` from a list of futures.
#[doc(hidden)]
#[proc_macro]
pub fn join_branches(input: TokenStream) -> TokenStream {
    join::generate(input.into(), join::Until::AllDone).into()
}

/// Generates the code of `try_join!` from a list of futures.
#[doc(hidden)]
#[proc_macro]
pub fn try_join_branches(input: TokenStream) -> TokenStream {
    join::generate(input.into(), join::Until::FirstError).into()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
