//! `select!` draws from the runtime's seed.

use std::sync::mpsc;

use blitz_io::runtime::{Builder, RngSeed};

/// Returns which branches of a hundred selections were taken, in a runtime with this seed,
/// after its own threads have entered it.
fn drawn((mut builder, entered): (Builder, impl FnOnce()), seed: &[u8]) -> Vec<u32> {
    let runtime = builder.rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
    entered();
    let draw = async {
        let mut drawn = Vec::new();
        for _ in 0..100 {
            drawn.push(blitz_io::select! {
                n = async { 0 } => n,
                n = async { 1 } => n,
                n = async { 2 } => n,
                n = async { 3 } => n,
            });
        }
        drawn
    };
    runtime.block_on(draw)
}

fn one_seed_gives_one_order<E: FnOnce()>(builder: impl Fn() -> (Builder, E)) {
    let first = drawn(builder(), b"one");
    assert_eq!(first, drawn(builder(), b"one"));
    assert_ne!(first, drawn(builder(), b"another"));
    for branch in 0..4 {
        assert!(first.contains(&branch));
    }
}

#[test]
fn one_seed_gives_one_order_on_the_current_thread() {
    one_seed_gives_one_order(|| (Builder::new_current_thread(), || {}));
}

#[test]
fn one_seed_gives_one_order_beside_a_worker() {
    // Each thread that enters a runtime takes the next number of its seed.
    one_seed_gives_one_order(|| {
        let (parks, parked) = mpsc::channel();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).on_thread_park(move || {
            _ = parks.send(());
        });
        (builder, move || parked.recv().unwrap())
    });
}
