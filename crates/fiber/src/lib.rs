//! Fibers: blocking code as a task.
//!
//! A fiber is a future whose poll runs a closure on a stack of its own. Inside the closure,
//! [`block_on`] waits for any future: it suspends the fiber's stack, and the thread runs
//! other tasks. So locks, channels, timers, sockets and files work in fibers as they are, and a
//! fiber is spawned, joined and aborted as any task.
//!
//! ```
//! use blitz_io::{fiber, runtime::Runtime, sync::mpsc};
//!
//! let runtime = Runtime::new()?;
//! let sum = runtime.block_on(async {
//!     let (sender, mut receiver) = mpsc::channel(1);
//!     let adder = fiber::spawn(move || {
//!         let mut sum = 0;
//!         while let Some(number) = fiber::block_on(receiver.recv()) {
//!             sum += number;
//!         }
//!         sum
//!     });
//!     for number in 1..=10 {
//!         sender.send(number).await.unwrap();
//!     }
//!     drop(sender);
//!     adder.await.unwrap()
//! });
//! assert_eq!(sum, 55);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Rules that the compiler cannot check
//!
//! **Do not wait in [`std::thread::LocalKey::with`]**, nor in another crate's function that keeps
//! something in a thread-local variable as long as a closure runs. Other tasks of the thread see that value
//! while the fiber waits.
//!
//! The scopes of this library move with a fiber: those of `task_local!`, `Once`, the pool,
//! `unconstrained` and `trace_with`.
//!
//! # Rules
//!
//! * A fiber stays on the thread that began it. It may hold values that are not `Send` while it
//!   waits.
//! * Code that blocks its thread also blocks the other tasks of the thread, as in any task.
//! * A value of a thread-local variable, or a `tracing` span that is entered with a guard, is the
//!   thread's: other tasks of the thread see it while the fiber waits. Put the whole fiber, or the
//!   future that it waits for, into the span.
//! * A fiber lives in an [`extent`]: a worker of a runtime, a call of `block_on`, or a call of that
//!   function. At its end the fibers that are left are unwound, so none outlives its thread.
//! * A fiber that is dropped on another thread is unwound at the end of its extent.
//! * With `panic = "abort"` a fiber that has begun must end before it is dropped and before its extent ends: it
//!   ends the process otherwise, with a message that names it.
//! * A fiber cannot wait while it holds the guard of `Handle::enter`: [`block_on`] panics.
//! * In a destructor that runs because of a panic or an abort, [`block_on`] blocks the thread.
//! * A stack has a fixed size ([`Builder::stack_size`]). A fiber that overflows it ends the process,
//!   with a message that names the fiber.
//!
//! # Why a fiber stays on its thread
//!
//! To resume a stack on another thread is unsound in Rust:
//!
//! * Values on the stack may be of types that are not `Send`, and the compiler cannot know which
//!   are alive while the fiber waits.
//! * The address of a thread-local variable may be kept in a register or on the stack across a
//!   call, as the compiler assumes that a function ends on the thread on which it began. The
//!   address of `errno` is even declared constant.
//!
//! So the future is not `Send` once it has been polled. [`run`] returns a future that never is.
//! [`spawn`] takes a closure that is `Send`, and the runtime polls the task on the thread of its
//! first poll only.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod fiber;
mod home;
#[cfg(unix)]
mod overflow;
mod running;
mod sanitizer;
mod stack;
mod switch;
mod task;

pub use blitz_io_runtime::task::JoinHandle;
pub use builder::{Builder, DEFAULT_STACK_SIZE, MAX_GUARD_SIZE, MAX_STACK_SIZE, MIN_STACK_SIZE};
pub use fiber::{Fiber, extent, run};
pub use running::{block_on, is_fiber, yield_now};
#[doc(hidden)]
pub use running::{local, set_local};
pub use task::spawn;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
