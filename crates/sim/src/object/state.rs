//! The state of the simulation. There is one, and only the thread with the baton touches it: see
//! `baton`.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::alarms::Alarms;
use crate::atomics;
use crate::c::Pollfd;
use crate::descriptors::Descriptors;
use crate::explain::Before;
use crate::mappings::Place;
use crate::repeats::Repeats;
use crate::shared::random::{Random, extend};
use crate::shared::region::{NOTHING, Region};
use crate::signals::Signal;
use crate::strategy::Strategy;
use crate::tree::Tree;
use crate::wires::Wires;

/// The deadline of a wait without a time limit.
pub const NEVER: u64 = u64::MAX;

/// Scheduling state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It runs, or can.
    Ready,
    /// It waits for its key, its descriptors or its deadline.
    Blocked,
    /// It has ended.
    Done,
}

/// What kind of object a thread waits for. `WAITS` of `shared` has their names, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Nothing but the deadline.
    Sleep,
    /// A pthread mutex.
    Mutex,
    /// A pthread read-write lock.
    RwLock,
    /// A pthread condition.
    Condition,
    /// A pthread barrier.
    Barrier,
    /// A semaphore.
    Semaphore,
    /// A `pthread_once` that another thread executes.
    Once,
    /// A word of memory.
    Futex,
    /// The end of a thread.
    Join,
    /// Descriptors.
    Descriptors,
    /// A signal that all threads block.
    Signal,
}

/// The object of a wait.
pub type Key = (Class, usize);

/// A thread of the program.
pub struct Thread {
    /// Its number: 0 for the thread that runs `main`.
    pub id: u32,
    /// The baton: 1 from the moment at which another thread hands it over.
    pub baton: AtomicU32,
    /// 1 from the moment at which it waits for the baton for the first time.
    pub has_arrived: AtomicU32,
    pub state: State,
    pub key: Key,
    /// The thread was woken to try again, and another one may be faster.
    pub retries: bool,
    pub deadline: u64,
    pub timed_out: bool,
    /// A signal came during its wait (`signals`).
    pub interrupted: bool,
    /// Descriptors that it waits for.
    pub set: Vec<Pollfd>,
    /// Further queues in which it is, if it waits for several words.
    pub other_keys: Vec<Key>,
    /// The futex that ended its last wait.
    pub woken_at: usize,
    /// Bits of a futex wait.
    pub bits: u32,
    /// The call in which it is.
    pub call: &'static str,
    /// The object of that call: 0 for all descriptors, `NOTHING` if the call concerns no other thread.
    pub object: u64,
    /// The kernel's number.
    pub tid: i32,
    pub pthread: usize,
    pub detached: bool,
    /// The thread that started it.
    pub parent: u32,
    /// The stack that started it, if that is kept (`leaks`).
    pub starts: Vec<usize>,
    /// It stays on purpose.
    pub serves: bool,
    /// Another thread collects backtraces, and gets the baton back afterwards.
    pub reports_to: Option<u32>,
    /// Calls of our thread-specific destructor so far.
    pub rounds: u32,
    /// Turns in a row in which it only read clocks (`time`).
    pub clock_spins: u32,
    /// Preemptions in loops without a call since its last point (`loops`).
    pub spins: u32,
    /// The number of points from which on it runs again, if others can: it spins.
    pub rests: u64,
    /// Atomic operations in a row without a call and without a change (`atomics`).
    pub idle: u32,
    /// Changes by atomic operations, when it was at its last one.
    pub seen_changes: u64,
    /// Its atomic operations since the last change.
    pub repeats: Repeats,
    /// It is about to repeat an atomic operation that has changed nothing.
    pub is_repeating: bool,
    pub name: [u8; 16],
}

impl Thread {
    /// Creates the record of a thread that can run, and that `parent` starts.
    pub fn new(id: u32, parent: u32) -> Thread {
        Thread {
            id,
            baton: AtomicU32::new(0),
            has_arrived: AtomicU32::new(0),
            state: State::Ready,
            key: (Class::Sleep, 0),
            retries: false,
            deadline: NEVER,
            timed_out: false,
            interrupted: false,
            set: vec![],
            other_keys: vec![],
            woken_at: 0,
            bits: 0,
            call: "",
            object: NOTHING,
            tid: 0,
            pthread: 0,
            detached: false,
            parent,
            starts: vec![],
            serves: false,
            reports_to: None,
            rounds: 0,
            clock_spins: 0,
            spins: 0,
            rests: 0,
            idle: 0,
            seen_changes: 0,
            repeats: Repeats::default(),
            is_repeating: false,
            name: [0; 16],
        }
    }
}

/// The whole state.
pub struct Simulation {
    pub region: *mut Region,
    /// Boxed, because other threads sleep on the word in each.
    #[allow(clippy::vec_box)]
    pub threads: Vec<Box<Thread>>,
    /// Numbers of the threads that have not ended.
    pub live: Vec<u32>,
    /// Number of the thread with the baton.
    pub current: u32,
    /// Simulated nanoseconds since the start.
    pub now: u64,
    /// Nanoseconds by which the calendar's clock has jumped.
    pub jumped: i64,
    /// Timers that send signals.
    pub alarms: Alarms,
    /// Signals to the process that no thread has got yet.
    pub due: Vec<Signal>,
    /// Lower bound of all deadlines.
    pub next_deadline: u64,
    /// The kernel's number of a thread that has passed the baton on and still ends.
    pub dying: i32,
    pub strategy: Strategy,
    /// Source of the program's randomness.
    pub entropy: Random,
    /// Index of the next entry of the script.
    pub at_script: u32,
    /// Clock reads since the last other point.
    pub clock_reads: u32,
    /// Choices in a row that let the same thread go on.
    pub streak: u32,
    /// Points at the last progress, and at the last one that was more than a wake (`progress`).
    pub moved: u64,
    pub changed: u64,
    /// Changes by atomic operations, as far as they have counted as progress.
    pub seen_changes: u64,
    /// Small numbers for objects in the order of their first use. Addresses are no part of the hash.
    pub objects: BTreeMap<usize, u32>,
    /// Numbers of words in shared memory, by their places in files.
    pub places: BTreeMap<Place, usize>,
    /// Waiters by key, the longest first, where the order of waking matters.
    pub queues: BTreeMap<Key, VecDeque<u32>>,
    /// Clocks of conditions that were initialised with attributes.
    pub condition_clocks: BTreeMap<usize, i32>,
    /// Sizes of barriers, and the threads that have arrived.
    pub barriers: BTreeMap<usize, (u32, u32)>,
    pub descriptors: Descriptors,
    /// Files in memory.
    pub files: Box<Tree>,
    /// Places of the names in the record of the events.
    pub names: BTreeMap<Vec<u8>, u32>,
    pub wires: Wires,
    /// Threads whose tests have ended, and that let the others run until none can (`leaks`).
    pub ending: Vec<u32>,
    /// A test has left threads. The program looks up their names, which takes long.
    pub has_left: bool,
    /// New threads get the stack that starts them.
    pub keeps_starts: bool,
    /// The thread with the baton is in libc's `pthread_create`.
    pub is_creating: bool,
    /// The number of points at which the next judgement of the program's waits is due (`explain`).
    pub next_judgement: u64,
    /// The finding of the last judgement, if the next one is to confirm it; zero otherwise.
    pub finding: u64,
    /// Set while the program explains a deadlock.
    pub explained: Option<Before>,
    /// Key whose destructor sees the end of a thread.
    pub key: u32,
}

static ACTIVE: AtomicBool = AtomicBool::new(false);
static mut SIMULATION: *mut Simulation = core::ptr::null_mut();

/// Returns `true` in a run. Outside of one (in the fork server, before `main`) every call goes to the
/// kernel.
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Returns the state.
///
/// A reference must not live across a point: another thread uses the state then.
pub unsafe fn sim() -> &'static mut Simulation {
    &mut *SIMULATION
}

/// Starts the run.
pub unsafe fn start(simulation: Simulation) {
    SIMULATION = Box::into_raw(Box::new(simulation));
    ACTIVE.store(true, Ordering::Relaxed);
}

/// Lets all later calls go to the kernel.
pub fn stop() {
    ACTIVE.store(false, Ordering::Relaxed);
}

impl Simulation {
    /// Returns the shared memory.
    pub unsafe fn region(&mut self) -> &'static mut Region {
        &mut *self.region
    }

    /// Returns the thread with the baton.
    pub fn me(&mut self) -> &mut Thread {
        let current = self.current as usize;
        &mut self.threads[current]
    }

    /// Notes that the calling thread has the baton now.
    pub unsafe fn runs(&mut self) {
        let tid = self.me().tid as u32;
        self.region().running.store(tid, Ordering::Relaxed);
        atomics::holds();
    }

    /// Adds an event to the hash.
    pub unsafe fn event(&mut self, what: u64) {
        let region = self.region();
        region.hash = extend(region.hash, what);
    }

    /// Returns the small number of an object.
    pub fn object(&mut self, address: usize) -> u32 {
        let next = self.objects.len() as u32;
        *self.objects.entry(address).or_insert(next)
    }

    /// Removes a thread from all queues in which it is.
    pub fn leave_queue(&mut self, thread: u32) {
        let record = &mut self.threads[thread as usize];
        let others = core::mem::take(&mut record.other_keys);
        for key in others.into_iter().chain([record.key]) {
            if let Some(queue) = self.queues.get_mut(&key) {
                queue.retain(|other| *other != thread);
                if queue.is_empty() {
                    self.queues.remove(&key);
                }
            }
        }
    }
}
