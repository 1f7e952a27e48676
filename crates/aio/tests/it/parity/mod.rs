//! The same steps with Tokio's `io` and with this crate: the results, the errors, the calls
//! that other streams get and the wake-ups of tasks are the same, for many seeds.

mod of_tokio {
    use tokio::io;

    include!("scenarios.rs");
}

mod ours {
    use blitz_io_aio as io;

    include!("scenarios.rs");
}

macro_rules! same {
    ($($scenario:ident),* $(,)?) => {$(
        #[test]
        fn $scenario() {
            let seeds = if cfg!(miri) { 3 } else { 100 };
            for seed in 0..seeds {
                if cfg!(any(ours_alone, miri)) {
                    ours::$scenario(seed);
                } else {
                    blitz_io_testing::assert_same(&of_tokio::$scenario(seed), &ours::$scenario(seed));
                }
            }
        }
    )*};
}

same!(
    buffered_reads,
    reads_to_the_end,
    lines_and_pieces,
    buffered_writes,
    copies,
    streams_in_memory,
    both_directions_buffered,
    memory_of_std,
);
