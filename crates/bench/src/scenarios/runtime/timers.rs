//! Timers: very many that never fire, and many that do.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use super::{join_all, on_runtimes, on_task, quiesce};
use crate::runtimes::Runtime;
use crate::scenarios::prelude::*;

/// Timers that are started before the first is cancelled.
const STARTED: u64 = 100_000;
/// Tasks that sleep at the same time.
const SLEEPERS: u64 = 10_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Timer started and cancelled, 100,000 at a time";
    let mut scenarios = on_runtimes!(("timer_cancel", title, STARTED), cancelled);
    let sleeps = on_runtimes!(("sleep_error", "Error of 10,000 sleeps", SLEEPERS), fired);
    let sleeps = sleeps.into_iter();
    scenarios.extend(sleeps.map(|row| row.decided_by(Compares::P99Ns)));
    scenarios
}

/// Memory in which a timer is started and cancelled.
type Place<R> = Pin<Box<Option<<R as Runtime>::Sleep>>>;

/// Starts one task for each worker, which starts its share of the timers and then cancels
/// them. The memory of the timers is allocated before.
pub(super) fn cancelled<R: Runtime>(_cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let share = STARTED / workers as u64;
    let shares: Vec<Vec<Place<R>>> = (0..workers)
        .map(|_| (0..share).map(|_| Box::pin(None)).collect())
        .collect();
    let (span, ends) = on_task(runtime, async move {
        let starts = shares.into_iter().map(|places| {
            runtime.spawn(R::unconstrained(async move {
                let mut places = places;
                let pending = start_all::<R>(&mut places).await;
                cancel_all::<R>(&mut places);
                (pending, places)
            }))
        });
        join_all(starts.collect()).await
    });
    let pending: u64 = ends.iter().map(|(pending, _)| pending).sum();
    let ops = share * workers as u64;
    verify("timers that were started", ops, pending)?;
    Ok(Sample::new(span, ops))
}

/// Starts a timer in each place, and returns how many are pending.
async fn start_all<R: Runtime>(places: &mut [Place<R>]) -> u64 {
    poll_fn(|cx| {
        let mut pending = 0u64;
        for (number, place) in (0u64..).zip(places.iter_mut()) {
            place.set(Some(R::sleep(far_away(number))));
            let timer = place.as_mut().as_pin_mut().expect("it was just put there");
            pending += u64::from(timer.poll(cx).is_pending());
        }
        Poll::Ready(pending)
    })
    .await
}

/// Returns a time between a second and a minute, in no order.
fn far_away(number: u64) -> Duration {
    Duration::from_millis(1_000 + number * 7_919 % 60_000)
}

fn cancel_all<R: Runtime>(places: &mut [Place<R>]) {
    for place in places {
        place.set(None);
    }
}

/// Many tasks sleep for up to 50 ms. The recorded wait, and the time of an operation, is
/// how much later than requested a task ran.
pub(super) fn fired<R: Runtime>(_cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    quiesce();
    let (span, errors) = on_task(runtime, async move {
        let sleeps = (0..SLEEPERS).map(|number| runtime.spawn(oversleep::<R>(soon(number))));
        join_all(sleeps.collect()).await
    });
    let mut waits = Waits::new();
    let mut elapsed = Duration::ZERO;
    for error in errors {
        let error = error.ok_or_else(|| Failure("a sleep that ended too early".into()))?;
        waits.record(error);
        elapsed += error;
    }
    let memory = span.memory;
    verify("sleeps that ended", SLEEPERS, waits.count())?;
    Ok(Sample::new(Span { elapsed, memory }, SLEEPERS).with_waits(waits))
}

/// Returns a time between 1 and 51 ms, in no order.
fn soon(number: u64) -> Duration {
    Duration::from_micros(1_000 + number * 7_919 % 5_000 * 10)
}

/// Returns how much later than requested this task ran, or `None` if it ran earlier.
async fn oversleep<R: Runtime>(duration: Duration) -> Option<Duration> {
    let deadline = Instant::now() + duration;
    R::sleep(duration).await;
    Instant::now().checked_duration_since(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadlines_are_spread() {
        let spread = |deadline: fn(u64) -> Duration, count: u64| {
            let mut deadlines: Vec<Duration> = (0..count).map(deadline).collect();
            deadlines.sort_unstable();
            deadlines.dedup();
            (
                deadlines.len() as u64,
                deadlines[0],
                deadlines[deadlines.len() - 1],
            )
        };
        let millis = Duration::from_millis;
        let far = spread(far_away, 60_000);
        assert_eq!(far, (60_000, millis(1_000), millis(60_999)));
        let near = spread(soon, 5_000);
        assert_eq!(near, (5_000, millis(1), Duration::from_micros(50_990)));
    }
}
