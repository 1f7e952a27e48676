//! Pipelines: the time of a batch that is read in order, processed in parallel, and
//! written in order.
//!
//! Reading a batch is counting, and writing it is checking its position and adding to a
//! sum, so what remains is the work of the stage and the cost of the pipeline. `paraseq` is
//! no peer: its batches are records of FASTA and FASTQ files.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Mutex;
use std::thread;

use pariter::IteratorExt as _;
use rayon::iter::{ParallelBridge, ParallelIterator};

use crate::scenarios::prelude::*;
use crate::work::Work;

/// Threads that process batches.
const WORKERS: usize = 2;
/// Batches in flight, for contenders that have this setting.
const CAPACITY: usize = 4 * WORKERS;

/// The sink's record of the batches.
#[derive(Default)]
struct Sink {
    next: u64,
    in_order: u64,
    sum: u64,
}

impl Sink {
    fn write(&mut self, (batch, value): (u64, u64)) {
        self.in_order += u64::from(batch == self.next);
        self.next += 1;
        self.sum = self.sum.wrapping_mul(31).wrapping_add(value);
    }
}

/// The stage: some repetitions of a microsecond's work.
#[derive(Clone, Copy)]
struct Stage {
    microsecond: Work,
    times: u32,
}

impl Stage {
    fn run(self, batch: u64) -> (u64, u64) {
        for _ in 0..self.times {
            self.microsecond.run();
        }
        (batch, batch.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// Puts batches that arrive in any order into order.
#[derive(Default)]
struct Reorder {
    sink: Sink,
    waiting: BTreeMap<u64, (u64, u64)>,
}

impl Reorder {
    fn write(&mut self, batch: (u64, u64)) {
        self.waiting.insert(batch.0, batch);
        while let Some(batch) = self.waiting.remove(&self.sink.next) {
            self.sink.write(batch);
        }
    }
}

/// Runs a pipeline with the given number of batches.
type Run = fn(u64, Stage) -> Sink;

const PEERS: [(&str, Run); 4] = [
    (OURS, blitz),
    ("rayon", rayon),
    ("crossbeam", crossbeam),
    ("pariter", pariter),
];

fn blitz(batches: u64, stage: Stage) -> Sink {
    let mut sink = Sink::default();
    let Ok(_) = blitz_io_pipeline::iter::<_, Infallible>(0..batches)
        .map(|batch| stage.run(batch))
        .for_each(|batch| sink.write(batch))
        .workers(WORKERS)
        .capacity(CAPACITY)
        .run()
    else {
        return Sink::default();
    };
    sink
}

fn rayon(batches: u64, stage: Stage) -> Sink {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build();
    let pool = pool.expect("threads can be started");
    let reorder = Mutex::new(Reorder::default());
    pool.install(|| {
        (0..batches).par_bridge().for_each(|batch| {
            let done = stage.run(batch);
            reorder.lock().expect("nobody panics").write(done);
        });
    });
    reorder.into_inner().expect("nobody panics").sink
}

fn crossbeam(batches: u64, stage: Stage) -> Sink {
    let (give, take) = crossbeam_channel::bounded(CAPACITY);
    let (done, write) = crossbeam_channel::bounded(CAPACITY);
    let mut reorder = Reorder::default();
    thread::scope(|scope| {
        scope.spawn(move || (0..batches).try_for_each(|batch| give.send(batch)));
        for _ in 0..WORKERS {
            let (take, done) = (take.clone(), done.clone());
            scope.spawn(move || {
                take.iter()
                    .try_for_each(|batch| done.send(stage.run(batch)))
            });
        }
        drop(done);
        write.iter().for_each(|batch| reorder.write(batch));
    });
    reorder.sink
}

fn pariter(batches: u64, stage: Stage) -> Sink {
    let mut sink = Sink::default();
    (0..batches)
        .parallel_map_custom(
            |options| options.threads(WORKERS).buffer_size(CAPACITY),
            move |batch| stage.run(batch),
        )
        .for_each(|batch| sink.write(batch));
    sink
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let sizes = [(1, 20_000), (10, 4_000), (100, 500)];
    let scenario = |(microseconds, ops)| {
        let id = format!("pipeline_{microseconds}us");
        let title = format!("Batch of {microseconds} µs, order kept");
        let scenario = Scenario::new(9, id, title, ops).threads(WORKERS);
        scenario.with_all(
            PEERS.map(|(name, run)| (name, move |cx: &Context| measure(cx, microseconds, run))),
        )
    };
    sizes.map(scenario).into()
}

fn measure(cx: &Context, times: u32, run: Run) -> Measured {
    let stage = Stage {
        microsecond: cx.microsecond,
        times,
    };
    let (span, sink) = solo(|| run(cx.ops, stage));
    let nothing = Stage { times: 0, ..stage };
    let mut expected = Sink::default();
    (0..cx.ops).for_each(|batch| expected.write(nothing.run(batch)));
    verify("batches in order", cx.ops, sink.in_order)?;
    verify("checksum", expected.sum, sink.sum)?;
    Ok(Sample::new(span, cx.ops))
}
