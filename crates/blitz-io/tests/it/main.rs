//! Simulations of tasks.

mod attribute;
mod counts;
mod events;
mod failures;
mod histories;
mod points;
mod properties;
mod replay;
mod schedules;
mod time;
