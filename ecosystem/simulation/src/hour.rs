//! An hour of simulated time: tasks that only wait for timers, and hosts that ask each other.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sim::{self, Builder};
use blitz_io::time::{MissedTickBehavior, interval, sleep};
use blitz_io::{spawn, task};

const TIMERS: usize = 100;
const HOSTS: usize = 10;
const HOUR: Duration = Duration::from_secs(3_600);
/// Each timer and each host wakes so often.
const EVERY: Duration = Duration::from_secs(1);

/// What the hosts have done.
#[derive(Default)]
struct Counts {
    answers: Cell<u64>,
    ticks: Cell<u64>,
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

/// Answers each number with the next one.
async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        spawn(async move {
            while let Ok(number) = stream.read_u64().await {
                stream.write_u64(number + 1).await?;
            }
            io::Result::Ok(())
        });
    }
}

/// Asks the next host each second.
async fn chat(index: usize, counts: &Counts) -> io::Result<()> {
    spawn(serve());
    sleep(EVERY).await;
    let peer = format!("host-{}:80", (index + 1) % HOSTS);
    let mut stream = TcpStream::connect(peer).await?;
    for number in 0.. {
        stream.write_u64(number).await?;
        assert_eq!(stream.read_u64().await?, number + 1);
        add(&counts.answers);
        sleep(EVERY).await;
    }
    Ok(())
}

async fn tick(counts: Rc<Counts>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        add(&counts.ticks);
    }
}

/// Runs the hour in the order of this seed. Returns the number of steps.
fn run(seed: u64) -> u64 {
    let counts = Rc::new(Counts::default());
    let builder = Builder::new().seed(seed).seeds(1).max_steps(u64::MAX);
    let report = builder.max_time(2 * HOUR).run(|| {
        let counts = counts.clone();
        async move {
            let own = counts.clone();
            let next = Cell::new(0);
            sim::hosts(HOSTS, move |_| {
                let (own, index) = (own.clone(), next.get());
                next.set(index + 1);
                async move { chat(index, &own).await }
            });
            let timers: Vec<_> = (0..TIMERS)
                .map(|_| task::spawn_local(tick(counts.clone())))
                .collect();
            sleep(HOUR).await;
            timers.iter().for_each(task::JoinHandle::abort);
        }
    });
    // A message and its answer take up to 20 milliseconds.
    assert!(counts.answers.get() > HOSTS as u64 * 3_500);
    assert!(counts.ticks.get() >= TIMERS as u64 * 3_599);
    report.steps()
}

/// Prints the median of the times that the hour takes.
pub fn print(rounds: u64) {
    let mut times = Vec::new();
    let mut steps = 0;
    for seed in 0..rounds {
        let start = Instant::now();
        steps = run(seed);
        times.push(start.elapsed().as_secs_f64());
    }
    let median = crate::median(times);
    println!("an hour of {TIMERS} timers and {HOSTS} hosts: {median:.2} s, {steps} steps");
}
