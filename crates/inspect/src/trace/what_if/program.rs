//! `Program`: what a thread or task of a recording did, as steps that can be done again in another time.
//!
//! 1. A time in which it ran, slept or waited for the world outside is a step that takes as long.
//! 2. A time in which it waited for a lock, a permit, a worker or a thread for blocking work is no step of its own: it
//!    follows from the steps of the others. Only its end is one: the time from the last moment at which all were in use,
//!    which is the time of the wake-up.
//! 3. A time in which it waited until another thread or task woke it ends with that step of the other one.
//!
//! Each dependence leads from an earlier moment of the recording to a later one, so that the recorded order is always
//! one in which all steps can be done.
//!
//! An answer needs its question. A channel records no send that found room. So a task that answers with a `oneshot`
//! begins its work on an answer when two things have happened: the asker waits, and the answer before is sent.

use std::collections::{BTreeSet, HashMap, HashSet};

use blitz_io_observe::Kind;

use super::level::Level;
use super::steps::{ALONE, Context, Object, Pool, Programs, Step};
use crate::snapshot::Waiter;
use crate::trace::cause::{Category, Cause};
use crate::trace::forgotten::Forgotten;
use crate::trace::lives::{Did, Life, Lives, Segment};
use crate::trace::processes::is_root;
use crate::trace::recording::{Ender, For, Recording, Target, What};
use crate::trace::split::Splitter;

/// Something that takes no time.
#[derive(Clone, Copy)]
enum Instant {
    Reach(usize),
    AwaitOutside(usize),
    Begin(usize),
    End(usize),
    Take {
        object: usize,
        need: u64,
        blocks: bool,
    },
    Give {
        object: usize,
        need: u64,
    },
}

/// Makes programs.
struct Maker<'a> {
    recording: &'a Recording,
    lives: &'a Lives,
    splitter: Splitter<'a>,
    instants: HashMap<Waiter, Vec<(u64, Instant)>>,
    /// The edge at the spawn of a task, and that at the end of a wait, by its task and moment.
    spawns: HashMap<Waiter, usize>,
    wakes: HashMap<(Waiter, u64), usize>,
    /// Tasks that workers poll.
    on_workers: HashSet<Waiter>,
    contexts: HashMap<Context, usize>,
    objects: HashMap<usize, Object>,
    levels: [Level; 2],
    /// Steps that take the time since a resource was last not to be had: actor, step, resource, and the wait.
    residues: Vec<(usize, usize, Scarce, u64, u64)>,
    made: Programs,
}

/// A resource of which there may be none.
#[derive(Clone, Copy)]
enum Scarce {
    Pool(Pool),
    Object(usize),
}

/// Returns the programs of a recording.
pub(super) fn programs(recording: &Recording, lives: &Lives) -> Programs {
    let mut maker = Maker {
        recording,
        lives,
        splitter: Splitter::new(recording, lives),
        instants: HashMap::new(),
        spawns: HashMap::new(),
        wakes: HashMap::new(),
        on_workers: HashSet::new(),
        contexts: HashMap::new(),
        objects: HashMap::new(),
        levels: [Level::default(), Level::default()],
        residues: vec![],
        made: Programs::default(),
    };
    maker.find_workers();
    maker.find_requests();
    maker.find_locks();
    maker.find_edges();
    maker.make_all();
    maker.made
}

impl Maker<'_> {
    /// Finds the threads that poll tasks other than those that run in a thread of their own.
    fn find_workers(&mut self) {
        let mut threads = HashSet::new();
        let mut polled = HashSet::new();
        for event in &self.recording.events {
            if let (What::Poll { thread }, Waiter::Task(id)) = (event.what, event.waiter) {
                polled.insert((event.waiter, thread));
                if !is_root(id) && !self.is_job(event.waiter) {
                    threads.insert(thread);
                }
            }
        }
        self.made.workers = threads.len() as u64;
        let on_workers = polled
            .into_iter()
            .filter(|(waiter, thread)| threads.contains(thread) && !self.is_job(*waiter));
        self.on_workers = on_workers.map(|(waiter, _)| waiter).collect();
    }

    fn is_job(&self, waiter: Waiter) -> bool {
        let spawn = self.lives.lives.get(&waiter).and_then(|life| life.spawn);
        spawn.is_some_and(|spawn| spawn.is_job)
    }

    fn pool(&self, waiter: Waiter) -> Option<Pool> {
        if self.is_job(waiter) {
            Some(Pool::Blocking)
        } else {
            let is_on = self.on_workers.contains(&waiter);
            is_on.then_some(Pool::Workers)
        }
    }

    fn note(&mut self, waiter: Waiter, at: u64, instant: Instant) {
        self.instants.entry(waiter).or_default().push((at, instant));
    }

    fn find_requests(&mut self) {
        let places: HashMap<u64, usize> = (self.lives.requests.iter().enumerate())
            .map(|(place, request)| (request.id, place))
            .collect();
        for event in &self.recording.events {
            let (id, instant): (_, fn(usize) -> Instant) = match event.what {
                What::Request { id, .. } => (id, Instant::Begin),
                What::RequestEnd { id } => (id, Instant::End),
                _ => continue,
            };
            if let Some(&place) = places.get(&id) {
                self.note(event.waiter, event.at, instant(place));
            }
        }
    }

    /// Notes when locks and permits were taken and given back, and by whom.
    fn find_locks(&mut self) {
        // What each has that has not given it back.
        let mut open: HashMap<usize, Vec<(Waiter, u64)>> = HashMap::new();
        let mut forgotten = Forgotten::default();
        for event in &self.recording.events {
            let waiter = event.waiter;
            let (object, instant) = match event.what {
                What::Acquired {
                    object,
                    kind,
                    location,
                } => {
                    let (known, _) = self.recording.kind(kind);
                    let need = if is_shared(known) { 1 } else { ALONE };
                    open.entry(object).or_default().push((waiter, need));
                    self.know(object, kind, location, false);
                    let blocks = is_of_threads(known);
                    (
                        object,
                        Instant::Take {
                            object,
                            need,
                            blocks,
                        },
                    )
                }
                What::Permits {
                    object,
                    count,
                    location,
                } => {
                    self.know_semaphore(object, location);
                    let blocks = false;
                    let need = count.into();
                    (
                        object,
                        Instant::Take {
                            object,
                            need,
                            blocks,
                        },
                    )
                }
                What::Released { object } => {
                    let Some(all) = open.get_mut(&object) else {
                        continue;
                    };
                    // A guard may have moved to another task.
                    let own = all.iter().rposition(|(holder, _)| *holder == waiter);
                    let Some(place) = own.or(all.len().checked_sub(1)) else {
                        continue;
                    };
                    let (_, need) = all.remove(place);
                    (object, Instant::Give { object, need })
                }
                What::PermitsBack { object, count } => {
                    let need = count.into();
                    (object, Instant::Give { object, need })
                }
                What::PermitsForgotten { object, count } => {
                    forgotten.forget(object, count);
                    continue;
                }
                What::PermitsAdded { object, count } => {
                    let need = forgotten.added(object, count);
                    if need == 0 {
                        continue;
                    }
                    (object, Instant::Give { object, need })
                }
                _ => continue,
            };
            if let Instant::Give { need, .. } = instant {
                let level = &mut self.objects.entry(object).or_default().level;
                level.note(event.at, -(need as i64));
            }
            self.note(waiter, event.at, instant);
        }
    }

    fn know(&mut self, object: usize, kind: u8, location: usize, is_semaphore: bool) {
        let target = Target::Object(object);
        let wait = For {
            kind,
            target,
            location,
        };
        let known = self.objects.entry(object).or_default();
        known.is_semaphore |= is_semaphore;
        known.causes.insert(Cause::of_wait(self.recording, wait));
    }

    fn know_semaphore(&mut self, object: usize, location: usize) {
        let kinds = self.recording.kinds.iter();
        let kind = kinds
            .clone()
            .position(|name| name == Kind::Semaphore.name());
        let kind = kind
            .and_then(|kind| u8::try_from(kind).ok())
            .unwrap_or(u8::MAX);
        self.know(object, kind, location, true);
    }

    /// Makes an edge from a moment of one thread or task to one of another.
    fn edge(&mut self, from: Waiter, at: u64) -> usize {
        let edge = self.made.edges.len();
        self.made.edges.push(at);
        self.note(from, at, Instant::Reach(edge));
        edge
    }

    /// Makes the edges of spawns, wake-ups and answers.
    fn find_edges(&mut self) {
        let lives = self.lives;
        let mut all: Vec<_> = lives.lives.iter().collect();
        all.sort_by_key(|(waiter, _)| **waiter);
        // The answers of each task: their moments, and who waited from when on.
        let mut answers: HashMap<Waiter, Vec<(u64, Waiter, u64)>> = HashMap::new();
        for (&waiter, life) in all {
            if let Some(spawn) = life
                .spawn
                .filter(|spawn| lives.lives.contains_key(&spawn.parent))
            {
                let edge = self.edge(spawn.parent, spawn.at);
                self.spawns.insert(waiter, edge);
            }
            for segment in &life.segments {
                let Did::Wait(wait, ender) = segment.did else {
                    continue;
                };
                let Ender::Waiter(by) = self.splitter.resolve(ender, segment.to) else {
                    continue;
                };
                if by == waiter || !lives.lives.contains_key(&by) {
                    continue;
                }
                let edge = self.edge(by, segment.to);
                self.wakes.insert((waiter, segment.to), edge);
                let kind = wait.and_then(|wait| self.recording.kind(wait.kind).0);
                if kind == Some(Kind::OneshotReceive) {
                    let of = answers.entry(by).or_default();
                    of.push((segment.to, waiter, segment.from));
                }
            }
        }
        let mut all: Vec<_> = answers.into_iter().collect();
        all.sort_unstable_by_key(|(by, _)| *by);
        for (by, mut answers) in all {
            answers.sort_unstable();
            for pair in answers.windows(2) {
                let (before, (_, asker, since)) = (pair[0].0, pair[1]);
                if since <= before {
                    let edge = self.edge(asker, since);
                    self.note(by, before, Instant::AwaitOutside(edge));
                }
            }
        }
    }

    fn context(&mut self, cause: Cause, held: &BTreeSet<usize>) -> usize {
        let context = Context {
            cause,
            held: held.clone(),
        };
        let contexts = &mut self.made.contexts;
        *self.contexts.entry(context).or_insert_with_key(|context| {
            contexts.push(context.clone());
            contexts.len() - 1
        })
    }

    fn make_all(&mut self) {
        let lives = self.lives;
        let begin = self.recording.events.first().map_or(0, |event| event.at);
        let first = |life: &Life| life.segments.first().map_or(begin, |first| first.from);
        let mut all: Vec<(&Waiter, &Life)> = lives.lives.iter().collect();
        all.sort_by_key(|(waiter, life)| (first(life), **waiter));
        for (actor, (&waiter, life)) in all.into_iter().enumerate() {
            let mut instants = self.instants.remove(&waiter).unwrap_or_default();
            // A stable sort: those of one moment stay in their order.
            instants.sort_by_key(|(at, _)| *at);
            let mut writer = Writer {
                pool: self.pool(waiter),
                maker: self,
                waiter,
                actor,
                steps: vec![],
                held: BTreeSet::new(),
                state: State::Outside,
                pending: None,
            };
            writer.begin(first(life) - begin);
            let mut rest = &instants[..];
            for segment in &life.segments {
                rest = writer.segment(segment, rest);
            }
            writer.instants(rest, u64::MAX);
            writer.leave(life.segments.last().map_or(begin, |last| last.to));
            let steps = writer.steps;
            self.made.actors.push(steps);
        }
        self.settle();
    }

    /// Fills in the steps whose time depends on what all others have done.
    fn settle(&mut self) {
        let [workers, blocking] = &mut self.levels;
        workers.settle(Some(self.made.workers.max(1)));
        blocking.settle(None);
        self.made.blocking = blocking.most();
        for object in self.objects.values_mut() {
            let capacity = (!object.is_semaphore).then_some(ALONE);
            object.level.settle(capacity);
        }
        for &(actor, step, scarce, from, to) in &self.residues {
            let level = match scarce {
                Scarce::Pool(pool) => &self.levels[pool as usize],
                Scarce::Object(object) => match self.objects.get(&object) {
                    Some(object) => &object.level,
                    None => continue,
                },
            };
            if let Step::Time { nanos, .. } = &mut self.made.actors[actor][step] {
                *nanos = level.free_before(from, to);
            }
        }
        self.made.objects = std::mem::take(&mut self.objects);
    }
}

/// The relation of a thread or task to the threads that run it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    /// The step with which it needs a thread is written.
    Queued,
    /// A thread runs it.
    Inside,
}

/// Writes the steps of one thread or task.
struct Writer<'m, 'a> {
    maker: &'m mut Maker<'a>,
    waiter: Waiter,
    actor: usize,
    /// The threads that run it; `None` if it has its own.
    pool: Option<Pool>,
    steps: Vec<Step>,
    held: BTreeSet<usize>,
    state: State,
    /// It has waited for a lock or a permit, and not taken it yet: the object, the step, and the time of the wait.
    pending: Option<(usize, usize, u64, u64)>,
}

impl Writer<'_, '_> {
    fn time(&mut self, nanos: u64, cause: Cause) {
        if nanos != 0 {
            let context = self.maker.context(cause, &self.held);
            self.steps.push(Step::Time { nanos, context });
        }
    }

    /// Adds the time since a resource was last not to be had.
    fn residue(&mut self, scarce: Scarce, from: u64, to: u64) {
        let cause = self
            .maker
            .splitter
            .cause_here(Category::Runnable, self.waiter);
        let context = self.maker.context(cause, &BTreeSet::new());
        let place = (self.actor, self.steps.len(), scarce, from, to);
        self.maker.residues.push(place);
        self.steps.push(Step::Time { nanos: 0, context });
    }

    fn begin(&mut self, after: u64) {
        match self.maker.spawns.get(&self.waiter) {
            Some(&edge) => self.steps.push(Step::Await(edge)),
            None => {
                let cause = Cause::of(Category::Other, 0);
                let context = self.maker.context(cause, &BTreeSet::new());
                self.steps.push(Step::Time {
                    nanos: after,
                    context,
                });
            }
        }
    }

    fn enter(&mut self, at: u64) {
        let Some(pool) = self.pool.filter(|_| self.state != State::Inside) else {
            return;
        };
        if self.state == State::Outside {
            self.steps.push(Step::Enter(pool));
        }
        self.state = State::Inside;
        self.maker.levels[pool as usize].note(at, 1);
    }

    fn leave(&mut self, at: u64) {
        let Some(pool) = self.pool.filter(|_| self.state != State::Outside) else {
            return;
        };
        self.steps.push(Step::Leave);
        if self.state == State::Inside {
            self.maker.levels[pool as usize].note(at, -1);
        }
        self.state = State::Outside;
    }

    /// Writes a segment, and returns the instants that come after it.
    fn segment<'i>(
        &mut self,
        segment: &Segment,
        instants: &'i [(u64, Instant)],
    ) -> &'i [(u64, Instant)] {
        let Segment { from, to, did, .. } = *segment;
        let is_inside = matches!(did, Did::Run) || segment.in_poll;
        let rest = if is_inside {
            let rest = self.instants(instants, from);
            self.enter(from);
            rest
        } else {
            let rest = self.instants(instants, from.saturating_add(1));
            self.leave(from);
            rest
        };
        match did {
            Did::Run => return self.run(from, to, rest),
            Did::Ready | Did::Queue => {
                if let Some(pool) = self.pool {
                    self.steps.push(Step::Enter(pool));
                    self.state = State::Queued;
                    self.residue(Scarce::Pool(pool), from, to);
                } else {
                    let cause = Cause::of(Category::Runnable, 0);
                    self.time(to - from, cause);
                }
            }
            Did::Wait(wait, ender) => self.wait(segment, wait, ender),
        }
        rest
    }

    fn run<'i>(
        &mut self,
        from: u64,
        to: u64,
        instants: &'i [(u64, Instant)],
    ) -> &'i [(u64, Instant)] {
        let cause = self
            .maker
            .splitter
            .cause_here(Category::Running, self.waiter);
        let mut at = from;
        let mut rest = instants;
        while let [(next, _), ..] = rest {
            let next = *next;
            if next >= to {
                break;
            }
            self.time(next.max(at) - at, cause);
            at = at.max(next);
            rest = self.instants(rest, next.saturating_add(1));
        }
        self.time(to - at, cause);
        rest
    }

    fn wait(&mut self, segment: &Segment, wait: Option<For>, ender: Ender) {
        let Segment { from, to, .. } = *segment;
        let cause = self.maker.splitter.cause_of(self.waiter, wait, ender);
        let object = match wait.map(|wait| wait.target) {
            Some(Target::Object(object)) => Some(object),
            _ => None,
        };
        let is_scarce = matches!(cause.category, Category::Lock | Category::Permit);
        if let Some(object) = object.filter(|_| is_scarce) {
            self.maker.know_wait(object, cause);
            if let Some(pending) = self.pending.as_mut().filter(|pending| pending.0 == object) {
                // It was woken for something else, and waits on.
                pending.3 = to;
                return;
            }
            self.pending = Some((object, self.steps.len(), from, to));
        } else {
            self.pending = None;
        }
        match self.maker.wakes.get(&(self.waiter, to)) {
            Some(&edge) => self.steps.push(Step::Await(edge)),
            None => {
                let context = self.maker.context(cause, &self.held);
                let nanos = to - from;
                self.steps.push(Step::Time { nanos, context });
            }
        }
        if self
            .pending
            .is_some_and(|pending| pending.1 + 1 == self.steps.len())
        {
            // The place of the residue.
            let context = self.maker.context(cause, &BTreeSet::new());
            self.steps.push(Step::Time { nanos: 0, context });
        }
    }

    /// Writes the instants before `end`, and returns the others.
    fn instants<'i>(&mut self, instants: &'i [(u64, Instant)], end: u64) -> &'i [(u64, Instant)] {
        let count = instants.partition_point(|(at, _)| *at < end);
        for &(at, instant) in &instants[..count] {
            self.instant(at, instant);
        }
        &instants[count..]
    }

    fn instant(&mut self, at: u64, instant: Instant) {
        let step = match instant {
            Instant::Reach(edge) => Step::Reach(edge),
            Instant::AwaitOutside(edge) => Step::Await(edge),
            Instant::Begin(request) => Step::Begin(request),
            Instant::End(request) => Step::End(request),
            Instant::Take {
                object,
                need,
                blocks,
            } => return self.take(at, object, need, blocks),
            Instant::Give { object, need } => {
                self.held.remove(&object);
                Step::Give { object, need }
            }
        };
        self.steps.push(step);
    }

    fn take(&mut self, at: u64, object: usize, need: u64, blocks: bool) {
        self.held.insert(object);
        let take = Step::Take {
            object,
            need,
            blocks,
        };
        let pending = self.pending.take().filter(|pending| pending.0 == object);
        let since = match pending {
            Some((_, step, from, to)) => {
                // A lock that is handed over is taken when the wait ends, before the task is polled.
                self.steps[step] = take;
                let scarce = Scarce::Object(object);
                let residue = (self.actor, step + 1, scarce, from, to);
                self.maker.residues.push(residue);
                to
            }
            None => {
                self.steps.push(take);
                at
            }
        };
        let known = self.maker.objects.entry(object).or_default();
        known.level.note(since, need as i64);
    }
}

impl Maker<'_> {
    fn know_wait(&mut self, object: usize, cause: Cause) {
        let known = self.objects.entry(object).or_default();
        known.causes.insert(cause);
    }
}

fn is_shared(kind: Option<Kind>) -> bool {
    use blitz_io_observe::Mode;
    kind.is_some_and(|kind| matches!(kind.semantics().mode, Mode::Read | Mode::RecursiveRead))
}

/// Returns `true` if a wait for such an object keeps its thread.
fn is_of_threads(kind: Option<Kind>) -> bool {
    kind.is_some_and(|kind| kind.name().starts_with("thread::"))
}
