//! Prints the end of a file, and then what is added to it: `tail -F`.
//!
//! ```sh
//! cargo run --release --example tail -- -n 5 /var/log/syslog
//! ```
//!
//! The file may grow, may be emptied, may be renamed and replaced (as logs are when they
//! are rotated), and may be missing for a while. What was added to a file before it was
//! renamed is printed first. Checking for changes costs a few system calls per interval, on
//! every system.
//!
//! It runs until Ctrl-C. The exit code is 0, 1 if the output can no longer be printed, and
//! 2 if the command line is wrong.

mod shutdown;

use std::fs::Metadata;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use blitz_io::fs::{File, metadata};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, Stdout, copy, stdout};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::time::sleep;
use clap::Parser;

/// Prints the end of a file, and then what is added to it.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many lines of what is there already to print
    #[arg(short = 'n', long, default_value_t = 10, value_name = "N")]
    lines: usize,
    /// How many milliseconds to wait before looking again
    #[arg(long, default_value_t = 250, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: u64,
    /// The file
    file: PathBuf,
}

#[blitz_io::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let end = CancellationToken::new();
    let ending = end.clone();
    shutdown::on_request("tail", move || ending.cancel());
    let result = select! {
        result = follow(&options) => result,
        () = end.cancelled() => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tail: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints until the output is closed.
async fn follow(options: &Options) -> io::Result<()> {
    let path = &options.file;
    let mut out = stdout();
    let mut followed = match Followed::open(path).await {
        Ok(mut followed) => {
            let start = last_lines(&mut followed.file, options.lines).await?;
            followed.seek(start).await?;
            Some(followed)
        }
        Err(error) => {
            eprintln!("tail: {}: {error}", path.display());
            None
        }
    };
    loop {
        let is_current = match &mut followed {
            Some(open) => open.print(path, &mut out).await?,
            None => true,
        };
        if !is_current {
            eprintln!("tail: {}: moved or removed", path.display());
            followed = None;
        }
        if followed.is_none() {
            // The error was reported when the file disappeared.
            followed = Followed::open(path).await.ok();
            if followed.is_some() {
                continue;
            }
        }
        sleep(Duration::from_millis(options.interval)).await;
    }
}

/// An open file, and how much of it was printed.
struct Followed {
    file: File,
    position: u64,
    identity: Option<(u64, u64)>,
}

impl Followed {
    async fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path).await?;
        let metadata = file.metadata().await?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Self {
            file,
            position: 0,
            identity: identity(&metadata),
        })
    }

    async fn seek(&mut self, position: u64) -> io::Result<()> {
        self.position = self.file.seek(SeekFrom::Start(position)).await?;
        Ok(())
    }

    /// Prints what is new. Returns false if the name now belongs to another file, or to
    /// none, and this file has been printed to its end.
    async fn print(&mut self, path: &Path, out: &mut Stdout) -> io::Result<bool> {
        // The name is checked before the file is read, so everything that was added before
        // it was renamed is there when the file is read.
        let named = metadata(path).await.ok();
        let is_same = named.is_some_and(|named| identity(&named) == self.identity);
        if self.file.metadata().await?.len() < self.position {
            eprintln!("tail: {}: became shorter", path.display());
            self.seek(0).await?;
        }
        let copied = copy(&mut self.file, out).await?;
        if copied > 0 {
            self.position += copied;
            out.flush().await?;
        }
        Ok(is_same)
    }
}

/// Returns what distinguishes one file from another with the same name, if the system has
/// that.
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let created = metadata.created().ok()?;
        let since = created.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((since.as_secs(), u64::from(since.subsec_nanos())))
    }
}

/// Returns where the last lines of a file begin. A last line without an end counts as one.
async fn last_lines(file: &mut File, lines: usize) -> io::Result<u64> {
    const BLOCK: u64 = 16 * 1024;
    let len = file.metadata().await?.len();
    if lines == 0 {
        return Ok(len);
    }
    let mut block = Vec::new();
    let mut left = lines;
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start)).await?;
        block.clear();
        (&mut *file)
            .take(end - start)
            .read_to_end(&mut block)
            .await?;
        for (place, _) in block
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n')
        {
            let after = start + place as u64 + 1;
            if after == len {
                // This is the end of the last line, not of one before it.
                continue;
            }
            left -= 1;
            if left == 0 {
                return Ok(after);
            }
        }
        end = start;
    }
    Ok(0)
}
