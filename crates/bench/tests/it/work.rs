//! Work of a known length.

use std::time::{Duration, Instant};

use blitz_io_bench::Work;

#[test]
fn calibrated_work_takes_about_its_time() {
    let target = Duration::from_micros(50);
    let work = Work::calibrate(target);
    let fastest = (0..200)
        .map(|_| {
            let start = Instant::now();
            work.run();
            start.elapsed()
        })
        .min()
        .unwrap();
    // Wide bounds: the machine may change its clock rate between the two
    // measurements, and a busy machine may not allow one undisturbed run.
    assert!(fastest > target / 4, "{fastest:?}");
    assert!(fastest < target * 20, "{fastest:?}");
}
