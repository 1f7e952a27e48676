//! The events of a run.

use crate::plan::Faults;
use crate::shared::region::{self, NOTHING, TIME, WAITS, happening};

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
}

impl Recording {
    /// Decodes the events of the shared memory.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")),
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
