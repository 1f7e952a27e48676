//! The program `blitz-gateway`.

use std::path::Path;
use std::process::ExitCode;

use blitz_io_gateway::config::{Config, DEFAULT};

const USAGE: &str = "\
Carries routes, channels and queues between machines.

Usage:
  blitz-gateway check FILE          Checks a configuration
  blitz-gateway --print-default     Prints a configuration to begin with";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["check", file] => check(Path::new(file)),
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

fn check(file: &Path) -> Result<(), String> {
    let config = Config::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    println!(
        "{}: {} exports, {} imports",
        file.display(),
        config.exports.len(),
        config.imports.len()
    );
    Ok(())
}
