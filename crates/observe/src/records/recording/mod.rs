//! The types that record: with the feature `inspect`.

mod about;
mod acquirer;
mod at_exit;
mod at_point;
mod beginner;
mod block;
mod brief;
mod caller;
mod child;
mod clock;
mod current;
mod descriptor;
mod errand;
mod given;
mod json;
mod kept;
pub mod lint;
mod local;
mod locked;
mod object;
mod operation;
mod origin;
mod own;
mod place;
mod polled;
mod recorders;
mod registry;
mod request_names;
mod root;
mod run_delay;
mod scope;
mod scope_facts;
mod simulator;
mod source_file;
mod switch;
mod threads;
mod ticks;
mod totals;
pub mod trace;
mod wait;
mod waiter;
mod word_wait;
mod worker;

use super::{Fill, Filled};
use crate::Kind;

pub use self::{
    about::{About, AboutRef},
    acquirer::{Acquirer, OfPoll},
    beginner::{Acting, Beginner},
    block::{Block, Facts, NAMES, ObjectRecord},
    brief::Brief,
    caller::{Caller, Calls},
    child::{ChildRecord, ChildState},
    clock::{has_clock_thread, keep_time, now},
    current::Entered,
    descriptor::{Descriptor, Source},
    errand::run_in_sleeping_thread,
    given::ends_with,
    kept::Kept,
    object::Object,
    origin::Origin,
    own::OwnPrimitive,
    place::{TaskFacts, TaskReading, TaskState},
    registry::{Record, TaskRecord, for_each_object, read, read_chosen},
    root::Root,
    scope::{Members, OfScope},
    scope_facts::ScopeFacts,
    simulator::{
        Explain, JUDGE_FINDING, JUDGE_REPORT, Judge, LeftThread, TestThreads, Write,
        explain_deadlocks_by, is_simulated, judge_by, serves_process,
    },
    threads::{ThreadRecord, runs_tasks},
    totals::{Contention, WAIT_BUCKETS},
    wait::{Blocking, Sleeping, Wait, WaitKind, sleeping},
    waiter::Waiter,
    word_wait::WordWait,
    worker::{cache_time, cache_time_after_sleep, forget_time},
};
