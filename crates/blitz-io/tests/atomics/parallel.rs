//! The fork-join pool, and pipelines.

use blitz_io::pipeline;
use blitz_io::pool::{self, ThreadPoolBuilder};

#[test]
fn each_fork_is_joined() {
    fn sum(from: u32, to: u32) -> u32 {
        if to - from == 1 {
            return from;
        }
        let middle = from + (to - from) / 2;
        let (a, b) = pool::join(|| sum(from, middle), || sum(middle, to));
        a + b
    }
    let threads = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(threads.install(|| sum(0, 5)), 10);
}

#[test]
fn a_scope_waits_for_all_its_jobs() {
    let threads = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut done = [false; 4];
    threads.scope(|scope| {
        for job in &mut done {
            scope.spawn(move |_| *job = true);
        }
    });
    assert_eq!(done, [true; 4]);
}

#[test]
fn a_pipeline_writes_all_items_in_order() {
    let mut seen = vec![];
    pipeline::iter::<_, std::convert::Infallible>(0..5)
        .map(|n| n * n)
        .for_each(|n| seen.push(n))
        .workers(3)
        .capacity(2)
        .run()
        .unwrap();
    assert_eq!(seen, [0, 1, 4, 9, 16]);
}
