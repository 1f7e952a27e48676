//! The tests of this crate, in one program.
#![cfg(not(loom))]

mod join;
mod loops;
mod pin;
mod pools;
mod process;
mod run;
mod scope;
mod stress;
