//! The attributes `#[blitz_io::main]` and `#[blitz_io::test]`: they turn an `async fn`
//! into an ordinary one that starts a runtime and runs the body on it.
//!
//! Use them through `blitz-io` (feature `macros`) and not from here.

mod arguments;
mod expand;
mod function;
mod text;

#[cfg(test)]
mod tests;

use expand::Purpose;
use proc_macro::TokenStream;

/// Runs an `async fn` on a runtime of its own.
///
/// The function becomes an ordinary one. Each call builds a runtime with
/// [`enable_all`], blocks on the body, and shuts the runtime down. It is meant for
/// `main`, but any function will do. For more say in the matter use
/// [`runtime::Builder`] itself.
///
/// The body runs on the thread that calls, which is no worker: spawn what is to run on
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
/// | `start_paused = true` | the clock stands still at first; not with `multi_thread` |
/// | `unhandled_panic = "ignore"` or `"shutdown_runtime"` | what a task's panic does; not with `multi_thread` |
/// | `name = "…"` | the runtime's name |
/// | `crate = "…"` | the path under which `blitz_io` is known |
///
/// They are Tokio's, and so are the messages for wrong ones.
///
/// # Errors and panics
///
/// What the body returns, the function returns. The function panics with "Failed building
/// the Runtime" if the system has no thread left for it.
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
/// On any function, here with the crate under another name:
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
    expand::attribute(Purpose::Main, arguments.into(), item.into()).into()
}

/// Runs an `async fn` as a test, on a runtime of its own.
///
/// # Arguments
///
/// Those of [`main`](macro@main), except that the runtime has the flavor
/// `current_thread` if nothing else is said. `start_paused = true` makes a test of time-outs
/// and intervals take no time: while nothing is to do, the clock jumps to the next timer.
///
/// Other attributes stay as they are (`#[should_panic]`, `#[ignore]`, `#[cfg(…)]`), but a
/// second `#[test]` is refused: the test would run twice.
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
    expand::attribute(Purpose::Test, arguments.into(), item.into()).into()
}

/// In place of [`main`](macro@main) where there is no runtime to start.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn main_without_runtime(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::no_runtime(Purpose::Main, item.into()).into()
}

/// In place of [`test`](macro@test) where there is no runtime to start.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn test_without_runtime(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::no_runtime(Purpose::Test, item.into()).into()
}
