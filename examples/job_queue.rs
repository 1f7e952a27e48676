//! Runs a command for each line of its input, with limits on how many run at the same time
//! and how many start in a second.
//!
//! ```sh
//! seq 10 | cargo run --release --example job_queue -- --rate 5 --workers 2 -- echo job {}
//! ls *.jpg | cargo run --release --example job_queue -- --deadline 60 -- jpegoptim {}
//! ```
//!
//! It shows a graceful shutdown, which starts at the end of the input, at the deadline, or
//! at Ctrl-C. Then no further job starts, running jobs may complete, and after a grace
//! period (or at the second Ctrl-C) those that still run are killed. The program waits for
//! every job that was started.
//!
//! The exit code is 0 if every job has succeeded, 1 if one has failed, 2 if the command
//! line is wrong, and 3 if not all jobs were done when the program was told to end.

mod shutdown;

use std::io::BufRead;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use blitz_io::sync::{CancellationToken, Semaphore, mpsc};
use blitz_io::task::{TaskTracker, spawn_blocking};
use blitz_io::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout};
use clap::Parser;

/// Runs a command for each line of the input, with a limit on how often and how many.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many jobs to start in a second, at most
    #[arg(long, default_value = "10", value_name = "N", value_parser = positive)]
    rate: f64,
    /// How many jobs may run at the same time
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
    /// Start no job after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    deadline: Option<f64>,
    /// How many seconds running jobs have to complete during the shutdown
    #[arg(long, default_value = "5", value_name = "SECONDS", value_parser = positive)]
    grace: f64,
    /// The command; `{}` stands for the line, which comes last if there is no `{}`
    #[arg(required = true, last = true)]
    command: Vec<String>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number < 1e6 => Ok(number),
        Ok(_) => Err("must be more than 0, and less than a million".into()),
        Err(_) => Err("is not a number".into()),
    }
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let queue = Queue::new(&options);
    queue.listen_to_ctrl_c();
    if let Some(seconds) = options.deadline {
        blitz_io::spawn(deadline(seconds, queue.stop.clone()));
    }
    let start = Instant::now();
    let left = queue.run(lines(), options.rate).await;
    let begun = queue.finish(options.grace).await;
    queue.report(begun, left, start.elapsed())
}

async fn deadline(seconds: f64, stop: CancellationToken) {
    sleep(Duration::from_secs_f64(seconds)).await;
    if !stop.is_cancelled() {
        eprintln!("job_queue: the deadline has passed");
        stop.cancel();
    }
}

/// Starts a thread that reads the input, and waits while the channel is full. The thread
/// does not belong to the runtime: nothing can wake a thread that waits for a key, so the
/// shutdown must not wait for it.
fn lines() -> mpsc::Receiver<String> {
    let (found, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) if line.is_empty() => {}
                Ok(line) => {
                    if found.blocking_send(line).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    eprintln!("job_queue: cannot read the input: {error}");
                    break;
                }
            }
        }
    });
    lines
}

struct Queue {
    command: Vec<String>,
    workers: Arc<Semaphore>,
    /// Cancelled when no more jobs are to start.
    stop: CancellationToken,
    /// Cancelled when the running jobs are to be killed.
    kill: CancellationToken,
    running: TaskTracker,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    done: AtomicU32,
    failed: AtomicU32,
    killed: AtomicU32,
}

/// The number of jobs that were in the queue and did not start.
struct Left(usize);

/// How many jobs were started.
struct Begun(u32);

impl Queue {
    fn new(options: &Options) -> Self {
        Self {
            command: options.command.clone(),
            workers: Arc::new(Semaphore::new(options.workers.into())),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            running: TaskTracker::new(),
            counts: Arc::default(),
        }
    }

    /// At the first Ctrl-C, shuts down gracefully. At the second, kills the jobs.
    fn listen_to_ctrl_c(&self) {
        let (stop, kill) = (self.stop.clone(), self.kill.clone());
        shutdown::on_request("job_queue", move || {
            if stop.is_cancelled() {
                kill.cancel();
            } else {
                eprintln!("job_queue: interrupted; once more, and what runs is killed");
                stop.cancel();
            }
        });
    }

    /// Starts a job for each line, until there are no more or the shutdown begins.
    async fn run(&self, mut lines: mpsc::Receiver<String>, rate: f64) -> Left {
        let mut pace = interval(Duration::from_secs_f64(1.0 / rate));
        // There must be no burst after a pause.
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut left = 0;
        loop {
            let line = blitz_io::select! {
                biased;
                () = self.stop.cancelled() => break,
                line = lines.recv() => match line {
                    Some(line) => line,
                    None => break,
                },
            };
            blitz_io::select! {
                biased;
                () = self.stop.cancelled() => {
                    left += 1;
                    break;
                }
                () = self.begin(&line, &mut pace) => {}
            }
        }
        lines.close();
        while lines.recv().await.is_some() {
            left += 1;
        }
        Left(left)
    }

    /// Waits for a permit and for the next tick. If the future is dropped, no permit is
    /// lost.
    async fn begin(&self, line: &str, pace: &mut Interval) {
        let permit = self.workers.clone().acquire_owned().await;
        let permit = permit.expect("nobody closes the semaphore");
        pace.tick().await;
        let (command, line) = (self.command(line), line.to_owned());
        let (kill, counts) = (self.kill.clone(), self.counts.clone());
        self.running.spawn(async move {
            let end = run(command, kill).await;
            counts.add(&line, end);
            drop(permit);
        });
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(
            self.command[1..]
                .iter()
                .map(|word| word.replace("{}", line)),
        );
        if !self.command.iter().any(|word| word.contains("{}")) {
            command.arg(line);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Waits for all jobs that were started, without a limit unless the shutdown sets one.
    async fn finish(&self, grace: f64) -> Begun {
        self.running.close();
        let in_time = async {
            self.stop.cancelled().await;
            let grace = Duration::from_secs_f64(grace);
            if timeout(grace, self.kill.cancelled()).await.is_err() {
                self.kill.cancel();
            }
        };
        blitz_io::select! {
            () = self.running.wait() => {}
            () = in_time => self.running.wait().await,
        }
        let Counts {
            done,
            failed,
            killed,
        } = &*self.counts;
        Begun(
            [done, failed, killed]
                .map(|n| n.load(Ordering::Relaxed))
                .iter()
                .sum(),
        )
    }

    fn report(&self, Begun(begun): Begun, Left(left): Left, time: Duration) -> ExitCode {
        let count = |count: &AtomicU32| count.load(Ordering::Relaxed);
        let (done, failed) = (count(&self.counts.done), count(&self.counts.failed));
        let killed = count(&self.counts.killed);
        let time = time.as_secs_f64();
        eprintln!(
            "job_queue: {begun} begun, {done} done, {failed} failed, {killed} killed, {left} left in the queue; {time:.1} s"
        );
        match (self.stop.is_cancelled(), failed) {
            (true, _) => ExitCode::from(3),
            (false, 0) => ExitCode::SUCCESS,
            (false, _) => ExitCode::FAILURE,
        }
    }
}

enum End {
    Done,
    Failed(String),
    Killed,
}

impl Counts {
    fn add(&self, line: &str, end: End) {
        let count = match &end {
            End::Done => &self.done,
            End::Failed(_) => &self.failed,
            End::Killed => &self.killed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        match end {
            End::Done => {}
            End::Failed(why) => eprintln!("job_queue: {line}: {why}"),
            End::Killed => eprintln!("job_queue: {line}: killed"),
        }
    }
}

/// Runs one job.
async fn run(mut command: Command, kill: CancellationToken) -> End {
    let program = command.get_program().to_string_lossy().into_owned();
    // Starting a program may block, so a worker must not do it.
    let child = spawn_blocking(move || command.spawn()).await;
    let mut child = match child.expect("cannot panic") {
        Ok(child) => child,
        Err(error) => return End::Failed(format!("cannot run {program}: {error}")),
    };
    let status = blitz_io::select! {
        status = exited(&mut child) => status,
        () = kill.cancelled() => {
            // An error means that it has just exited.
            _ = child.kill();
            _ = spawn_blocking(move || child.wait()).await;
            return End::Killed;
        }
    };
    match status {
        Ok(status) if status.success() => End::Done,
        Ok(status) => End::Failed(status.to_string()),
        Err(error) => End::Failed(error.to_string()),
    }
}

/// Polls with growing pauses, as there is no event here for the exit of a process.
async fn exited(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
