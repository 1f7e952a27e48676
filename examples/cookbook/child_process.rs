//! Runs a program with a time limit, and reads its output line by line.

use std::process::Stdio;
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, BufReader};
use blitz_io::process::Command;
use blitz_io::time::timeout;

async fn lines_of(mut command: Command, limit: Duration) -> std::io::Result<Vec<String>> {
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let run = async {
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await? {
            all.push(line);
        }
        let status = child.wait().await?;
        if status.success() {
            Ok(all)
        } else {
            Err(std::io::Error::other(status.to_string()))
        }
    };
    // Dropping the child at a time-out kills it.
    timeout(limit, run).await?
}

#[blitz_io::main]
async fn main() -> std::io::Result<()> {
    let me = std::env::current_exe()?;
    match std::env::args().nth(1).as_deref() {
        Some("talk") => {
            println!("one\ntwo");
            return Ok(());
        }
        Some("sleep") => loop {
            std::thread::park();
        },
        _ => {}
    }
    let mut talk = Command::new(&me);
    talk.arg("talk");
    let lines = lines_of(talk, Duration::from_secs(60)).await?;
    println!("the child said {lines:?}");
    assert_eq!(lines, ["one", "two"]);

    let mut sleep = Command::new(&me);
    sleep.arg("sleep");
    let error = lines_of(sleep, Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    Ok(())
}
