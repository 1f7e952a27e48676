//! The preloaded object: the system that a program under simulation sees.
//!
//! - `start`: the fork server, which runs the program up to `main` once.
//! - `baton`, `state`, `end`: one running thread, simulated time, verdicts; `events` records them.
//! - `progress`: what a livelock lacks; `explain`: what the program says about a deadlock; `leaks`: threads that a test has left.
//! - `strategy`, `pos`, `surw`: which thread is next.
//! - `thread`, `lock`, `condition`, `futex`, `mappings`, `time`, `alarms`, `signals`, `random`, `identity`: what is taken over, by subject.
//! - `descriptors`, `sockets`, `messages`, `readiness`, `timers`: descriptors. They stay the kernel's.
//! - `atomics`: atomic operations of programs that are compiled for it.
//! - `step`: instructions one by one; `survey`, `loops`: loops without a call; `handlers`: of the program.
//! - `files`, `paths`, `tree`, `metadata`, `disk`: files in memory, and their crashes.
//! - `network`, `wires`, `silence`: faults of the network, what is under way because of them, and half-open connections.
//! - `outside`: child processes, where they are allowed.
//! - `dispatch`: one function that takes a number and six arguments, as the kernel does.
//! - `symbols`: libc's functions over `dispatch`; `trap`: what comes round libc, into `dispatch` too;
//!   `tsc`: the instructions that read a clock.

// Every function here takes the place of one of C, or is called by one: each of them relies on its
// caller for pointers and on the baton (see `baton`) for the state. A block in each would repeat that.
#![allow(unsafe_op_in_unsafe_fn)]
#![allow(clippy::missing_safety_doc)]

mod alarms;
mod atomics;
mod baton;
mod c;
mod condition;
mod descriptors;
mod disk;
mod dispatch;
mod end;
mod events;
mod explain;
mod files;
mod futex;
mod handlers;
mod heap;
mod identity;
mod leaks;
mod lock;
mod loops;
mod mappings;
mod messages;
mod metadata;
mod network;
mod outside;
mod paths;
mod pos;
mod progress;
mod random;
mod readiness;
mod real;
mod repeats;
mod resume;
#[path = "../shared/mod.rs"]
mod shared;
mod signals;
mod silence;
mod sockets;
mod start;
mod state;
mod step;
mod strategy;
mod survey;
mod surw;
mod symbols;
mod sys;
mod thread;
mod time;
mod timers;
mod trap;
mod tree;
mod tsc;
mod vdso;
mod wires;
