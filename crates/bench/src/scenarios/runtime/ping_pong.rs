//! Two tasks that answer each other, over oneshot channels (a new one for each message)
//! and over a pair of bounded channels with room for one message.
//!
//! With one worker both are on the same worker. With several, the runtime decides:
//! `ping_pong_…` starts them from one task, `ping_pong_…_across` on two workers at the
//! same time. Both leave them where the runtime then puts them, which may again be one
//! worker. In `ping_pong_…_runtimes`, each task is on its own runtime with one worker, so
//! every message goes from thread to thread.

use std::cell::RefCell;

use super::{Body, for_each, on_task, quiesce};
use crate::runtimes::{Blitz, Channels, Oneshots, Runtime, Smol, Spawn, Tokio};
use crate::scenarios::prelude::*;
use crate::tasks::{Host, OwnRuntime};
use crate::threads::together;

/// The channels of the game. The future of each side returns its messages.
trait Game<R: Runtime> {
    /// Creates a game of `rounds` rounds: the side that serves and the side that returns.
    fn new(rounds: u64) -> (impl Spawn<Output = u64>, impl Spawn<Output = u64>);
}

struct OverOneshots;

/// A message, and where to send the next one.
struct Ball<R: Oneshots> {
    message: u64,
    back: R::Sender<Ball<R>>,
}

impl<R: Oneshots> Game<R> for OverOneshots {
    fn new(rounds: u64) -> (impl Spawn<Output = u64>, impl Spawn<Output = u64>) {
        let (mut to, mut from) = R::oneshot::<Ball<R>>();
        let serves = async move {
            let mut message = 0u64;
            for _ in 0..rounds {
                let (back, answer) = R::oneshot();
                R::send_once(to, Ball::<R> { message, back });
                let Some(ball) = answer.await else { break };
                message = ball.message + 1;
                to = ball.back;
            }
            message
        };
        let returns = async move {
            let mut messages = 0u64;
            while let Some(ball) = from.await {
                messages += 1;
                let (back, next) = R::oneshot();
                let message = ball.message + 1;
                R::send_once(ball.back, Ball::<R> { message, back });
                from = next;
            }
            messages
        };
        (serves, returns)
    }
}

struct OverChannels;

impl<R: Channels> Game<R> for OverChannels {
    fn new(rounds: u64) -> (impl Spawn<Output = u64>, impl Spawn<Output = u64>) {
        let (to, mut arrives) = R::channel(1);
        let (back, mut from) = R::channel(1);
        let serves = async move {
            let mut message = 0u64;
            for _ in 0..rounds {
                R::send(&to, message).await;
                let Some(answer) = R::recv(&mut from).await else {
                    break;
                };
                message = answer + 1;
            }
            message
        };
        let returns = async move {
            let mut messages = 0u64;
            while let Some(message) = R::recv(&mut arrives).await {
                messages += 1;
                R::send(&back, message + 1).await;
            }
            messages
        };
        (serves, returns)
    }
}

/// Returns one contender's bodies for one kind of channel: both sides spawned by one task, on two workers,
/// and on two runtimes.
const fn bodies<R: Runtime, G: Game<R>>() -> [Body; 3] {
    [from_one_task::<R, G>, across::<R, G>, runtimes::<R, G>]
}

#[cfg(test)]
pub(super) const OVER_ONESHOTS_OF_A_LIAR: Body =
    from_one_task::<crate::runtimes::Liar, OverOneshots>;
#[cfg(test)]
pub(super) const OVER_CHANNELS_OF_A_LIAR: Body =
    from_one_task::<crate::runtimes::Liar, OverChannels>;

/// smol has no oneshot channel.
const ONESHOT: [(&str, [Body; 3]); 2] = [
    (OURS, bodies::<Blitz, OverOneshots>()),
    ("tokio", bodies::<Tokio, OverOneshots>()),
];

const MPSC: [(&str, [Body; 3]); 3] = [
    (OURS, bodies::<Blitz, OverChannels>()),
    ("tokio", bodies::<Tokio, OverChannels>()),
    ("smol", bodies::<Smol, OverChannels>()),
];

/// The game over channels, for both sides as tasks of one worker.
pub(super) fn over_channels<R: Channels>(cx: &Context, workers: usize) -> Measured {
    from_one_task::<R, OverChannels>(cx, workers)
}

/// Round trips of an iteration.
const OPS: u64 = 10_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = games("ping_pong_oneshot", "Ping-pong over oneshot", &ONESHOT);
    scenarios.extend(games("ping_pong_mpsc", "Ping-pong over mpsc", &MPSC));
    scenarios
}

fn games(id: &str, title: &str, peers: &[(&'static str, [Body; 3])]) -> Vec<Scenario> {
    let [together, across, runtimes] = [0, 1, 2].map(|number| -> Vec<_> {
        let bodies = peers.iter().map(|(name, bodies)| (*name, bodies[number]));
        bodies.collect()
    });
    let rows = |workers: &[_], id: &str, what, ops, bodies: &[_]| {
        for_each(workers, (id, &format!("{title}, {what}"), ops), bodies)
    };
    let mut scenarios = rows(&[1], id, "same worker", OPS, &together);
    scenarios.extend(rows(&[2, 4], id, "started by one task", OPS, &together));
    let (id_across, what) = (format!("{id}_across"), "started on 2 workers");
    scenarios.extend(rows(&[2, 4], &id_across, what, OPS, &across));
    // Two threads in total.
    let (id_runtimes, what) = (format!("{id}_runtimes"), "between 2 runtimes of 1 worker");
    scenarios.extend(rows(&[2], &id_runtimes, what, OPS / 2, &runtimes));
    scenarios
}

/// The future of either side.
enum Side<S, T> {
    Serves(S),
    Returns(T),
}

impl<S: Future<Output = u64>, T: Future<Output = u64>> Side<S, T> {
    async fn play(self) -> u64 {
        match self {
            Side::Serves(side) => side.await,
            Side::Returns(side) => side.await,
        }
    }
}

fn from_one_task<R: Runtime, G: Game<R>>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let (serves, returns) = G::new(cx.ops);
    let played = on_task(runtime, async move {
        let returns = runtime.spawn(returns);
        let serves = runtime.spawn(serves);
        vec![serves.await, returns.await]
    });
    judge(cx, played)
}

fn across<R: Runtime, G: Game<R>>(cx: &Context, workers: usize) -> Measured {
    quiesce();
    let (serves, returns) = G::new(cx.ops);
    let sides = RefCell::new([Side::Serves(serves), Side::Returns(returns)].into_iter());
    let played = OwnRuntime::<R>::start_all(workers, 2, |_| {
        let side = sides.borrow_mut().next();
        side.expect("as many sides as tasks").play()
    });
    judge(cx, played)
}

fn runtimes<R: Runtime, G: Game<R>>(cx: &Context, _workers: usize) -> Measured {
    quiesce();
    let [here, there] = R::pair(1);
    let (serves, returns) = G::new(cx.ops);
    let returns = there.spawn_from_outside(timed(returns));
    let serves = here.spawn_from_outside(timed(serves));
    let ended = [here.block_on(serves), there.block_on(returns)];
    judge(cx, together(ended.into_iter()))
}

async fn timed(side: impl Future<Output = u64>) -> (Mark, Mark, u64) {
    let start = Mark::now();
    let messages = side.await;
    (start, Mark::now(), messages)
}

/// The server's last message is the sum of both sides' messages.
pub(super) fn judge(cx: &Context, (span, messages): (Span, Vec<u64>)) -> Measured {
    verify("messages of both sides", cx.ops * 2, messages[0])?;
    verify("messages that were returned", cx.ops, messages[1])?;
    Ok(Sample::new(span, cx.ops))
}
