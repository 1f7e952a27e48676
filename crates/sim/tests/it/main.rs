//! Tests of the simulator on programs in C and Rust.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod atomics;
mod clocks;
mod corpus;
mod counts;
mod explained;
mod files;
mod found;
mod futexes;
mod leaks;
mod loops;
mod network;
mod outside;
mod programs;
mod refused;
mod schedules;
mod service;
mod signals;
mod speed;
mod steps;
mod support;
