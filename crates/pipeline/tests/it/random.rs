//! Pipelines of every shape, with stages that take any time: none hangs.
//!
//! `BLITZ_PIPELINE_RUNS` sets the number of runs; without it there are a few hundred.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use blitz_io_pipeline::{Control, Error, joined};

/// No run takes a hundredth of this on any machine: longer is a hang.
const HANG: Duration = Duration::from_secs(900);

#[derive(Clone, Copy, Debug)]
struct Shape {
    items: u64,
    workers: usize,
    capacity: usize,
    sources: usize,
    sinks: usize,
    ordered: bool,
    one_processor: bool,
    /// A closure fails, panics, or cancels at this item.
    trouble: Option<(Trouble, u64)>,
    in_stages: usize,
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Trouble {
    Source,
    Stage,
    Sink,
    Cancel,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let mixed = (self.0 >> 33) ^ self.0;
        mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % n
    }
}

impl Shape {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1);
        let items = random.below(80);
        let trouble = match random.below(8) {
            0 => Some(Trouble::Source),
            1 => Some(Trouble::Stage),
            2 => Some(Trouble::Sink),
            3 => Some(Trouble::Cancel),
            _ => None,
        };
        Self {
            items,
            workers: 1 + random.below(32) as usize,
            capacity: 1 + random.below(64) as usize,
            sources: 1 + random.below(2) as usize,
            sinks: 1 + random.below(3) as usize,
            ordered: random.below(4) != 0,
            one_processor: random.below(2) == 0,
            trouble: trouble.map(|trouble| (trouble, random.below(items + 1))),
            in_stages: 1 + random.below(40) as usize,
            seed,
        }
    }

    fn fails(&self, place: Trouble, item: u64) -> bool {
        self.trouble == Some((place, item))
    }

    /// Takes no time, some, or more than its time slice.
    fn take_time(&self, place: u64, item: u64) {
        let mut random = Random(self.seed ^ (place << 40) ^ (item << 8) ^ 0x5bd1);
        random.below(2);
        match random.below(16) {
            0 => std::thread::sleep(Duration::from_micros(random.below(80))),
            1..=3 => std::thread::yield_now(),
            4..=8 => {
                for n in 0..random.below(3000) {
                    std::hint::black_box(n);
                }
            }
            _ => {}
        }
    }

    fn run(self) {
        if self.one_processor {
            blitz_io_testing::bind_to_first_processor();
        }
        let control = Control::new();
        let mut written = vec![Vec::new(); self.sinks];
        let sinks = written.iter_mut().enumerate().map(|(sink, written)| {
            let control = control.clone();
            move |item: u64| {
                self.take_time(2 + sink as u64, item);
                if self.fails(Trouble::Sink, item) {
                    return Err(item);
                }
                if self.fails(Trouble::Cancel, item) {
                    control.cancel();
                }
                written.push(item);
                Ok(())
            }
        });
        let source = |source: u64| {
            let mut items = 0..self.items;
            move || {
                let Some(item) = items.next() else {
                    return Ok(None);
                };
                self.take_time(source, item);
                if self.fails(Trouble::Source, item) && source == 0 {
                    Err(item)
                } else {
                    Ok(Some(item))
                }
            }
        };
        let stage = |item: u64| {
            self.take_time(100, item);
            if self.fails(Trouble::Stage, item) {
                Err(item)
            } else {
                Ok(item)
            }
        };
        let all = self.sinks;
        let to_all = move |item: u64, emit: &mut blitz_io_pipeline::Emit<'_, u64>| {
            (0..all).for_each(|sink| emit.push_to(sink, item));
            Ok(())
        };
        let pipeline = match self.sources {
            1 => joined([source(0)])
                .try_map(|[item]| stage(item))
                .sinks(to_all, sinks)
                .run_as(self, &control),
            _ => joined([source(0), source(1)])
                .try_map(|[item, other]| {
                    assert_eq!(item, other);
                    stage(item)
                })
                .sinks(to_all, sinks)
                .run_as(self, &control),
        };
        self.check(pipeline, written);
    }

    fn check(&self, ended: Result<(), Error<u64>>, written: Vec<Vec<u64>>) {
        let trouble = self.trouble.filter(|&(_, item)| item < self.items);
        let complete = match (ended, trouble) {
            (Ok(()), None) => self.items,
            (Ok(()), Some((Trouble::Cancel, _))) => self.items.min(1),
            (Err(Error::Cancelled { .. }), Some((Trouble::Cancel, _))) => 0,
            (Err(Error::Failed { item, error, .. }), Some((_, at)))
                if item == at && error == at =>
            {
                item
            }
            (ended, _) => panic!("{self:?} ended with {ended:?}"),
        };
        for mut written in written {
            if self.ordered {
                assert!(written.is_sorted(), "{self:?}: {written:?}");
            }
            written.sort_unstable();
            if !matches!(trouble, Some((Trouble::Sink | Trouble::Cancel, _))) {
                written.retain(|&item| item < complete);
                assert!(written.into_iter().eq(0..complete), "{self:?}");
            } else if self.ordered {
                let until = written.len() as u64;
                assert!(written.into_iter().eq(0..until), "{self:?}");
                assert!(until >= complete.min(self.items), "{self:?}");
            }
        }
    }
}

trait RunAs {
    fn run_as(self, shape: Shape, control: &Control) -> Result<(), Error<u64>>;
}

impl<P: Send> RunAs for blitz_io_pipeline::Pipeline<'_, P, u64, u64> {
    fn run_as(self, shape: Shape, control: &Control) -> Result<(), Error<u64>> {
        let pipeline = self
            .workers(shape.workers)
            .capacity(shape.capacity)
            .in_stages(shape.in_stages)
            .control(control);
        let pipeline = if shape.ordered {
            pipeline
        } else {
            pipeline.unordered()
        };
        pipeline.run().map(drop)
    }
}

#[test]
fn no_shape_hangs() {
    let runs = std::env::var("BLITZ_PIPELINE_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let runs: u64 = runs.unwrap_or(300);
    for seed in 0..runs {
        let shape = Shape::new(seed);
        let (ended, end) = channel();
        let run = std::thread::spawn(move || {
            shape.run();
            let _ = ended.send(());
        });
        if end.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
            panic!("{shape:?} hangs");
        }
        run.join().unwrap();
    }
}
