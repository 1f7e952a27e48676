//! The tests of this crate, in one program.

mod join;
mod loops;
mod pin;
mod pools;
mod process;
mod run;
mod scope;
mod stress;
