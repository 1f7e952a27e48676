//! The services, each a task that keeps one process running.

use std::io;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, stdout};
use blitz_io::process::{Child, Command};
use blitz_io::select;
use blitz_io::signal::unix::{SignalKind, signal};
use blitz_io::sync::{CancellationToken, mpsc, watch};
use blitz_io::task::JoinSet;
use blitz_io::time::{Instant, sleep, timeout};
use clap::Parser;

/// Keeps services running.
#[derive(Clone, Parser)]
#[command(version)]
struct Options {
    /// How many milliseconds to wait before the first restart
    #[arg(long, default_value_t = 100, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pause: u64,
    /// How many milliseconds to wait at most
    #[arg(long, default_value_t = 10_000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    longest_pause: u64,
    /// After how many milliseconds a service counts as running well
    #[arg(long, default_value_t = 10_000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    healthy: u64,
    /// How many milliseconds a service has to end before it is killed
    #[arg(long, default_value_t = 5_000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    grace: u64,
    /// Give up after so many ends in a row that came early; 0 means never
    #[arg(long, default_value_t = 0, value_name = "N")]
    tries: u32,
    /// What to run: a name and a command for the shell
    #[arg(required = true, value_name = "NAME=COMMAND", value_parser = service)]
    services: Vec<Service>,
}

#[derive(Clone)]
struct Service {
    name: String,
    command: String,
}

fn service(text: &str) -> Result<Service, String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.trim().is_empty() => Ok(Service {
            name: name.into(),
            command: command.into(),
        }),
        _ => Err("expected NAME=COMMAND".into()),
    }
}

/// A longer line is printed as several lines.
const LONGEST_LINE: u64 = 64 * 1024;

#[blitz_io::main(flavor = "current_thread")]
pub async fn main() -> ExitCode {
    match supervise(Options::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("supervisor: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn supervise(options: Options) -> io::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let end = CancellationToken::new();
    let restart = watch::Sender::new(());
    let (lines, printed) = mpsc::channel(256);
    let printer = blitz_io::spawn(print(printed));

    let mut services = JoinSet::new();
    for service in &options.services {
        services.spawn(keep(Keeper {
            service: service.clone(),
            options: options.clone(),
            end: end.clone(),
            restart: restart.subscribe(),
            lines: lines.clone(),
        }));
    }
    drop(lines);

    let mut code = ExitCode::SUCCESS;
    loop {
        select! {
            _ = terminate.recv() => end.cancel(),
            _ = interrupt.recv() => end.cancel(),
            _ = hang_up.recv() => _ = restart.send(()),
            service = services.join_next() => match service {
                Some(Ok(GaveUp(false))) => {}
                // A service that has given up ends all others.
                Some(_) => {
                    code = ExitCode::FAILURE;
                    end.cancel();
                }
                None => break,
            },
        }
    }
    // A process that has left its group may keep a pipe open.
    _ = timeout(Duration::from_millis(options.grace), printer).await;
    Ok(code)
}

/// Prints the lines of all services, and never mixes two lines.
async fn print(mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut out = stdout();
    while let Some(line) = lines.recv().await {
        out.write_all(&line).await?;
        out.flush().await?;
    }
    Ok(())
}

/// What the task of a service needs.
struct Keeper {
    service: Service,
    options: Options,
    end: CancellationToken,
    restart: watch::Receiver<()>,
    lines: mpsc::Sender<Vec<u8>>,
}

/// Whether the service has failed too often.
struct GaveUp(bool);

/// Why a process has ended.
enum Ended {
    Alone(String),
    Told { again: bool },
}

async fn keep(mut keeper: Keeper) -> GaveUp {
    let options = keeper.options.clone();
    let name = keeper.service.name.clone();
    let mut early = 0;
    loop {
        let begin = Instant::now();
        match keeper.run().await {
            Ended::Told { again: false } => return GaveUp(false),
            Ended::Told { again: true } => {
                early = 0;
                continue;
            }
            Ended::Alone(how) => {
                if begin.elapsed() >= Duration::from_millis(options.healthy) {
                    early = 0;
                }
                early += 1;
                if options.tries != 0 && early >= options.tries {
                    eprintln!("supervisor: {name}: {how}; given up");
                    return GaveUp(true);
                }
                let pause = pause(&options, early);
                eprintln!(
                    "supervisor: {name}: {how}; again in {} ms",
                    pause.as_millis()
                );
                select! {
                    () = sleep(pause) => {}
                    _ = keeper.restart.changed() => early = 0,
                    () = keeper.end.cancelled() => return GaveUp(false),
                }
            }
        }
    }
}

/// Returns the pause after this many early ends: it doubles each time.
fn pause(options: &Options, early: u32) -> Duration {
    let doubled = 1_u64.checked_shl(early - 1);
    let pause = options.pause.saturating_mul(doubled.unwrap_or(u64::MAX));
    Duration::from_millis(pause.min(options.longest_pause))
}

impl Keeper {
    /// Runs the service once.
    async fn run(&mut self) -> Ended {
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => return Ended::Alone(format!("cannot be started: {error}")),
        };
        if let Some(out) = child.stdout.take() {
            self.forward(out);
        }
        if let Some(out) = child.stderr.take() {
            self.forward(out);
        }
        let again = select! {
            status = child.wait() => return Ended::Alone(match status {
                Ok(status) => status.to_string(),
                Err(error) => format!("cannot be waited for: {error}"),
            }),
            () = self.end.cancelled() => false,
            // The sender is alive as long as the program runs.
            _ = self.restart.changed() => true,
        };
        self.stop(&mut child).await;
        Ended::Told { again }
    }

    fn start(&self) -> io::Result<Child> {
        Command::new("sh")
            .args(["-c", &self.service.command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A separate group, so that the processes that it starts end with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    /// Ends the process, first with SIGTERM.
    async fn stop(&self, child: &mut Child) {
        signal_group(child, libc::SIGTERM);
        let grace = Duration::from_millis(self.options.grace);
        if timeout(grace, child.wait()).await.is_err() {
            eprintln!("supervisor: {}: does not end, killed", self.service.name);
            signal_group(child, libc::SIGKILL);
            _ = child.wait().await;
        }
    }

    /// Passes each line on, until the pipe's other end is closed.
    fn forward(&self, out: impl AsyncRead + Send + Unpin + 'static) {
        let (name, lines) = (self.service.name.clone(), self.lines.clone());
        blitz_io::spawn(async move {
            let mut out = BufReader::new(out);
            loop {
                let mut line = format!("{name} | ").into_bytes();
                let read = (&mut out)
                    .take(LONGEST_LINE)
                    .read_until(b'\n', &mut line)
                    .await;
                if !matches!(read, Ok(1..)) {
                    return;
                }
                if !line.ends_with(b"\n") {
                    line.push(b'\n');
                }
                if lines.send(line).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends a signal to the process and to those that it has started.
fn signal_group(child: &Child, signal: i32) {
    // Without an id it has been waited for, and the number may belong to another process.
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = group {
        // SAFETY: `kill` has no preconditions.
        unsafe { libc::kill(-group, signal) };
    }
}
