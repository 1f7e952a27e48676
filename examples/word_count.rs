//! Counts the words in all text files of the given folders, on all processors.
//!
//! ```sh
//! cargo run --release --example word_count -- docs
//! cargo run --release --example word_count -- --json --top 3 docs README.md
//! ```
//!
//! How it works: a blocking thread walks the folders and sends the paths into a channel
//! with many receivers. As many tasks as there are processors receive them. Each task owns
//! a tally, and moves it to a blocking thread and back for every file, so that no lock is
//! needed. At the end the tallies are added up. On a terminal, a progress bar appears after
//! a second.
//!
//! The exit code is 0 if every file could be read, 1 if not, and 2 if the command line is
//! wrong.

use std::collections::HashMap;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use blitz_io::sync::{CancellationToken, mpmc};
use blitz_io::task::{JoinSet, spawn_blocking};
use blitz_io::time::{MissedTickBehavior, interval, sleep};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Counts the words in all text files of the folders given.
///
/// A word is a run of letters and digits; an apostrophe or a hyphen inside belongs to it.
/// Upper and lower case are the same. Files that are not text are left out, and links are
/// not followed.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Folders, or single files
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How many words to show, the most frequent first
    #[arg(long, default_value_t = 10, value_name = "N")]
    top: usize,
    /// Leave out shorter words
    #[arg(long, default_value_t = 1, value_name = "LETTERS")]
    min_length: usize,
    /// How many files to read at the same time [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    jobs: Option<u16>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let tally = count(&options).await;
    for failure in &tally.unreadable {
        eprintln!(
            "word_count: cannot read {}: {}",
            failure.path, failure.error
        );
    }
    let all_read = tally.unreadable.is_empty();
    let printed = if options.json {
        print_json(&tally, &options)
    } else {
        print_table(&tally, &options)
    };
    match printed {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("word_count: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ if all_read => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// What has been counted so far.
#[derive(Default)]
struct Tally {
    files: u64,
    not_text: u64,
    bytes: u64,
    words: u64,
    times: HashMap<String, u64>,
    unreadable: Vec<Unreadable>,
    seconds: f64,
}

#[derive(Serialize)]
struct Unreadable {
    path: String,
    error: String,
}

impl Unreadable {
    fn new(path: &Path, error: &io::Error) -> Self {
        Self {
            path: path.display().to_string(),
            error: error.to_string(),
        }
    }
}

/// The counts that the progress bar shows.
#[derive(Default)]
struct Progress {
    found: AtomicU64,
    done: AtomicU64,
}

async fn count(options: &Options) -> Tally {
    let start = Instant::now();
    let progress = Arc::new(Progress::default());
    let finished = CancellationToken::new();
    let bar = blitz_io::spawn(show(progress.clone(), finished.clone()));

    let (found, paths) = mpmc::bounded(1024);
    let walk = spawn_blocking({
        let (roots, progress) = (options.paths.clone(), progress.clone());
        move || Walk { found, progress }.all(roots)
    });

    let mut readers = JoinSet::new();
    for _ in 0..jobs(options) {
        readers.spawn(read_all(
            paths.clone(),
            options.min_length,
            progress.clone(),
        ));
    }
    drop(paths);

    let mut total = Tally::default();
    while let Some(tally) = readers.join_next().await {
        total.add(tally.expect("a reader has panicked"));
    }
    total
        .unreadable
        .extend(walk.await.expect("the walk has panicked"));
    total.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    finished.cancel();
    bar.await.expect("the progress bar has panicked");
    total.seconds = start.elapsed().as_secs_f64();
    total
}

fn jobs(options: &Options) -> u16 {
    let processors = || std::thread::available_parallelism().map_or(1, |n| n.get() as u16);
    options.jobs.unwrap_or_else(processors)
}

// Finding the files.

struct Walk {
    found: mpmc::Sender<PathBuf>,
    progress: Arc<Progress>,
}

impl Walk {
    /// Sends every file's path, and returns the folders that could not be read.
    fn all(self, mut todo: Vec<PathBuf>) -> Vec<Unreadable> {
        let mut failures = Vec::new();
        while let Some(path) = todo.pop() {
            if let Err(error) = self.one(&path, &mut todo) {
                failures.push(Unreadable::new(&path, &error));
            }
        }
        failures
    }

    fn one(&self, path: &Path, todo: &mut Vec<PathBuf>) -> io::Result<()> {
        let kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(path)? {
                todo.push(entry?.path());
            }
        } else if kind.is_file() {
            self.progress.found.fetch_add(1, Ordering::Relaxed);
            // This waits while the channel is full.
            _ = self.found.blocking_send(path.to_owned());
        }
        Ok(())
    }
}

// Reading the files.

async fn read_all(
    paths: mpmc::Receiver<PathBuf>,
    min_length: usize,
    progress: Arc<Progress>,
) -> Tally {
    let mut tally = Tally::default();
    while let Ok(path) = paths.recv().await {
        tally = spawn_blocking(move || {
            tally.read(&path, min_length);
            tally
        })
        .await
        .expect("the reading thread has panicked");
        progress.done.fetch_add(1, Ordering::Relaxed);
    }
    tally
}

impl Tally {
    fn read(&mut self, path: &Path, min_length: usize) {
        let mut content = Vec::new();
        match fs::File::open(path).and_then(|mut file| file.read_to_end(&mut content)) {
            Ok(_) => self.take(&content, min_length),
            Err(error) => self.unreadable.push(Unreadable::new(path, &error)),
        }
    }

    fn take(&mut self, content: &[u8], min_length: usize) {
        let beginning = &content[..content.len().min(8192)];
        if beginning.contains(&0) {
            self.not_text += 1;
            return;
        }
        self.files += 1;
        self.bytes += content.len() as u64;
        for word in words(&String::from_utf8_lossy(content)) {
            if word.chars().count() < min_length {
                continue;
            }
            self.words += 1;
            let word = word.to_lowercase();
            *self.times.entry(word).or_default() += 1;
        }
    }

    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.not_text += other.not_text;
        self.bytes += other.bytes;
        self.words += other.words;
        self.unreadable.extend(other.unreadable);
        for (word, times) in other.times {
            *self.times.entry(word).or_default() += times;
        }
    }

    /// Returns the most frequent words; those with equal counts are in alphabetical order.
    fn top(&self, how_many: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<_> = self.times.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(how_many);
        all
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || c == '\'' || c == '’' || c == '-';
    text.split(move |c: char| !inside(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

// Progress and results.

async fn show(progress: Arc<Progress>, finished: CancellationToken) {
    if !io::stderr().is_terminal() {
        return;
    }
    blitz_io::select! {
        () = finished.cancelled() => return,
        () = sleep(Duration::from_secs(1)) => {}
    }
    let style = "{spinner} {pos} of {len} files [{bar:40}] {per_sec}, {eta} to go";
    let style = ProgressStyle::with_template(style).expect("the template is sound");
    let bar = ProgressBar::new(0).with_style(style.progress_chars("=> "));
    let mut tick = interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        blitz_io::select! {
            () = finished.cancelled() => return bar.finish_and_clear(),
            _ = tick.tick() => {
                bar.set_length(progress.found.load(Ordering::Relaxed));
                bar.set_position(progress.done.load(Ordering::Relaxed));
            }
        }
    }
}

fn print_json(tally: &Tally, options: &Options) -> io::Result<()> {
    let top: Vec<_> = tally
        .top(options.top)
        .iter()
        .map(|(word, times)| serde_json::json!({ "word": word, "times": times }))
        .collect();
    let report = serde_json::json!({
        "files": tally.files,
        "not_text": tally.not_text,
        "bytes": tally.bytes,
        "words": tally.words,
        "different": tally.times.len(),
        "top": top,
        "unreadable": tally.unreadable,
        "seconds": tally.seconds,
    });
    writeln!(io::stdout(), "{report:#}")
}

fn print_table(tally: &Tally, options: &Options) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let top = tally.top(options.top);
    let width = |word: &&(&str, u64)| word.0.chars().count();
    let width = top
        .iter()
        .map(|word| width(&word))
        .max()
        .unwrap_or(0)
        .max(4);
    if !top.is_empty() {
        writeln!(out, "{:width$}  {:>9}  share", "word", "times")?;
    }
    for (word, times) in &top {
        let share = 100.0 * *times as f64 / tally.words as f64;
        writeln!(out, "{word:width$}  {times:>9}  {share:.1} %")?;
    }
    write!(
        out,
        "{} words, {} of them different, in {} files",
        tally.words,
        tally.times.len(),
        tally.files
    )?;
    if tally.not_text > 0 {
        write!(out, " ({} more are not text)", tally.not_text)?;
    }
    let megabytes = tally.bytes as f64 / 1e6;
    writeln!(out, ": {megabytes:.1} MB in {:.3} s", tally.seconds)
}
