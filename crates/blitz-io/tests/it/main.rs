//! Simulations of tasks.

mod attribute;
mod counts;
mod failures;
mod points;
mod properties;
mod replay;
mod schedules;
mod time;
