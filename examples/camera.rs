//! Frames of 8 MiB from one process to another, without a copy.
//!
//! ```sh
//! cargo run --release --example camera -- --frames 500
//! ```
//!
//! It shows loans: the camera writes each frame directly into shared memory, and the screen
//! reads it there. If the screen is slower, the camera drops the frames for which there is
//! no room. It starts the screen itself, as a separate process.
//!
//! The exit code is 0 if no frame was torn.

use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Instant;

use blitz_io::ipc::{Barrier, RecvError, Route, SendError, SendOptions};
use clap::Parser;

/// Sends large frames from one process to another.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many frames to take
    #[arg(long, default_value_t = 500, value_name = "N")]
    frames: u64,
    /// Wait for the screen instead of dropping frames
    #[arg(long)]
    wait: bool,
    /// Be the screen
    #[arg(long, hide = true, value_name = "NAME")]
    show: Option<String>,
}

/// The size of a frame in bytes.
const FRAME: usize = 8 << 20;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.show {
        Some(name) => show(name),
        None => record(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("camera: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(options: &Options) -> Result<(), Box<dyn Error>> {
    let name = format!("camera-{}", std::process::id());
    let mut sender = Route::builder().capacity(4).max_len(FRAME).sender(&name)?;
    let mut begin = Barrier::open(&format!("{name}-begin"), 2)?;
    let mut screen = Command::new(std::env::current_exe()?)
        .args(["--show", &name])
        .spawn()?;
    begin.wait()?;
    let began = Instant::now();
    let (mut sent, mut dropped) = (0_u64, 0);
    for number in 0..options.frames {
        let loan = if options.wait {
            sender.loan(FRAME)
        } else {
            sender.with(SendOptions::new().no_wait()).loan(FRAME)
        };
        let mut frame = match loan {
            Err(SendError::Full) => {
                dropped += 1;
                continue;
            }
            other => other?,
        };
        frame.fill(number as u8);
        frame.send()?;
        sent += 1;
    }
    drop(sender);
    let status = screen.wait()?;
    let gib = sent as f64 * FRAME as f64 / f64::from(1 << 30);
    let rate = gib / began.elapsed().as_secs_f64();
    println!("{sent} frames sent, {dropped} dropped, {rate:.1} GiB/s");
    if status.success() {
        Ok(())
    } else {
        Err("the screen has seen a torn frame".into())
    }
}

fn show(name: &str) -> Result<(), Box<dyn Error>> {
    let mut receiver = Route::receiver(name)?;
    Barrier::open(&format!("{name}-begin"), 2)?.wait()?;
    let mut count = 0;
    loop {
        // The frame is read in place; dropping it gives the place back to the camera.
        let frame = match receiver.recv() {
            Err(RecvError::Disconnected) => break,
            other => other?,
        };
        let pixel = frame.first().copied().ok_or("an empty frame")?;
        if frame.len() != FRAME || *frame != vec![pixel; FRAME][..] {
            return Err(format!("frame {count} is torn").into());
        }
        count += 1;
    }
    println!("screen: {count} frames");
    Ok(())
}
