//! Checks the links between the Markdown files of a folder: whether the file that a link
//! names exists and has the heading.
//!
//! ```sh
//! cargo run --release --example third_party -- .
//! ```
//!
//! It uses an unchanged library that needs no particular runtime: moka's asynchronous
//! cache. A file to which many links lead is read once, even if many tasks ask for its
//! headings at the same time; the other tasks wait for the one that reads.
//!
//! The exit code is 0 if all links are good, 1 if one is broken or a file cannot be read,
//! and 2 if the command line is wrong.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io::sync::Semaphore;
use blitz_io::task::{JoinSet, spawn_blocking};
use clap::Parser;
use moka::future::Cache;

/// Checks the links between the Markdown files of a folder.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The folder; hidden ones inside, and those named `target`, are left out
    folder: PathBuf,
    /// How many links to check at the same time
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: u32,
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    match check(options).await {
        Ok(report) => {
            for broken in &report.broken {
                println!("{broken}");
            }
            println!(
                "{} links in {} files, {} broken; {} files looked into, each once",
                report.links,
                report.files,
                report.broken.len(),
                report.read
            );
            ExitCode::from(u8::from(!report.broken.is_empty()))
        }
        Err(error) => {
            eprintln!("third_party: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Report {
    files: usize,
    links: usize,
    read: usize,
    broken: Vec<Broken>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Broken {
    file: PathBuf,
    line: usize,
    target: String,
    why: &'static str,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line, target) = (self.file.display(), self.line, &self.target);
        write!(f, "{file}:{line}: {target}: {}", self.why)
    }
}

async fn check(options: Options) -> Result<Report, String> {
    let documents = spawn_blocking(move || markdown_files(options.folder))
        .await
        .expect("the walk has panicked")?;
    let files = documents.len();
    let headings = Headings::new();
    let at_once = Arc::new(Semaphore::new(options.at_once as usize));

    let mut checks = JoinSet::new();
    for (file, text) in documents {
        for link in links(&text) {
            let headings = headings.clone();
            // There are never more tasks than this, however many links there are.
            let permit = at_once.clone().acquire_owned().await;
            let permit = permit.expect("nobody closes the semaphore");
            let file = file.clone();
            checks.spawn(async move {
                let _permit = permit;
                let why = headings.problem(&file, &link.target).await?;
                let Link { line, target } = link;
                Some(Broken {
                    file,
                    line,
                    target,
                    why,
                })
            });
        }
    }
    let checked = checks.join_all().await;
    let links = checked.len();
    let mut broken: Vec<_> = checked.into_iter().flatten().collect();
    broken.sort();
    Ok(Report {
        files,
        links,
        read: headings.read.load(Ordering::Relaxed),
        broken,
    })
}

// The cache.

/// The names of a file's headings, as links write them.
type Names = Arc<HashSet<String>>;

#[derive(Clone)]
struct Headings {
    of: Cache<PathBuf, Names>,
    read: Arc<AtomicUsize>,
}

impl Headings {
    fn new() -> Self {
        Self {
            of: Cache::new(10_000),
            read: Arc::default(),
        }
    }

    /// Returns what is wrong with a link in this file.
    async fn problem(&self, file: &Path, target: &str) -> Option<&'static str> {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = match path {
            "" => file.to_owned(),
            path => resolve(file, path),
        };
        if heading.is_empty() || path.extension().is_none_or(|kind| kind != "md") {
            let exists = spawn_blocking(move || path.exists()).await;
            return (!exists.expect("cannot panic")).then_some("no such file");
        }
        match self.of(path).await {
            Err(_) => Some("no such file"),
            Ok(names) if names.contains(heading) => None,
            Ok(_) => Some("no such heading"),
        }
    }

    /// Returns the headings of a file, which is read at most once.
    async fn of(&self, path: PathBuf) -> Result<Names, Arc<io::Error>> {
        let read = self.read.clone();
        let from = path.clone();
        let load = async move {
            read.fetch_add(1, Ordering::Relaxed);
            let text = spawn_blocking(move || fs::read_to_string(from)).await;
            Ok(Arc::new(headings(&text.expect("cannot panic")?)))
        };
        self.of.try_get_with(path, load).await
    }
}

/// Resolves the target of a link, without `.` and `..`, so that each file has one name.
fn resolve(file: &Path, link: &str) -> PathBuf {
    let mut path = file.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir if path.file_name().is_some() => _ = path.pop(),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

// Files, links and headings.

fn markdown_files(folder: PathBuf) -> Result<BTreeMap<PathBuf, String>, String> {
    let say = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    let mut documents = BTreeMap::new();
    let mut todo = vec![folder];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| say(&folder, error))? {
            let entry = entry.map_err(|error| say(&folder, error))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(|error| say(&path, error))?;
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if kind.is_dir() && !hidden && name != "target" {
                todo.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|kind| kind == "md") {
                let text = fs::read_to_string(&path).map_err(|error| say(&path, error))?;
                documents.insert(path, text);
            }
        }
    }
    Ok(documents)
}

struct Link {
    line: usize,
    target: String,
}

/// Returns the links to files, outside of code.
fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in prose(text) {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else {
                break;
            };
            rest = after;
            let target = target.split_whitespace().next().unwrap_or("").to_owned();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !target.is_empty() {
                links.push(Link { line, target });
            }
        }
    }
    links
}

/// Returns the names under which links find the headings: lower-case letters and digits,
/// with hyphens for blanks. The second heading of the same name gets `-1`, and so on.
fn headings(text: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let depth = line.len() - title.len();
        if !(1..=6).contains(&depth) || !title.starts_with(' ') {
            continue;
        }
        let letter = |c: char| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        };
        let name: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(letter)
            .collect();
        let again = (1..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone())
            .chain(again)
            .find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// Returns the lines that are not code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((number, line))
    })
}
