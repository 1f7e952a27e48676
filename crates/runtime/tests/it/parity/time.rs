// Included twice: with Tokio's names, and with ours. `runtime`, `task`, `time` and
// `mpsc` are the modules.

use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use blitz_io_testing::{Dice, Wakings, implements, log, panic_of, poll_once, traits_of};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use runtime::{Builder, Runtime};
use time::error::{Elapsed, Error};
use time::{Instant, Interval, MissedTickBehavior, Sleep, Timeout};

type Log = Vec<String>;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

pub fn traits() -> Log {
    let mut log = Log::new();
    log!(
        log,
        "Sleep",
        traits_of!(Sleep),
        implements!(Sleep: std::fmt::Debug)
    );
    log!(
        log,
        "Timeout",
        traits_of!(Timeout<u32>),
        traits_of!(Timeout<*const u32>)
    );
    log!(
        log,
        "Interval",
        traits_of!(Interval),
        implements!(Interval: Clone)
    );
    log!(
        log,
        "Instant",
        traits_of!(Instant),
        implements!(Instant: Copy + Ord + std::hash::Hash)
    );
    log!(
        log,
        "Elapsed",
        traits_of!(Elapsed),
        implements!(Elapsed: Eq),
        implements!(Elapsed: Clone)
    );
    log!(
        log,
        "Error",
        traits_of!(Error),
        implements!(Error: Copy),
        implements!(Error: Eq)
    );
    log!(
        log,
        "behaviour",
        traits_of!(MissedTickBehavior),
        implements!(MissedTickBehavior: Copy + Eq)
    );
    log!(log, implements!(MissedTickBehavior: std::hash::Hash));
    log
}

pub fn texts() -> Log {
    let mut log = Log::new();
    for error in [Error::shutdown(), Error::at_capacity(), Error::invalid()] {
        log!(log, error.to_string());
        log!(
            log,
            error.is_shutdown(),
            error.is_at_capacity(),
            error.is_invalid()
        );
    }
    log!(log, Error::shutdown());
    log!(
        log,
        MissedTickBehavior::default(),
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip
    );
    paused().block_on(async {
        let elapsed = time::timeout(ms(1), pending::<()>()).await.unwrap_err();
        log.push(format!("{elapsed} {elapsed:?} {elapsed:>25}|"));
        log!(log, std::io::Error::from(elapsed).kind());
        let now = Instant::now();
        log!(log, format!("{now:?}") == format!("{:?}", now.into_std()));
        log!(
            log,
            now - (now + ms(1)),
            (now + ms(1)) - now,
            now.duration_since(now + ms(1))
        );
        log!(
            log,
            now.checked_add(Duration::MAX),
            now.checked_sub(Duration::MAX)
        );
        log!(
            log,
            now.checked_duration_since(now + ms(1)),
            (now + ms(1)).saturating_duration_since(now)
        );
        let mut later = now;
        later += ms(5);
        later -= ms(2);
        log!(
            log,
            later - now,
            later > now,
            Instant::from(later.into_std()) == later,
            later - ms(3) == now
        );
        log!(log, (later + ms(20)).elapsed(), later.elapsed());
    });
    log
}

pub fn panics() -> Log {
    let mut log = Log::new();
    let now = Instant::now();
    log!(log, panic_of(|| time::sleep(ms(1))));
    log!(log, panic_of(|| time::sleep_until(now)));
    log!(log, panic_of(|| time::timeout(ms(1), async {})));
    log!(log, panic_of(|| time::timeout_at(now, async {})));
    log!(log, panic_of(|| time::timeout(Duration::MAX, async {})));
    log!(log, panic_of(|| time::interval(ms(1))));
    log!(log, panic_of(|| time::interval(Duration::ZERO)));
    log!(log, panic_of(|| time::interval_at(now, Duration::ZERO)));
    log!(log, panic_of(time::pause), panic_of(time::resume));
    let advance = || poll_once(pin!(time::advance(ms(1))), Waker::noop());
    log!(log, panic_of(advance));
    let without = Builder::new_current_thread().build().unwrap();
    without.block_on(async {
        log!(log, panic_of(|| time::sleep(ms(1))));
        log!(log, panic_of(|| time::interval(ms(1))));
        log!(log, panic_of(time::resume), panic_of(advance));
        log!(log, panic_of(time::pause), panic_of(time::pause));
    });
    let multi = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    multi.block_on(async {
        log!(
            log,
            panic_of(time::pause),
            panic_of(time::resume),
            panic_of(advance)
        );
    });
    log!(
        log,
        panic_of(|| Builder::new_multi_thread().start_paused(true).build())
    );
    paused().block_on(async {
        log!(log, panic_of(time::pause));
        let advance = || poll_once(pin!(time::advance(Duration::MAX)), Waker::noop());
        log!(log, panic_of(advance));
        time::resume();
        log!(log, panic_of(time::resume));
        time::pause();
    });
    log
}

pub fn clock() -> Log {
    let mut log = Log::new();
    let runtime = paused();
    runtime.block_on(async {
        let start = Instant::now();
        time::advance(Duration::from_micros(1500)).await;
        log!(log, start.elapsed());
        time::sleep(ms(3)).await;
        log!(log, start.elapsed());
        time::advance(Duration::ZERO).await;
        time::sleep(Duration::ZERO).await;
        log!(log, start.elapsed());
        task::yield_now().await;
        log!(log, start.elapsed());
        // Blocking work keeps the clock where it is.
        let work = task::spawn_blocking(|| std::thread::sleep(ms(5)));
        log!(
            log,
            time::timeout(ms(1), work).await.is_ok(),
            start.elapsed()
        );
        let other = task::spawn(async move {
            time::sleep(ms(7)).await;
            start.elapsed()
        });
        log!(log, other.await.unwrap());
        time::resume();
        let real = Instant::now();
        time::sleep(ms(2)).await;
        log!(log, real.elapsed() >= ms(2));
        time::pause();
        let start = Instant::now();
        time::sleep(Duration::from_secs(1000)).await;
        let error = start.elapsed() - Duration::from_secs(1000);
        log!(log, error <= ms(1));
    });
    // Others' clocks run.
    let start = Instant::now();
    std::thread::sleep(ms(1));
    log!(log, start.elapsed() >= ms(1));
    log
}

pub fn sleeps() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let (wakings, waker) = Wakings::new();
        let mut sleep = pin!(time::sleep(ms(10)));
        log!(log, sleep.is_elapsed(), sleep.deadline() - start);
        time::advance(ms(20)).await;
        log!(log, sleep.is_elapsed());
        log!(log, poll_once(sleep.as_mut(), &waker), sleep.is_elapsed());
        sleep.as_mut().reset(start + ms(30));
        log!(log, sleep.is_elapsed(), sleep.deadline() - start);
        log!(log, poll_once(sleep.as_mut(), &waker), wakings.count());
        time::advance(ms(5)).await;
        log!(log, sleep.is_elapsed(), wakings.count());
        // Put off, and brought forward again.
        sleep.as_mut().reset(start + ms(40));
        time::advance(ms(10)).await;
        log!(log, sleep.is_elapsed(), wakings.count());
        sleep.as_mut().reset(start + ms(36));
        time::advance(ms(1)).await;
        log!(log, sleep.is_elapsed(), wakings.count());
        // To the past, with a waiter.
        sleep.as_mut().reset(start + ms(50));
        log!(log, poll_once(sleep.as_mut(), &waker), wakings.count());
        sleep.as_mut().reset(start + ms(3));
        log!(log, sleep.is_elapsed(), wakings.count());
        log!(
            log,
            poll_once(sleep.as_mut(), &waker),
            poll_once(sleep.as_mut(), &waker)
        );
        // Another waker.
        sleep.as_mut().reset(start + ms(60));
        log!(log, poll_once(sleep.as_mut(), &waker));
        let (others, other) = Wakings::new();
        log!(log, poll_once(sleep.as_mut(), &other));
        time::advance(ms(100)).await;
        log!(log, wakings.count(), others.count(), sleep.is_elapsed());
        // One that was never polled, only reset.
        let mut unpolled = pin!(time::sleep(ms(10)));
        unpolled.as_mut().reset(Instant::now() + ms(5));
        time::advance(ms(5)).await;
        log!(log, unpolled.is_elapsed());
        // In the past from the beginning.
        let mut past = pin!(time::sleep_until(start));
        log!(
            log,
            past.is_elapsed(),
            poll_once(past.as_mut(), &waker),
            past.is_elapsed()
        );
        // A timer without a waiter.
        let mut gone = Box::pin(time::sleep(ms(5)));
        log!(log, poll_once(gone.as_mut(), &waker));
        drop(gone);
        time::advance(ms(5)).await;
        log!(log, wakings.count());
    });
    log
}

async fn tick(interval: &mut Interval, start: Instant) -> (Duration, Duration) {
    let due = interval.tick().await;
    (due - start, start.elapsed())
}

pub fn intervals() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let mut interval = time::interval(ms(10));
        log!(log, interval.period(), interval.missed_tick_behavior());
        for _ in 0..3 {
            log!(log, tick(&mut interval, start).await);
        }
        interval.reset();
        log!(log, tick(&mut interval, start).await);
        interval.reset_immediately();
        log!(log, tick(&mut interval, start).await);
        interval.reset_after(ms(3));
        log!(log, tick(&mut interval, start).await);
        interval.reset_at(start);
        log!(log, tick(&mut interval, start).await);
        log!(log, tick(&mut interval, start).await);
        // Cancelled in between.
        log!(log, time::timeout(ms(1), interval.tick()).await.is_err());
        log!(log, tick(&mut interval, start).await);
        let mut interval = time::interval_at(start + Duration::from_secs(1), Duration::MAX);
        log!(log, interval.period());
        log!(log, tick(&mut interval, start).await);
        log!(
            log,
            poll_fn(|cx| Poll::Ready(interval.poll_tick(cx).is_ready())).await
        );
    });
    log
}

pub fn late_intervals() -> Log {
    let mut log = Log::new();
    for behavior in [
        MissedTickBehavior::Burst,
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip,
    ] {
        for late in [4, 5, 6, 14, 15, 16, 25, 35, 37, 100] {
            paused().block_on(async {
                let start = Instant::now();
                let mut interval = time::interval(ms(10));
                interval.set_missed_tick_behavior(behavior);
                interval.tick().await;
                time::advance(ms(10 + late)).await;
                for _ in 0..5 {
                    log!(log, behavior, late, tick(&mut interval, start).await);
                }
            });
        }
    }
    log
}

pub fn timeouts() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        log!(log, time::timeout(ms(5), async { 7 }).await);
        log!(log, time::timeout(Duration::ZERO, async { 7 }).await);
        log!(
            log,
            time::timeout(Duration::ZERO, pending::<()>()).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout(ms(5), pending::<()>()).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout(ms(5), time::sleep(ms(5))).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout(ms(5), time::sleep(ms(4))).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout_at(start, pending::<()>()).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout_at(start + ms(30), pending::<()>()).await,
            start.elapsed()
        );
        log!(
            log,
            time::timeout(Duration::MAX, time::sleep(ms(4))).await,
            start.elapsed()
        );
        let mut timeout = time::timeout(ms(5), std::future::ready(3));
        log.push(format!(
            "{:?} {:?}",
            timeout.get_ref().clone(),
            timeout.get_mut()
        ));
        log!(log, timeout.into_inner().await);
        let never = time::timeout(Duration::MAX, pending::<()>());
        log!(log, time::timeout(ms(5), never).await, start.elapsed());
    });
    log
}

fn running() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Returns how many of 200 new futures are ready at their first poll.
async fn ready_at_once<F: Future>(mut new: impl FnMut() -> F) -> usize {
    let ready = poll_fn(|cx| {
        let ready = (0..200).filter(|_| pin!(new()).poll(cx).is_ready());
        Poll::Ready(ready.count())
    });
    task::unconstrained(ready).await
}

/// While the clock runs, timers for this moment wait for the next tick, so that a loop of them
/// does not spin. The runtime has seen other moments pass.
pub fn fresh() -> Log {
    let mut log = Log::new();
    for runtime in [running(), paused()] {
        runtime.block_on(async {
            let start = Instant::now();
            log!(log, ready_at_once(|| time::sleep(Duration::ZERO)).await);
            log!(log, ready_at_once(|| time::sleep_until(Instant::now())).await);
            let timeout = || time::timeout(Duration::ZERO, pending::<()>());
            log!(log, ready_at_once(timeout).await);
            let timeout = || time::timeout_at(Instant::now(), pending::<()>());
            log!(log, ready_at_once(timeout).await);
            let tick = || async { time::interval(ms(1000)).tick().await };
            log!(log, ready_at_once(tick).await);
            time::sleep(ms(5)).await;
            log!(log, ready_at_once(|| time::sleep_until(start)).await);
            let timeout = || time::timeout_at(start, pending::<()>());
            log!(log, ready_at_once(timeout).await);
            // A loop over it takes the time.
            let start = Instant::now();
            for _ in 0..5 {
                _ = time::timeout(Duration::ZERO, pending::<()>()).await;
            }
            log!(log, start.elapsed() >= ms(4));
        });
    }
    log
}

/// Returns how often this task yields until the other one has ended.
async fn yields_until(other: &task::JoinHandle<()>) -> usize {
    for yields in 0..1000 {
        if other.is_finished() {
            return yields;
        }
        task::yield_now().await;
    }
    1000
}

/// Starts a task that sleeps, and waits until its time has come.
async fn due_timer() -> task::JoinHandle<()> {
    loop {
        let start = std::time::Instant::now();
        let timer = task::spawn(time::sleep(ms(2)));
        task::yield_now().await;
        // If this thread has lost its processor, the runtime may have seen that the time has passed.
        if start.elapsed() < ms(2) {
            std::thread::sleep(ms(10));
            return timer;
        }
    }
}

/// Returns how often this task yields until another one has ended, whose time has come.
async fn yields_until_timer() -> usize {
    let timer = due_timer().await;
    yields_until(&timer).await
}

/// A task that yields is behind everything else that the runtime has to do.
pub fn yields() -> Log {
    let mut log = Log::new();
    let runtime = running();
    log!(log, "main", runtime.block_on(yields_until_timer()));
    let in_task = runtime.block_on(async { task::spawn(yields_until_timer()).await });
    log!(log, "task", in_task.unwrap());
    let with_own_waker = runtime.block_on(async {
        let mut futures = FuturesUnordered::from_iter([yields_until_timer()]);
        futures.next().await
    });
    log!(log, "main with a waker of its own", with_own_waker);
    let with_own_waker = async {
        let mut futures = FuturesUnordered::from_iter([yields_until_timer()]);
        futures.next().await
    };
    let in_task = runtime.block_on(async { task::spawn(with_own_waker).await });
    log!(log, "task with a waker of its own", in_task.unwrap());
    let in_set = task::LocalSet::new().block_on(&runtime, async {
        task::spawn_local(async {
            let other = task::spawn(async {});
            (yields_until(&other).await, yields_until_timer().await)
        })
        .await
    });
    log!(log, "local task", in_set.unwrap());
    let forced = runtime.block_on(async {
        let timer = due_timer().await;
        task::spawn(async move {
            let mut units = 0;
            while !timer.is_finished() && units < 10_000 {
                task::consume_budget().await;
                units += 1;
            }
            units
        })
        .await
    });
    log!(log, "forced", forced.unwrap());
    paused().block_on(async {
        let timer = task::spawn(time::sleep(ms(5)));
        task::yield_now().await;
        time::advance(ms(20)).await;
        log!(log, "advanced", yields_until(&timer).await);
        let start = Instant::now();
        time::advance(ms(3)).await;
        log!(log, ready_at_once(|| time::sleep_until(start + ms(3))).await);
    });
    log
}

/// A future that always uses up the budget is timed out nevertheless; sleeps that are
/// ready take part in it.
pub fn budgets() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let greedy = poll_fn(|cx| {
            while pin!(task::consume_budget()).poll(cx).is_ready() {}
            Poll::<()>::Pending
        });
        let task = task::spawn(time::timeout(Duration::ZERO, greedy));
        log!(log, task.await.unwrap());
        let start = Instant::now();
        let task = task::spawn(poll_fn(move |cx| {
            let ready =
                (0..1000).take_while(|_| pin!(time::sleep_until(start)).poll(cx).is_ready());
            Poll::Ready(ready.count())
        }));
        log!(log, task.await.unwrap());
    });
    log
}

pub fn sends_in_time() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let (tx, mut rx) = mpsc::channel(2);
        for i in 0..3 {
            let sent = tx.send_timeout(i, ms(5)).await;
            log!(log, sent, start.elapsed(), tx.capacity());
        }
        log!(log, tx.send_timeout(3, Duration::ZERO).await);
        log!(log, rx.recv().await, tx.send_timeout(4, Duration::ZERO).await);

        // There is room when half of the time has gone.
        let other = tx.clone();
        let sending = task::spawn(async move { other.send_timeout(5, ms(4)).await });
        time::sleep(ms(2)).await;
        log!(log, rx.recv().await, sending.await.unwrap(), start.elapsed());

        // A time-out loses no turn: neither its own nor that of other senders.
        let others = [(6, 1), (7, 100)].map(|(value, time)| {
            let tx = tx.clone();
            task::spawn(async move { tx.send_timeout(value, ms(time)).await })
        });
        time::sleep(ms(3)).await;
        log!(log, rx.try_recv(), rx.try_recv());
        for sending in others {
            log!(log, sending.await.unwrap());
        }
        log!(log, rx.recv().await, tx.capacity(), start.elapsed());

        // The end of the world is far enough away.
        tx.try_send(8).unwrap();
        tx.try_send(9).unwrap();
        let mut sending = Box::pin(tx.send_timeout(10, Duration::MAX));
        log!(log, poll_once(sending.as_mut(), Waker::noop()));
        drop(rx);
        log!(log, sending.await, start.elapsed());
        log!(log, tx.send_timeout(11, ms(5)).await, start.elapsed());
    });
    log
}

pub fn sends_in_time_without_timers() -> Log {
    let mut log = Log::new();
    let (tx, _rx) = mpsc::channel(2);
    let send = || _ = poll_once(pin!(tx.send_timeout(1, ms(5))), Waker::noop());
    log.push(panic_of(send));
    let runtime = Builder::new_current_thread().build().unwrap();
    log.push(panic_of(send));
    log.push(panic_of(|| {
        let _entered = runtime.enter();
        send();
    }));
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    log.push(panic_of(|| {
        let _entered = runtime.enter();
        send();
    }));
    log!(log, tx.capacity());
    log
}

pub fn the_end() -> Log {
    let mut log = Log::new();
    let (wakings, waker) = Wakings::new();
    let poll = |sleep: Pin<&mut Sleep>| panic_of(|| _ = poll_once(sleep, &waker));
    let runtime = paused();
    let [mut waiting, mut idle, mut fired, mut reset] = runtime.block_on(async {
        let start = Instant::now();
        let mut sleeps =
            [50, 50, 1, 50].map(|after| Box::pin(time::sleep_until(start + ms(after))));
        for sleep in [0, 2, 3] {
            _ = poll_once(sleeps[sleep].as_mut(), &waker);
        }
        time::sleep(ms(2)).await;
        sleeps
    });
    log!(log, wakings.count());
    let handle = runtime.handle().clone();
    drop(runtime);
    log!(
        log,
        wakings.count(),
        waiting.is_elapsed(),
        idle.is_elapsed(),
        fired.is_elapsed()
    );
    log!(
        log,
        poll(waiting.as_mut()),
        poll(idle.as_mut()),
        poll(fired.as_mut())
    );
    reset.as_mut().reset(Instant::now());
    log!(log, poll(reset.as_mut()), wakings.count());
    let _entered = handle.enter();
    let mut late = Box::pin(time::sleep(ms(1)));
    log!(log, poll(late.as_mut()), late.is_elapsed());
    let mut late = Box::pin(time::timeout(ms(1), pending::<()>()));
    log!(log, panic_of(|| _ = poll_once(late.as_mut(), &waker)));
    let mut late = Box::pin(time::timeout(ms(1), async { 7 }));
    log!(log, poll_once(late.as_mut(), &waker));
    // They do not mind that a new runtime begins.
    let other = paused();
    other.block_on(async {
        log!(log, poll(waiting.as_mut()), poll(reset.as_mut()));
        drop(waiting);
        time::sleep(ms(100)).await;
    });
    drop((idle, fired, reset));
    log!(log, wakings.count());
    log
}

pub fn far_away() -> Log {
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let day = Duration::from_secs(86_400);
        for days in [1, 50, 365, 796, 3650] {
            let sleep = time::sleep(day * days);
            log!(
                log,
                time::timeout(day * days - ms(1), sleep).await,
                start.elapsed()
            );
            time::sleep(day * days).await;
            log!(log, start.elapsed());
        }
        log!(log, time::sleep(Duration::MAX).deadline() - start);
    });
    log
}

/// Timers of one moment fire in the order in which they started.
pub fn order() -> Log {
    let log = Rc::new(RefCell::new(Log::new()));
    let local = task::LocalSet::new();
    let runtime = paused();
    local.block_on(&runtime, async {
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let log = log.clone();
                task::spawn_local(async move {
                    time::sleep(ms(number / 10 * 70 + 5)).await;
                    log!(log.borrow_mut(), number);
                    time::sleep(ms(7)).await;
                    log!(log.borrow_mut(), number);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    drop(local);
    Rc::into_inner(log).unwrap().into_inner()
}

/// Mostly some milliseconds, sometimes minutes; mostly not a whole number of milliseconds.
fn duration(dice: &mut Dice) -> Duration {
    let nanos = [0, 0, 1, 500_000, 999_999, dice.below(1_000_000) as u64];
    let millis = [30, 30, 30, 30, 200, 5000, 300_000][dice.below(7)];
    ms(dice.below(millis) as u64) + Duration::from_nanos(nanos[dice.below(6)])
}

/// One task does something with many timers.
pub fn one_task(seed: u64) -> Log {
    let mut dice = Dice(seed);
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let (wakings, waker) = Wakings::new();
        let mut sleeps: Vec<Pin<Box<Sleep>>> = Vec::new();
        for _ in 0..200 {
            let duration = duration(&mut dice);
            let any = dice.below(sleeps.len().max(1));
            match (dice.below(9), sleeps.get_mut(any)) {
                (0 | 1, _) | (_, None) => {
                    let mut sleep = Box::pin(time::sleep(duration));
                    let poll = poll_once(sleep.as_mut(), &waker);
                    // A timer that is due at once may be ready at once.
                    log!(log, "start", duration > Duration::ZERO && poll.is_ready());
                    sleeps.push(sleep);
                }
                (2, Some(sleep)) => {
                    sleep.as_mut().reset(Instant::now() + duration);
                    log!(log, "reset", any, sleep.is_elapsed());
                }
                (3, Some(sleep)) => {
                    let deadline = sleep.deadline() + duration;
                    sleep.as_mut().reset(deadline);
                    log!(log, "put off", any, deadline - start);
                }
                (4, Some(sleep)) => log!(log, "poll", any, poll_once(sleep.as_mut(), &waker)),
                (5, Some(_)) => drop(sleeps.swap_remove(any)),
                (6, Some(sleep)) => {
                    let result = time::timeout(duration, sleep).await;
                    log!(log, "timeout", any, result, start.elapsed());
                }
                (7, _) => {
                    time::advance(duration).await;
                    log!(log, "advance", start.elapsed(), wakings.count());
                }
                (_, _) => {
                    time::sleep(duration).await;
                    log!(log, "sleep", start.elapsed(), wakings.count());
                }
            }
            let elapsed: Vec<_> = sleeps.iter().map(|sleep| sleep.is_elapsed()).collect();
            log!(log, elapsed);
        }
    });
    log
}

/// Many tasks sleep, each in its own way.
pub fn many_tasks(seed: u64) -> Log {
    let log = Rc::new(RefCell::new(Log::new()));
    let local = task::LocalSet::new();
    let runtime = paused();
    local.block_on(&runtime, async {
        let start = Instant::now();
        let tasks: Vec<_> = (0..10)
            .map(|number| {
                let log = log.clone();
                let mut dice = Dice(seed * 1000 + number);
                task::spawn_local(async move {
                    for step in 0..20 {
                        let (some, other) = (duration(&mut dice), duration(&mut dice));
                        let result = match dice.below(4) {
                            0 => time::timeout(some, time::sleep(other)).await.is_ok(),
                            1 => time::timeout_at(start + some, time::sleep(other))
                                .await
                                .is_ok(),
                            _ => {
                                time::sleep(some).await;
                                true
                            }
                        };
                        log!(log.borrow_mut(), start.elapsed(), number, step, result);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    drop(local);
    Rc::into_inner(log).unwrap().into_inner()
}

/// Intervals with all behaviours, and a task that is late.
pub fn ticks(seed: u64) -> Log {
    let mut dice = Dice(seed);
    let mut log = Log::new();
    paused().block_on(async {
        let start = Instant::now();
        let period = ms(1) + duration(&mut dice);
        let mut interval = time::interval_at(start + duration(&mut dice), period);
        for _ in 0..60 {
            let duration = duration(&mut dice);
            match dice.below(10) {
                0 => interval.set_missed_tick_behavior(MissedTickBehavior::Burst),
                1 => interval.set_missed_tick_behavior(MissedTickBehavior::Delay),
                2 => interval.set_missed_tick_behavior(MissedTickBehavior::Skip),
                3 => interval.reset(),
                4 => interval.reset_after(duration),
                5 => interval.reset_at(start + duration),
                6 => time::advance(duration).await,
                7 => time::sleep(duration).await,
                8 => interval.reset_immediately(),
                _ => _ = time::timeout(duration, interval.tick()).await,
            }
            log!(log, tick(&mut interval, start).await);
        }
    });
    log
}
