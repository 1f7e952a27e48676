//! The replay: all programs run again, with other capacities and other times.
//!
//! It is a simulation of discrete events. Workers, threads for blocking work, locks and semaphores are resources with a
//! capacity, and serve those that wait for them in the order in which they came. A thread or task that waits for a lock
//! of tasks, a permit or an edge leaves its worker; one that waits for a lock of threads keeps it.
//!
//! The order of those that take a lock may be another one than in the recording, and the event that ends a hold may be
//! lost. Then all may wait. The replay ends the wait that ended first in the recording, counts it, and continues.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use super::steps::{Pool, Programs, Step};

/// The capacities and the times of a replay.
pub(super) struct Setting<'a> {
    /// Threads, by [`Pool`].
    pub(super) threads: [u64; 2],
    /// The capacity of each lock and semaphore.
    pub(super) capacities: &'a HashMap<usize, u64>,
    /// The factor of each context.
    pub(super) factors: &'a [f64],
}

/// The result of a replay.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The moments at which requests began and ended; `None` if a request did not.
    pub(super) begins: Vec<Option<u64>>,
    pub(super) ends: Vec<Option<u64>>,
    /// Number of waits that were ended so that the replay went on.
    pub(super) forced: u64,
}

/// Something that some threads or tasks have, and others wait for.
struct Resource {
    capacity: u64,
    used: u64,
    /// Who waits, and for how much.
    queue: VecDeque<(usize, u64)>,
}

impl Resource {
    fn new(capacity: u64) -> Self {
        Self {
            capacity: capacity.max(1),
            used: 0,
            queue: VecDeque::new(),
        }
    }

    /// Takes a part if there is enough, and no other one waits.
    fn take(&mut self, need: u64) -> bool {
        let is_enough = self.queue.is_empty() && self.is_enough(need);
        if is_enough {
            self.used = self.used.saturating_add(need);
        }
        is_enough
    }

    /// More than there is cannot be had, so all of it will do.
    fn is_enough(&self, need: u64) -> bool {
        self.used.saturating_add(need) <= self.capacity || self.used == 0
    }

    /// Gives it back, and returns those that have theirs now.
    fn give(&mut self, need: u64) -> Vec<usize> {
        self.used = self.used.saturating_sub(need);
        let mut served = vec![];
        while let Some(&(actor, need)) = self.queue.front() {
            if !self.is_enough(need) {
                break;
            }
            self.queue.pop_front();
            self.used = self.used.saturating_add(need);
            served.push(actor);
        }
        served
    }
}

#[derive(Clone, Copy, Default)]
struct Actor {
    next: usize,
    /// The threads one of which runs it.
    inside: Option<Pool>,
    /// It has left these for a wait, and goes back.
    left: Option<Pool>,
}

/// An edge of the programs.
#[derive(Clone, Copy, Default)]
struct Edge {
    is_reached: bool,
    waits: Option<usize>,
}

struct Replay<'a> {
    programs: &'a Programs,
    setting: &'a Setting<'a>,
    now: u64,
    /// Moments, the order among equal ones, and those that go on then.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    order: u64,
    actors: Vec<Actor>,
    edges: Vec<Edge>,
    /// The edges that are awaited, with their recorded moments.
    awaited: BTreeSet<(u64, usize)>,
    pools: [Resource; 2],
    objects: HashMap<usize, Resource>,
    /// The objects for which others wait.
    contended: BTreeSet<usize>,
    outcome: Outcome,
}

/// Runs all programs.
pub(super) fn replay(programs: &Programs, requests: usize, setting: &Setting<'_>) -> Outcome {
    let mut replay = Replay {
        programs,
        setting,
        now: 0,
        due: BinaryHeap::new(),
        order: 0,
        actors: vec![Actor::default(); programs.actors.len()],
        edges: vec![Edge::default(); programs.edges.len()],
        awaited: BTreeSet::new(),
        pools: setting.threads.map(Resource::new),
        objects: HashMap::new(),
        contended: BTreeSet::new(),
        outcome: Outcome {
            begins: vec![None; requests],
            ends: vec![None; requests],
            forced: 0,
        },
    };
    for actor in 0..programs.actors.len() {
        replay.resume(actor, 0);
    }
    loop {
        while let Some(Reverse((at, _, actor))) = replay.due.pop() {
            replay.now = at;
            replay.run(actor);
        }
        if !replay.force() {
            return replay.outcome;
        }
    }
}

impl Replay<'_> {
    fn resume(&mut self, actor: usize, after: u64) {
        self.order += 1;
        let at = self.now.saturating_add(after);
        self.due.push(Reverse((at, self.order, actor)));
    }

    fn resume_all(&mut self, actors: Vec<usize>) {
        for actor in actors {
            self.resume(actor, 0);
        }
    }

    /// Does the steps of one until it has to wait.
    fn run(&mut self, actor: usize) {
        let programs = self.programs;
        if let Some(pool) = self.actors[actor].left.take() {
            if !self.enter(actor, pool) {
                return;
            }
        }
        while let Some(&step) = programs.actors[actor].get(self.actors[actor].next) {
            self.actors[actor].next += 1;
            let goes_on = match step {
                Step::Time { nanos, context } => {
                    let factor = self.setting.factors[context];
                    let nanos = (nanos as f64 * factor) as u64;
                    if nanos != 0 {
                        self.resume(actor, nanos);
                    }
                    nanos == 0
                }
                Step::Enter(pool) => self.enter(actor, pool),
                Step::Leave => {
                    self.leave(actor);
                    true
                }
                Step::Take {
                    object,
                    need,
                    blocks,
                } => self.take(actor, object, need, blocks),
                Step::Give { object, need } => {
                    self.give(object, need);
                    true
                }
                Step::Await(edge) => self.wait(actor, edge),
                Step::Reach(edge) => {
                    self.reach(edge);
                    true
                }
                Step::Begin(request) => {
                    self.outcome.begins[request].get_or_insert(self.now);
                    true
                }
                Step::End(request) => {
                    self.outcome.ends[request].get_or_insert(self.now);
                    true
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    fn enter(&mut self, actor: usize, pool: Pool) -> bool {
        if self.actors[actor].inside.is_some() {
            return true;
        }
        // An actor that returns its thread takes it for the first actor in the queue.
        self.actors[actor].inside = Some(pool);
        let threads = &mut self.pools[pool as usize];
        let is_free = threads.take(1);
        if !is_free {
            threads.queue.push_back((actor, 1));
        }
        is_free
    }

    fn leave(&mut self, actor: usize) {
        if let Some(pool) = self.actors[actor].inside.take() {
            let served = self.pools[pool as usize].give(1);
            self.resume_all(served);
        }
    }

    fn leave_for_now(&mut self, actor: usize) {
        let inside = self.actors[actor].inside;
        self.leave(actor);
        self.actors[actor].left = inside;
    }

    fn resource(&mut self, object: usize) -> &mut Resource {
        let capacities = self.setting.capacities;
        self.objects
            .entry(object)
            .or_insert_with(|| Resource::new(capacities.get(&object).copied().unwrap_or(u64::MAX)))
    }

    fn take(&mut self, actor: usize, object: usize, need: u64, blocks: bool) -> bool {
        let resource = self.resource(object);
        if resource.take(need) {
            return true;
        }
        resource.queue.push_back((actor, need));
        self.contended.insert(object);
        if !blocks {
            self.leave_for_now(actor);
        }
        false
    }

    fn give(&mut self, object: usize, need: u64) {
        let resource = self.resource(object);
        let served = resource.give(need);
        if resource.queue.is_empty() {
            self.contended.remove(&object);
        }
        self.resume_all(served);
    }

    fn wait(&mut self, actor: usize, edge: usize) -> bool {
        if self.edges[edge].is_reached {
            return true;
        }
        self.edges[edge].waits = Some(actor);
        self.awaited.insert((self.programs.edges[edge], edge));
        self.leave_for_now(actor);
        false
    }

    fn reach(&mut self, edge: usize) {
        let this = &mut self.edges[edge];
        this.is_reached = true;
        if let Some(actor) = this.waits.take() {
            self.awaited.remove(&(self.programs.edges[edge], edge));
            self.resume(actor, 0);
        }
    }

    /// Ends a wait although no step ends it. Returns `false` if there is none.
    fn force(&mut self) -> bool {
        if let Some(&(_, edge)) = self.awaited.first() {
            self.reach(edge);
        } else if let Some(&object) = self.contended.first() {
            let resource = self.resource(object);
            let first = resource.queue.pop_front();
            if resource.queue.is_empty() {
                self.contended.remove(&object);
            }
            if let Some((actor, need)) = first {
                let resource = self.resource(object);
                resource.used = resource.used.saturating_add(need);
                self.resume(actor, 0);
            }
        } else {
            return false;
        }
        self.outcome.forced += 1;
        true
    }
}
