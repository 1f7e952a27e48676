//! The recorder is that of the whole process, so each test has requests with names of its own.

mod axum;
mod spans;
mod support;
mod tonic;
