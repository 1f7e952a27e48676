//! The program `blitz-gateway`.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use blitz_io::io::AsyncWriteExt;
use blitz_io::net::UnixListener;
use blitz_io::select;
use blitz_io::signal::unix::{SignalKind, signal};
use blitz_io_gateway::config::{Config, DEFAULT};
use blitz_io_gateway::error::Error;
use blitz_io_gateway::gateway::{ENGINE_THREADS, Gateway, keep_memory, socket, user_directory};

const USAGE: &str = "\
Carries routes, channels and queues between machines.

Usage:
  blitz-gateway run FILE            Runs until SIGTERM or SIGINT; SIGHUP reads FILE again
  blitz-gateway check FILE          Checks a configuration
  blitz-gateway status FILE         Shows what the gateway with this configuration carries
  blitz-gateway --print-default     Prints a configuration to begin with";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["run", file] => run(Path::new(file)),
        ["check", file] => check(Path::new(file)),
        ["status", file] => status(Path::new(file)),
        ["--print-default"] => {
            print!("{DEFAULT}");
            Ok(())
        }
        ["--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("blitz-gateway: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &Path) -> Result<Config, Error> {
    Config::read(file).map_err(|source| Error::Config {
        file: file.to_owned(),
        source,
    })
}

fn check(file: &Path) -> Result<(), Error> {
    let config = read(file)?;
    println!(
        "{}: {} exports, {} imports",
        file.display(),
        config.exports.len(),
        config.imports.len()
    );
    warn(&config);
    Ok(())
}

fn warn(config: &Config) {
    for warning in config.warnings() {
        eprintln!("blitz-gateway: warning: {warning}");
    }
}

fn status(file: &Path) -> Result<(), Error> {
    let state = match read(file)?.state_directory() {
        Some(state) => state,
        None => user_directory()?.join("gateway"),
    };
    let path = socket(&state);
    let mut text = String::new();
    UnixStream::connect(&path)
        .and_then(|mut stream| stream.read_to_string(&mut text))
        .map_err(Error::system(format!(
            "no gateway answers at {}",
            path.display()
        )))?;
    print!("{text}");
    Ok(())
}

fn run(file: &Path) -> Result<(), Error> {
    let config = read(file)?;
    keep_memory(&config.limits);
    let (variable, threads) = ENGINE_THREADS;
    if std::env::var_os(variable).is_none() {
        // SAFETY: the process has no other thread yet.
        unsafe { std::env::set_var(variable, threads) };
    }
    let runtime = blitz_io::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    runtime.block_on(serve(file, config))
}

async fn serve(file: &Path, config: Config) -> Result<(), Error> {
    let signals = |kind| signal(kind).map_err(Error::system("cannot listen for signals"));
    let (mut hangup, mut terminate) = (
        signals(SignalKind::hangup())?,
        signals(SignalKind::terminate())?,
    );
    let mut interrupt = signals(SignalKind::interrupt())?;
    let warned = config.clone();
    let mut gateway = Gateway::start(config).await?;
    let path = gateway.socket();
    // A gateway that was killed has left the socket. The lock proves that no other gateway runs.
    _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(Error::system(format!(
        "cannot listen at {}",
        path.display()
    )))?;
    eprintln!("blitz-gateway: running");
    warn(&warned);
    loop {
        select! {
            () = gateway.scan() => {}
            accepted = listener.accept() => {
                if let Ok((mut stream, _)) = accepted {
                    let text = gateway.status();
                    blitz_io::spawn(async move { _ = stream.write_all(text.as_bytes()).await });
                }
            }
            _ = hangup.recv() => match read(file) {
                Ok(config) => match gateway.reload(config.clone()).await {
                    Ok(()) => {
                        eprintln!("blitz-gateway: reloaded");
                        warn(&config);
                    }
                    Err(error) => eprintln!("blitz-gateway: not reloaded: {error}"),
                },
                Err(error) => eprintln!("blitz-gateway: not reloaded: {error}"),
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    _ = std::fs::remove_file(&path);
    Ok(())
}
