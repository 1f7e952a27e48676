//! Systems on which nothing can be simulated.

use std::io::{Error, ErrorKind, Result};

use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::program::Program;
use crate::recording::Recording;

/// A program that is ready to run under simulation.
#[derive(Debug)]
pub struct Simulator(std::convert::Infallible);

impl Simulator {
    /// Fails: simulation needs x86-64 Linux.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn start(_: &Program) -> Result<Simulator> {
        Err(Error::new(
            ErrorKind::Unsupported,
            "simulation needs Linux on x86-64, and programs of glibc",
        ))
    }

    /// Runs the program once.
    ///
    /// # Errors
    ///
    /// There is no value of this type.
    pub fn run(&mut self, _: &Plan) -> Result<Outcome> {
        match self.0 {}
    }

    /// Runs the program once, and records its events.
    ///
    /// # Errors
    ///
    /// There is no value of this type.
    pub fn record(&mut self, _: &Plan) -> Result<(Outcome, Recording)> {
        match self.0 {}
    }

    /// Runs the program up to a step.
    ///
    /// # Errors
    ///
    /// There is no value of this type.
    pub fn run_until(&mut self, _: &Plan, _: u64) -> Result<Outcome> {
        match self.0 {}
    }

    /// Runs the program up to a step, and stops it there for a debugger.
    ///
    /// # Errors
    ///
    /// There is no value of this type.
    pub fn debug(&mut self, _: &Plan, _: u64, _: impl FnOnce(u32, &str)) -> Result<Outcome> {
        match self.0 {}
    }
}
