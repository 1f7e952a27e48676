//! Tests of the simulator on programs in C and Rust.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod corpus;
mod counts;
mod files;
mod found;
mod network;
mod outside;
mod programs;
mod schedules;
mod service;
mod steps;
mod support;
