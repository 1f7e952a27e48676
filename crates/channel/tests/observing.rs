//! How soon a receiver of a bounded `mpsc` channel continues beside threads that occupy the
//! processors: that depends on the scheduler. `.ci/observe` runs these tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::mpsc;
use blitz_io_testing::observe;

/// Yields beside busy threads take whole time slices: the receiver must not make many
/// before it looks for the end.
#[test]
#[ignore = "observes the scheduler"]
fn the_end_is_noticed_soon_beside_busy_threads() {
    let stop = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..6)
        .map(|_| {
            let stop = stop.clone();
            thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        })
        .collect();
    let delay = || {
        let (tx, mut rx) = mpsc::channel::<()>(1);
        let receiver = thread::spawn(move || {
            assert_eq!(rx.blocking_recv(), None);
            Instant::now()
        });
        thread::sleep(Duration::from_millis(20));
        let dropped = Instant::now();
        drop(tx);
        receiver.join().unwrap().saturating_duration_since(dropped)
    };
    let mut delays: Vec<Duration> = (0..20).map(|_| delay()).collect();
    stop.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().unwrap());
    delays.sort_unstable();
    observe("ms until the end is noticed", delays[10].as_millis(), 150);
}

/// The sender blocks everything on its processor that could run between its claim and the filling
/// of the slot. The receiver has a higher priority and must sleep until the slot is filled. Needs
/// the right to use real-time priorities.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "observes the scheduler"]
fn a_real_time_receiver_does_not_spin_on_an_interrupted_sender() {
    use blitz_io_testing::bind_to_first_processor;

    fn become_urgent() -> bool {
        // SAFETY: an all-zero parameter is valid, and the call only reads it.
        unsafe {
            let mut param: libc::sched_param = std::mem::zeroed();
            param.sched_priority = 2;
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) == 0
        }
    }

    let (tx, mut rx) = mpsc::channel(64);
    let stop = Arc::new(AtomicBool::new(false));
    let ordinary = thread::spawn({
        let (tx, stop) = (tx.clone(), stop.clone());
        move || {
            bind_to_first_processor();
            while !stop.load(Ordering::Relaxed) {
                let _ = tx.try_send(0);
            }
        }
    });
    // It preempts the ordinary sender anywhere.
    let urgent = thread::spawn(move || {
        if !bind_to_first_processor() || !become_urgent() {
            return None;
        }
        let mut longest = Duration::ZERO;
        for _ in 0..500 {
            thread::sleep(Duration::from_micros(500));
            let start = Instant::now();
            let _ = tx.try_send(1);
            longest = longest.max(start.elapsed());
        }
        Some(longest)
    });
    let receiver = thread::spawn(move || while rx.blocking_recv().is_some() {});
    let longest = urgent.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    ordinary.join().unwrap();
    receiver.join().unwrap();
    match longest {
        Some(longest) => observe("ms of a real-time try_send", longest.as_millis(), 500),
        None => eprintln!("skipped, there is no right to real-time priorities"),
    }
}
