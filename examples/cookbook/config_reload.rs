//! A configuration that is read again while the program runs. All tasks see the newest.

use std::sync::Arc;

use blitz_io::fs;
use blitz_io::sync::watch;

#[derive(Debug, PartialEq)]
struct Config {
    limit: u32,
}

async fn load(path: &std::path::Path) -> Result<Config, Box<dyn std::error::Error + Send + Sync>> {
    let text = fs::read_to_string(path).await?;
    let limit = text
        .trim()
        .strip_prefix("limit = ")
        .ok_or("no limit")?
        .parse()?;
    Ok(Config { limit })
}

#[blitz_io::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("service.conf");
    fs::write(&path, "limit = 10\n").await?;
    let (config, mut changes) = watch::channel(Arc::new(load(&path).await?));

    // This is read before the task begins: a task that begins after the last change would wait for
    // another one. `borrow` is a short lock, so clone the `Arc` and release it before the next wait.
    let before = changes.borrow_and_update().clone();
    let task = blitz_io::spawn(async move {
        changes.changed().await.unwrap();
        let after = changes.borrow_and_update().clone();
        (before.limit, after.limit)
    });

    // A service does this on SIGHUP: `signal::unix::signal(SignalKind::hangup())`.
    for text in ["limit = many\n", "limit = 20\n"] {
        fs::write(&path, text).await?;
        match load(&path).await {
            Ok(new) => _ = config.send_replace(Arc::new(new)),
            // A mistake in the file must not end the service.
            Err(error) => eprintln!("the old configuration stays: {error}"),
        }
    }
    let (before, after) = task.await?;
    assert_eq!((before, after), (10, 20));
    println!("the limit is {after}");
    Ok(())
}
