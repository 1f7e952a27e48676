//! `Run`: one run of a simulation, as the back end that decides for its thread.
//!
//! # Steps
//!
//! All tasks run on one thread. The thread is always in one of these states:
//!
//! * it polls a task, from one point to the next one at which the task is preempted, waits or ends;
//! * it selects the task to poll next, among all that are ready;
//! * no task is ready, and the clock moves to the next timer or event of the network, or the run ends.
//!
//! So a run is a sequence of *steps*, and a step is the code of a task between two points. Between two steps of
//! one task any other ready tasks may take steps.
//!
//! # A run follows from its decisions
//!
//! Say that the code of the tasks is deterministic: it asks no clock but the runtime's, draws no random number
//! but by the runtime, and shares nothing with other threads. Then the run is a function of its decisions:
//!
//! 1. The list of ready tasks is the same in the scheduler (`task_loop.rs`) and here. Both add a task at the end
//!    when it becomes ready, and both remove the task that `next` returns.
//! 2. Numbers of alternatives, and the objects of operations, follow from that list and the steps so far: an object has
//!    the number of the task that has made or used it first, and of the object among those of this task.
//! 3. The clock does not move while a task is ready, unless a decision moves it, and moves to the next timer
//!    otherwise.
//! 4. A preempted task is polled again like a task that has woken itself: it is in the list, behind the tasks that
//!    were in it. So the index of the task that runs in its place, which `preempts` has decided, is still right in
//!    the following `next` (`preset`).
//!
//! A replay that takes the same decisions is therefore the same run, to its last step.
//!
//! # Nothing is left out
//!
//! Each order of steps is a sequence of decisions. `next` may return any ready task. A point lets the current task
//! go on (0), or another one run first; after that the preempted task is one of the ready ones. A point with no
//! other ready task has one alternative, and decides nothing. Each operation is a point, once: also the first one after a
//! task has begun or gone on (`coop.rs`).
//!
//! This holds without hosts. A task of a paused host has no step until the host is resumed. A task of a crashed host
//! only drops its future, before any other step.
//!
//! # A deadlock is certain
//!
//! `idle` is called if no task is ready. A task becomes ready by a step of another task, by a timer, by an event of the
//! network, or by another thread. Without timers, events and other threads no step follows, so no wait ends. What a simulation does not see
//! are threads that the program starts itself: they are no part of it (`mod.rs`).
//!
//! Some of the tasks may wait for each other while others go on. So the waits are judged as by `blitz why` when no task is ready:
//! nothing runs then, and one snapshot is as good as two. A certain finding is a failure (`judge_waits`).
//!
//! # The end
//!
//! After the test's own task has ended, the other tasks run until none is ready. The clock does not move. So a task
//! that was about to end does so, and one that would wait is left: it has leaked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use blitz_io_inspect::OwnStack;
use blitz_io_observe::decisions::{Decider, Idle, Next, Note, WORKERS, number_of_child};
use blitz_io_observe::{Kind, trace};
use blitz_io_runtime::internals::abort_tasks;

use super::clock::Clock;
use super::events::{Decided, End, PANICS, Shown, Step, Steps, TEST, THE_TEST, name_in_run};
use super::failure::{Cause, MOST};
use super::fault_counts::FaultCounts;
use super::members::{Member, Standing};
#[cfg(feature = "net")]
use super::members::{Members, Named};
use super::network;
#[cfg(feature = "net")]
use super::notes::Fault;
use super::notes::{Moment, Notes};
use super::panics;
use super::properties::Properties;
use super::schedule::{Chooser, What};
use super::state::{Lists, NONE, State};
use super::system::{System, Waiting};
use super::trace::Trace;
use super::waits::{self, AtFailure, Explained};
use crate::task::spawn_local;

/// What limits a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Number of steps.
    pub(super) steps: u64,
    /// Simulated time.
    pub(super) time: Duration,
    /// The clock may move although a task is ready.
    pub(super) early_timers: bool,
    /// A task that panics does not fail the run.
    pub(super) panics_are_allowed: bool,
    /// The last steps are kept, for a report.
    pub(super) explains: bool,
    /// The events in that report.
    pub(super) shown: Shown,
    /// The events are kept for a comparison with another run, even of a run that passes.
    pub(super) compares: bool,
}

/// One run; see the module documentation.
pub(super) struct Run {
    limits: Limits,
    seed: Option<u64>,
    state: RefCell<State>,
    properties: Rc<Properties>,
    /// The clock has moved to a moment at which timers and the network are due, and the network comes first.
    network_first: Cell<bool>,
    /// A decision moves the clock to the next timer although a task is ready.
    moves_early: Cell<bool>,
    /// The moment of that decision, until the next task is ready.
    early_timer: Cell<Option<Moment>>,
    /// The run is over. The future of `block_on` is ready then.
    over: Cell<bool>,
    /// The reason why it has failed: the first one.
    cause: RefCell<Option<Cause>>,
    /// The test's own task has ended.
    main_ended: Cell<bool>,
    /// A timer was left when no task was ready any more.
    timer_left: Cell<bool>,
    /// The run ended without a ready task, a timer and an event of the network: nothing could go on.
    is_finished: Cell<bool>,
    /// The number in the run of the task that has failed.
    culprit: Cell<Option<u64>>,
    faults: RefCell<FaultCounts>,
    /// The last step of the test's own task.
    own_step: Cell<Moment>,
    notes: RefCell<Notes>,
    steps: Cell<u64>,
    /// Number of times that no task was ready.
    idles: Cell<u64>,
    time: Cell<Duration>,
    system: System,
}

/// The parts of a run that outlive it.
pub(super) struct Ended {
    pub(super) chooser: Chooser,
    pub(super) lists: Lists,
    pub(super) last_steps: Steps,
}

impl Run {
    /// `lists` are empty. `seed`: for messages.
    pub(super) fn new(
        limits: Limits,
        chooser: Chooser,
        (entropy, seed): (u32, Option<u64>),
        lists: Lists,
    ) -> Rc<Self> {
        Rc::new(Self {
            limits,
            seed,
            state: RefCell::new(State::new(chooser, lists)),
            properties: Rc::default(),
            network_first: Cell::new(false),
            moves_early: Cell::new(false),
            early_timer: Cell::new(None),
            over: Cell::new(false),
            cause: RefCell::new(None),
            main_ended: Cell::new(false),
            timer_left: Cell::new(false),
            is_finished: Cell::new(false),
            culprit: Cell::new(None),
            faults: RefCell::default(),
            own_step: Cell::default(),
            notes: RefCell::default(),
            steps: Cell::new(0),
            idles: Cell::new(0),
            time: Cell::new(Duration::ZERO),
            system: System::new(entropy),
        })
    }

    /// Returns what answers for the system.
    pub(super) fn system(&self) -> &System {
        &self.system
    }

    /// Returns the host of the current code; `None` while the run is busy.
    pub(super) fn try_host(&self) -> Option<u32> {
        Some(self.state.try_borrow().ok()?.member.host)
    }

    /// Returns the clock of the current code's host; `None` while the run is busy.
    pub(super) fn try_clock(&self) -> Option<Clock> {
        let state = self.state.try_borrow().ok()?;
        Some(state.members.clock(state.member.host))
    }

    /// The current code has used up simulated time.
    pub(super) fn passed(&self, time: Duration) {
        self.time.set(self.time.get().saturating_add(time));
        if self.time.get() > self.limits.time {
            self.fail(Cause::Time(self.limits.time));
        }
    }

    pub(super) fn properties(&self) -> &Rc<Properties> {
        &self.properties
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Returns the simulated time since the run has begun.
    pub(super) fn time(&self) -> Duration {
        self.time.get()
    }

    pub(super) fn timer_left(&self) -> bool {
        self.timer_left.get()
    }

    /// Uses the hosts.
    #[cfg(feature = "net")]
    pub(super) fn with_members<R>(&self, with: impl FnOnce(&mut Members) -> R) -> R {
        let state = &mut *self.state.borrow_mut();
        state.chooser.hosts_change();
        with(&mut state.members)
    }

    /// Returns a host in reports; `None` for the test.
    #[cfg(feature = "net")]
    pub(super) fn named(&self, host: u32) -> Option<Named> {
        self.state.borrow().members.named(host)
    }

    /// Returns the host on which the current code runs.
    #[cfg(feature = "net")]
    pub(super) fn member(&self) -> Member {
        self.state.borrow().member
    }

    /// Ends the tasks of hosts whose lives have ended.
    pub(super) fn abort_gone(&self) {
        abort_tasks(&|task| self.state.borrow().is_gone(task));
    }

    /// The code that runs now is a host's: the tasks that it spawns are. Returns the host whose it was.
    #[cfg(feature = "net")]
    pub(super) fn enter_host(&self, member: Member) -> Member {
        std::mem::replace(&mut self.state.borrow_mut().member, member)
    }

    /// Assigns the decisions from now on to this fault of `Faults`.
    #[cfg(feature = "net")]
    pub(super) fn set_fault(&self, fault: Option<u32>) {
        self.state.borrow_mut().fault = fault;
    }

    /// Returns the fault of `Faults` that the current code decides.
    #[cfg(feature = "net")]
    pub(super) fn fault(&self) -> Option<u32> {
        self.state.borrow().fault
    }

    /// A fault begins.
    #[cfg(feature = "net")]
    pub(super) fn count_fault(&self, fault: Fault) {
        self.faults.borrow_mut().add(fault);
    }

    /// Returns the number of faults so far.
    pub(super) fn take_faults(&self) -> FaultCounts {
        self.faults.take()
    }

    /// The test's own task has ended, with this error if it has failed.
    pub(super) fn main_ended(&self, error: Option<String>) {
        self.main_ended.set(true);
        if let Some(error) = error {
            self.fail(Cause::Error(error));
        }
    }

    /// The run has failed. Only the first reason counts.
    #[cold]
    pub(super) fn fail(&self, cause: Cause) {
        self.over.set(true);
        let mut first = self.cause.borrow_mut();
        if first.is_none() {
            self.culprit.set(self.culprit(&cause));
            *first = Some(cause);
        }
    }

    /// Returns the task that has failed.
    fn culprit(&self, cause: &Cause) -> Option<u64> {
        let state = self.state.borrow();
        match cause {
            Cause::Panic(_) | Cause::Error(_) | Cause::HostError { .. }
                if state.current != NONE =>
            {
                Some(u64::from(state.current) + 1)
            }
            // It is judged after each step.
            Cause::Always { .. } => state.last_steps.tasks().next(),
            _ => None,
        }
    }

    /// Returns the task that blocks the thread now, and its number in the process if it is a task; `None` while the run is busy.
    #[allow(dead_code, reason = "where nothing of the system is taken over")]
    pub(super) fn waiting(&self, is_hopeless: bool) -> Option<(Waiting, Option<u64>)> {
        let state = self.state.try_borrow().ok()?;
        let trace = Trace::of(&state.lists.decisions, self.system.used_entropy());
        let waiting = Waiting {
            test: std::thread::current().name().map(str::to_owned),
            seed: self.seed,
            trace: (trace.len() <= MOST).then(|| trace.to_string()),
            task: (state.current != NONE).then(|| u64::from(state.current) + 1),
            stack: OwnStack::take(),
            is_hopeless,
        };
        Some((waiting, state.current_number()))
    }

    /// Returns this moment: that of the current step, or of the next one.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            step: self.steps.get() + 1,
            at: self.time.get(),
        }
    }

    /// Returns the number in the run of the task that is being polled.
    pub(super) fn current_task(&self) -> Option<u64> {
        let current = self.state.try_borrow().ok()?.current;
        (current != NONE).then(|| u64::from(current) + 1)
    }

    /// Returns the name of the task with this number in the run.
    pub(super) fn name_of_task(&self, task: u64) -> Option<String> {
        let (state, notes) = (self.state.try_borrow().ok()?, self.notes.try_borrow().ok()?);
        let number = state.lists.tasks.get(task.checked_sub(1)? as usize);
        let of_program = number.and_then(|&number| notes.name_of(number));
        let name = of_program.or((task == TEST).then_some(THE_TEST));
        Some(name_in_run(task, state.members.name_of_host(task), name))
    }

    /// Adds to the notes, if the run is explained.
    pub(super) fn with_notes(&self, with: impl FnOnce(&mut Notes, Moment)) {
        if self.limits.explains {
            with(&mut self.notes.borrow_mut(), self.moment());
        }
    }

    /// The current task has panicked.
    fn note_panic(&self) {
        if self.limits.explains {
            self.note_of_task(None, format!("{PANICS}{}", panics::first_line()));
        }
    }

    /// A step of the current task begins, for a report.
    #[cold]
    fn begin_step(&self, state: &mut State) {
        let number = Notes::step();
        let index = state.current as usize;
        if index == 0 {
            self.own_step.set(self.moment());
        }
        if let Some(&task) = state.lists.tasks.get(index) {
            trace::noted(task, number, None);
        }
        state.last_steps.begin(Step {
            number,
            moment: self.moment(),
            task: index as u64 + 1,
            end: match state.members.standing(state.current) {
                Standing::Gone => End::WithHost,
                _ => End::Pause,
            },
        });
    }

    /// The task at this index among the ready ones runs next, perhaps not the first one.
    #[cold]
    fn note_choice(&self, state: &mut State, index: usize) {
        let first = state.index(0);
        let ready = &state.lists.ready;
        if let (true, Some(&chosen), Some(&first)) =
            (index != first, ready.get(index), ready.get(first))
        {
            self.note_decision(&mut state.last_steps, (chosen, first), false);
        }
    }

    /// A decision is not the plain one: a task runs instead of another one.
    fn note_decision(&self, steps: &mut Steps, (chosen, instead): (u32, u32), preempts: bool) {
        steps.decided(Decided {
            moment: self.moment(),
            chosen: u64::from(chosen) + 1,
            instead: u64::from(instead) + 1,
            preempts,
        });
    }

    /// The order of the run differs from the plain one in this way, which is not a task that runs instead of another one.
    #[cold]
    fn note_order(&self, text: impl FnOnce() -> String) {
        let drawn = &mut self.notes.borrow_mut().drawn;
        drawn.add(self.moment(), None, text);
    }

    /// A timer has fired early, if a decision has moved the clock. `woken`: the first task that has become ready by that.
    #[inline]
    fn note_early_timer(&self, state: &mut State, woken: Option<u32>) {
        if self.limits.explains {
            if let Some(moment) = self.early_timer.take() {
                self.add_early_timer(state, moment, woken);
            }
        }
    }

    #[cold]
    fn add_early_timer(&self, state: &mut State, moment: Moment, woken: Option<u32>) {
        let whose = woken.map_or(String::new(), |task| format!(" of task {}", task + 1));
        // Without one, all hosts with ready tasks are paused.
        let ready = (state.find_runnable() > 0).then(|| state.lists.ready[state.index(0)]);
        let although = ready.map_or(String::new(), |task| {
            format!(" although task {} is ready", task + 1)
        });
        let drawn = &mut self.notes.borrow_mut().drawn;
        drawn.add(moment, None, || format!("a timer{whose} fires{although}"));
    }

    /// The current code has drawn a random number that is not the harmless one.
    #[cold]
    fn note_drawn(&self, state: &State, does: impl FnOnce() -> String) {
        let task = state.current.checked_add(1);
        let text = || match task {
            Some(task) => format!("task {task} {}", does()),
            None => format!("the simulation {}", does()),
        };
        let drawn = &mut self.notes.borrow_mut().drawn;
        drawn.add(self.moment(), state.fault, text);
    }

    /// The current task, or the child that it polls, has done this.
    fn note_of_task(&self, of: Option<Kind>, text: String) {
        let task = self.state.borrow().current_number();
        if let Some(task) = task {
            trace::noted(task, self.notes.borrow_mut().keep(text), of);
        }
    }

    pub(super) fn take_cause(&self) -> Option<Cause> {
        self.cause.borrow_mut().take()
    }

    /// Returns a failure if some of the tasks certainly wait for each other for ever.
    pub(super) fn certain(&self) -> Option<Cause> {
        let state = self.state.borrow();
        waits::certain(&state.lists.tasks, &state.members)
    }

    /// Explains the failure of the run, after [`end`](Self::end) with these parts. `lasting`: the faults that have not ended.
    pub(super) fn explain(
        &self,
        tasks: &[u64],
        last_steps: &Steps,
        lasting: &[String],
    ) -> Explained {
        waits::explain(&AtFailure {
            tasks,
            members: &self.state.borrow().members,
            last_steps,
            notes: &self.notes.borrow(),
            culprit: self.culprit.get(),
            now: self.time.get(),
            own_step: (!self.main_ended.get()).then(|| self.own_step.get()),
            lasting,
            shown: self.limits.shown,
            is_finished: self.is_finished.get(),
            compares: self.limits.compares,
            panics_are_allowed: self.limits.panics_are_allowed,
        })
    }

    #[cfg(feature = "net")]
    pub(super) fn has_main_ended(&self) -> bool {
        self.main_ended.get()
    }

    /// Takes the parts that outlive the run, which is over.
    pub(super) fn end(&self) -> Ended {
        let mut state = self.state.borrow_mut();
        Ended {
            chooser: std::mem::replace(&mut state.chooser, Chooser::First),
            lists: std::mem::take(&mut state.lists),
            last_steps: std::mem::take(&mut state.last_steps),
        }
    }

    /// One more step, or a move of the clock, which is counted so that a run that only waits ends.
    #[inline]
    fn count(&self) {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() >= self.limits.steps {
            self.fail(Cause::Steps(self.limits.steps));
        }
        if let Some(cause) = self.system.failure() {
            self.fail(cause);
        }
    }

    /// Fails if some of the tasks certainly wait for each other for ever, although others go on. They will still do so
    /// later: so the judgement, which reads all records, comes the more rarely the longer the run is.
    fn judge_waits(&self) {
        self.idles.set(self.idles.get() + 1);
        if !self.idles.get().is_power_of_two() {
            return;
        }
        if let Some(cause) = self.certain() {
            self.fail(cause);
        }
    }

    /// Decides whether the network delivers before the timers that are due at the same moment.
    fn is_network_first(&self) -> bool {
        let is_first = self.state.borrow_mut().decide(What::Network, 2) == 1;
        if self.limits.explains && is_first {
            self.note_order(|| "a packet arrives before a timer that is due, too".to_owned());
        }
        is_first
    }

    /// Lets the network deliver what is due, unless a timer is due as well and comes first.
    fn deliver(&self, is_timer_due: bool) -> Idle {
        let is_first = self.network_first.take() || is_timer_due && self.is_network_first();
        if is_timer_due && !is_first {
            return Idle::By(Duration::ZERO);
        }
        network::deliver();
        if is_timer_due {
            Idle::Hold(Duration::ZERO)
        } else {
            Idle::By(Duration::ZERO)
        }
    }

    /// Returns by how much of this time the clock may move at once: until the next deadline of a property, which is judged
    /// then. Fails if one is now.
    fn until_deadline(&self, after: Duration) -> Duration {
        if after.is_zero() || !self.properties.is_any() {
            return after;
        }
        match self.properties.judge_deadlines() {
            Ok(deadline) => deadline.map_or(after, |until| until.min(after)),
            Err(cause) => {
                self.fail(cause);
                after
            }
        }
    }

    fn check_properties(&self) {
        if let Err(cause) = self.properties.check() {
            self.fail(cause);
        }
    }
}

impl Decider for Run {
    #[inline]
    fn ready(&self, task: u64) {
        let state = &mut *self.state.borrow_mut();
        let task = state.index_of(task);
        self.note_early_timer(state, Some(task));
        state.lists.ready.push(task);
        state.members.is_ready(task, state.member);
        let yields = task == state.current && state.preset.is_none();
        state.chooser.ready(task, yields);
    }

    #[inline]
    fn next(&self, has_timer: bool) -> Next {
        let state = &mut *self.state.borrow_mut();
        self.note_early_timer(state, None);
        let index = match state.preset.take() {
            Some(index) => index,
            None => {
                if self.limits.early_timers && self.over.get() {
                    // The move of the clock has shown that a property does not hold.
                    return Next::Idle;
                }
                let may_move = has_timer && self.limits.early_timers;
                if may_move && state.decide(What::Timer, 2) == 1 {
                    self.moves_early.set(true);
                    self.early_timer.set(Some(self.moment()));
                    return Next::Advance;
                }
                match state.select() {
                    Some(index) => {
                        if self.limits.explains {
                            self.note_choice(state, index);
                        }
                        index
                    }
                    None => return Next::Idle,
                }
            }
        };
        state.current = state.lists.ready.remove(index);
        state.worker = None;
        state.member = state.members.of(state.current);
        if self.limits.explains {
            self.begin_step(state);
        }
        Next::Task(index)
    }

    #[inline]
    fn unfinished(&self) -> u32 {
        let state = self.state.borrow();
        let known = state.lists.unfinished.get(state.current as usize);
        known.copied().unwrap_or(0)
    }

    #[inline]
    fn preempts(&self, object: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        if state.current == NONE {
            // The function that makes the test's future may poll a future of its own.
            return false;
        }
        state.chooser.operates(state.current, object);
        if state.members.has_stopped() && state.must_stop() {
            return true;
        }
        let of = state.find_runnable() + 1;
        let choice = state.decide(What::Point, of);
        state.preset = choice.checked_sub(1).map(|choice| state.index(choice));
        if self.limits.explains && choice != 0 {
            state.last_steps.preempted();
            let chosen = state.preset.and_then(|index| state.lists.ready.get(index));
            if let Some(&chosen) = chosen {
                self.note_decision(&mut state.last_steps, (chosen, state.current), true);
            }
        }
        choice != 0
    }

    fn passes_to_sibling(&self, child: u64) -> bool {
        let state = &mut *self.state.borrow_mut();
        let passes = state.decide(What::Value, 2) == 1;
        if self.limits.explains && passes {
            let child = number_of_child(child).unwrap_or(child);
            self.note_order(|| format!("another child of the scope preempts child {child}"));
            state.last_steps.preempted();
        }
        passes
    }

    #[inline]
    fn polled(&self, last: u32, unfinished: u32, has_ended: bool) -> bool {
        self.system.step();
        let has_orphans = {
            let state = &mut *self.state.borrow_mut();
            if self.limits.explains && has_ended {
                state.last_steps.task_ended();
            }
            let task = std::mem::replace(&mut state.current, NONE);
            state.member = Member::TEST;
            if task != NONE {
                state.keep_unfinished(task, unfinished);
                if has_ended {
                    state.members.task_ended(task);
                }
            }
            // A task that was preempted has not begun its last operation.
            if last != 0 && task != NONE && state.preset.is_none() {
                state.chooser.stops_at(task, last);
            }
            state.members.take_orphans()
        };
        // Without the borrow: a predicate may wake a task.
        if has_orphans {
            self.abort_gone();
        }
        self.count();
        if self.properties.is_any() {
            self.check_properties();
        }
        self.over.get()
    }

    fn object(&self) -> u32 {
        let state = &mut *self.state.borrow_mut();
        let task = state.current.wrapping_add(1);
        let index = task as usize;
        if index >= state.lists.made.len() {
            state.lists.made.resize(index + 1, 0);
        }
        state.lists.made[index] += 1;
        // The task, and which of its objects this is: so most objects have the same number in each run.
        (task << 16 ^ state.lists.made[index]).max(1)
    }

    fn idle(&self, timer: Option<Duration>) -> Idle {
        self.count();
        self.moves_early.set(false);
        let event = network::next_due();
        if self.main_ended.get() {
            self.timer_left.set(timer.is_some());
            self.is_finished.set(timer.is_none() && event.is_none());
            self.over.set(true);
        }
        if self.over.get() {
            return Idle::Stop;
        }
        let is_now = |due: Option<Duration>| due.is_some_and(|after| after.is_zero());
        if is_now(event) {
            return self.deliver(is_now(timer));
        }
        let next = match (timer, event) {
            (Some(timer), Some(event)) => Some(timer.min(event)),
            (one, other) => one.or(other),
        };
        let next = next.map(|after| self.until_deadline(after));
        if self.over.get() {
            return Idle::Stop;
        }
        match next {
            Some(after) => self.time.set(self.time.get() + after),
            None => {
                self.is_finished.set(true);
                self.fail(Cause::Deadlock);
            }
        }
        if self.time.get() > self.limits.time {
            self.fail(Cause::Time(self.limits.time));
        }
        if !self.over.get() {
            self.judge_waits();
        }
        match next {
            Some(after) if !self.over.get() => {
                let are_both = timer == next && event == next;
                self.network_first.set(are_both && self.is_network_first());
                if self.network_first.get() {
                    Idle::Hold(after)
                } else {
                    Idle::By(after)
                }
            }
            _ => Idle::Stop,
        }
    }

    fn random(&self, below: u32) -> u32 {
        let state = &mut *self.state.borrow_mut();
        let number = state.decide(What::Value, below as usize) as u32;
        if self.limits.explains && number != 0 {
            self.note_drawn(state, || format!("draws {number}, a number below {below}"));
        }
        number
    }

    fn advanced(&self, by: Duration) {
        // `idle` counts its own moves.
        if self.moves_early.take() {
            self.passed(by);
            // A deadline may be between the two moments.
            if self.properties.is_any() {
                self.check_properties();
            }
        }
        self.system.advanced(by);
    }

    fn worker(&self) -> u32 {
        let state = &mut *self.state.borrow_mut();
        let known = state.worker;
        known.unwrap_or_else(|| {
            let number = state.decide(What::Worker, WORKERS as usize) as u32;
            if self.limits.explains && number != 0 {
                self.note_drawn(state, || format!("runs on worker {number}, not on 0"));
            }
            *state.worker.insert(number)
        })
    }

    fn job(&self, of: u32) -> u32 {
        let state = &mut *self.state.borrow_mut();
        let choice = state.decide(What::Job, of as usize) as u32;
        if self.limits.explains && choice != 0 {
            self.note_drawn(state, || "runs a job of the fork-join pool".to_owned());
        }
        choice
    }

    fn run_later(&self, job: Box<dyn FnOnce()>) {
        drop(spawn_local(async move { job() }));
    }

    fn panicked(&self) {
        self.note_panic();
        // The test's own task, the first one, may not.
        let is_own = self.state.borrow().current == 0;
        if is_own || !self.limits.panics_are_allowed {
            self.fail(Cause::Panic(panics::last()));
        }
    }

    fn child_panicked(&self) {
        self.note_panic();
    }

    fn cancelled(&self, task: u64) {
        if !self.limits.explains {
            return;
        }
        // When the run is over, tasks are dropped without a step.
        if let Ok(mut state) = self.state.try_borrow_mut() {
            if state.current_number() == Some(task) {
                state.last_steps.task_aborted();
            }
        }
    }

    fn named(&self, task: u64, name: &str) {
        self.notes.borrow_mut().named(task, name);
    }

    fn number_of(&self, task: u64) -> Option<u64> {
        let state = self.state.try_borrow().ok()?;
        Some(state.position(task)? as u64 + 1)
    }

    fn explains(&self) -> bool {
        self.limits.explains
    }

    fn note(&self, note: Note) {
        match note {
            Note::Task(text) => self.note_of_task(None, text),
            Note::Operation(kind, text) => self.note_of_task(Some(kind), text),
            Note::Network(text) => self.notes.borrow_mut().packet(self.moment(), text),
            Note::Draws => self.notes.borrow_mut().drawn.open(),
            Note::Meaning(text) => self.notes.borrow_mut().drawn.close(text),
            Note::Reason(text) => {
                let mut notes = self.notes.borrow_mut();
                let number = match text {
                    Some(text) => notes.keep(text),
                    None => notes.no_reason(),
                };
                trace::wakes_because(number);
            }
        }
    }

    fn host(&self) -> u32 {
        self.state.borrow().member.host
    }

    fn to_host(&self, moment: Instant) -> Instant {
        let state = self.state.borrow();
        state.members.clock(state.member.host).to_host(moment)
    }

    fn when_host_shows(&self, moment: Instant) -> Instant {
        let state = self.state.borrow();
        state
            .members
            .clock(state.member.host)
            .when_host_shows(moment)
    }
}
