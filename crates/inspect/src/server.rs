//! Answers [`ask`](crate::ask) in a thread of its own, which takes no lock that a thread may hold
//! while it waits. So it answers while every worker is blocked.

use std::io;
#[cfg(windows)]
use std::io::{Read, Write};
use std::sync::Once;
use std::thread;

use blitz_io_core::PerProcess;
use blitz_io_observe::trace;

use crate::client::{Answer, Started};
#[cfg(windows)]
use crate::pipe::Listener;
use crate::protocol::{CAN_ANSWER, TRACE, TRACE_OFF, TRACE_ON, WITH_SIGNALS, WITHOUT_STACKS};
use crate::reader::judged_with_stacks;
use crate::simulator;
use crate::stacks::Way;
#[cfg(unix)]
use crate::{clients::Clients, listener};

/// Opens this process's socket, or named pipe on Windows, and answers on it until the process ends. Further
/// calls do nothing. A forked child does not answer until it calls this function itself.
///
/// # Errors
///
/// Fails if the socket, the pipe or its thread cannot be made.
pub fn serve() -> io::Result<()> {
    static ONCE: PerProcess<Once> = PerProcess::new(Once::new);
    let mut result = Ok(());
    simulator::offer();
    ONCE.call_once(|| result = start());
    result
}

/// Does what [`serve`] does if the environment has `BLITZ_INSPECT=1`. An error is printed. A
/// runtime calls this when it is built; a program without one calls it itself. Under `blitz sim`, the report of a
/// deadlock then has what `blitz why` says.
pub fn serve_if_asked() {
    simulator::offer();
    if std::env::var_os("BLITZ_INSPECT").is_some_and(|value| value == "1") {
        if let Err(error) = serve() {
            eprintln!("blitz-io: cannot answer `blitz why`: {error}");
        }
    }
}

fn start() -> io::Result<()> {
    // Keeps the text in the program's file.
    std::hint::black_box(CAN_ANSWER);
    blitz_io_observe::keep_time();
    trace::keep_requests();
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    #[cfg(unix)]
    let clients = Clients::new(listener::open(&name)?, answer);
    #[cfg(unix)]
    let serve = move || clients.serve();
    #[cfg(windows)]
    let listener = Listener::open(&name)?;
    #[cfg(windows)]
    let serve = move || listener.serve(answer_on);
    thread::Builder::new()
        .name("blitz-inspect".into())
        .spawn(move || {
            blitz_io_observe::serves_process();
            serve();
        })?;
    Ok(())
}

fn answer(question: u8) -> io::Result<Vec<u8>> {
    match question {
        TRACE_ON => return Ok(serde_json::to_vec(&Started::now(trace::start()))?),
        TRACE_OFF => {
            trace::stop();
            return Ok(b"{}".to_vec());
        }
        TRACE => return Ok(trace::recording().into_bytes()),
        _ => {}
    }
    let (snapshot, findings) = match question {
        WITHOUT_STACKS => judged_with_stacks(Way::States),
        WITH_SIGNALS => judged_with_stacks(Way::Signals),
        _ => judged_with_stacks(Way::Outside),
    };
    Ok(serde_json::to_vec(&Answer { snapshot, findings })?)
}

#[cfg(windows)]
fn answer_on(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut question = [0];
    // `list` only connects.
    if stream.read(&mut question)? == 0 {
        return Ok(());
    }
    stream.write_all(&answer(question[0])?)
}
