//! The events of a run.

use crate::plan::Faults;
use crate::shared::region::{self, NOTHING, TIME, WAITS, happening, kind};

/// Events of a run, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The events.
    pub events: Vec<Event>,
    /// The run had more events than can be recorded.
    pub is_cut_off: bool,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of calls so far. The calls of a run are its steps.
    pub step: u64,
    /// Simulated nanoseconds since the start.
    pub nanoseconds: u64,
    /// Number of the thread: 0 runs `main`.
    pub thread: u32,
    /// What happened to the thread.
    pub what: Happening,
}

/// What happened to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// It reached a call. Another thread may run before the call has its effect.
    Call {
        /// Name of the call.
        name: String,
        /// Address of the object, if the call has one.
        object: Option<u64>,
    },
    /// It waits.
    Wait {
        /// The kind of the object, such as "a mutex".
        kind: &'static str,
        /// Address of the object, number of the thread or of a descriptor.
        object: u64,
    },
    /// It was woken, but another thread was faster: it waits on.
    WaitAgain {
        /// The kind of the object.
        kind: &'static str,
        /// Address of the object, number of the thread or of a descriptor.
        object: u64,
        /// The other thread.
        faster: u32,
    },
    /// It can run again.
    Ready {
        /// The thread that woke it. `None`: its time had come.
        by: Option<u32>,
    },
    /// It was started.
    Start {
        /// The thread that started it.
        by: u32,
    },
    /// It ended.
    End,
    /// It got a name.
    Name(String),
    /// A fault occurred.
    Fault(String),
    /// While it ran, a decision of the run had another result than the harmless one. A run that was [shrunk](crate::shrink) has
    /// only the choices that matter.
    Choice {
        /// Number of decisions of the run before this one.
        decision: u32,
        /// The result.
        choice: Choice,
    },
}

/// The result of a decision, if it is not the harmless one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Another thread runs now.
    Runs {
        /// The thread that runs.
        thread: u32,
        /// The thread that would run otherwise. It is the thread of the event if that one could go on.
        instead_of: u32,
    },
    /// Another thread is woken.
    Wakes {
        /// The thread that is woken.
        thread: u32,
        /// The thread that has waited longest.
        instead_of: u32,
    },
    /// The thread of the event loses the processor after this number of instructions, if it reaches no call before
    /// that has to do with other threads.
    Interrupts {
        /// The number of instructions.
        after: u32,
    },
    /// A fault occurs.
    Fault {
        /// Its family.
        family: String,
        /// How grave it is; 1 is the most harmless.
        degree: u32,
    },
}

impl Recording {
    /// Decodes the events of the shared memory.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn new(events: &[region::Event], names: &[u8], is_cut_off: bool) -> Recording {
        let name = |at: u32| {
            let bytes = names.get(at as usize..).unwrap_or(&[]);
            let bytes = bytes.split_first().map_or(&[][..], |(length, bytes)| {
                &bytes[..bytes.len().min(usize::from(*length))]
            });
            String::from_utf8_lossy(bytes).into_owned()
        };
        let decoded = events.iter().filter_map(|event| {
            let what = match event.what {
                happening::CALL => Happening::Call {
                    name: name(event.name),
                    object: (event.object != 0 && event.object != NOTHING).then_some(event.object),
                },
                happening::WAIT => {
                    let kind = WAITS.get(usize::from(event.class)).copied().unwrap_or("");
                    let object = event.object;
                    if event.other == event.thread {
                        Happening::Wait { kind, object }
                    } else {
                        let faster = event.other;
                        Happening::WaitAgain {
                            kind,
                            object,
                            faster,
                        }
                    }
                }
                happening::READY => Happening::Ready {
                    by: (event.other != TIME).then_some(event.other),
                },
                happening::START => Happening::Start { by: event.other },
                happening::END => Happening::End,
                happening::NAME => Happening::Name(name(event.name)),
                happening::FAULT => Happening::Fault(Faults(1 << event.class).to_string()),
                happening::CHOICE => Happening::Choice {
                    decision: event.object as u32,
                    choice: choice(event),
                },
                _ => return None,
            };
            Some(Event {
                step: event.step,
                nanoseconds: event.now,
                thread: event.thread,
                what,
            })
        });
        Recording {
            events: decoded.collect(),
            is_cut_off,
        }
    }
}

/// Decodes a choice.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code)
)]
fn choice(event: &region::Event) -> Choice {
    let instead_of = (event.object >> 32) as u32;
    match event.class {
        kind::WINDOW => Choice::Interrupts { after: event.other },
        kind::WAITER => Choice::Wakes {
            thread: event.other,
            instead_of,
        },
        class @ kind::FAULT.. => Choice::Fault {
            family: Faults(1 << (class - kind::FAULT)).to_string(),
            degree: event.other,
        },
        _ => Choice::Runs {
            thread: event.other,
            instead_of,
        },
    }
}
