//! `blitz top` asks a real program.
#![cfg(unix)]

mod program;
use program::{Program, blitz};
use serde_json::Value;

/// Asks for the view of a process; `None` while it does not answer yet.
fn view(pid: u32, more: &[&str]) -> Option<Value> {
    let pid = pid.to_string();
    let mut command = blitz();
    let output = command.args(["top", &pid, "--json"]).args(more).output();
    let output = output.expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("it writes UTF-8");
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("does not answer"), "{message}");
        return None;
    }
    Some(serde_json::from_str(&text).expect("it writes one JSON object"))
}

#[test]
fn a_contended_lock_and_a_full_channel_are_shown() {
    let mut program = Program::start("contended");
    loop {
        program.still_runs();
        let Some(view) = view(program.0.id(), &["--once"]) else {
            continue;
        };
        let contention = view["contention"].as_array().expect("this version says it");
        let is_it = |object: &&Value| object["name"] == "Mutex \"sessions\"";
        let Some(sessions) = contention.iter().find(is_it) else {
            continue;
        };
        let channels = view["channels"].as_array().expect("this version says it");
        let is_full = |channel: &Value| channel["used"] == 4 && channel["capacity"] == 4;
        if sessions["waits"].as_u64() > Some(10) && channels.iter().any(is_full) {
            check(&view, sessions);
            break;
        }
    }
}

/// A worker that sleeps in a poll is not only busy.
#[test]
#[cfg(target_os = "linux")]
fn a_poll_that_sleeps_is_shown_with_its_line() {
    let mut program = Program::start("poll_sleeps");
    let blocked = |view: &Value| {
        let what = view["blocked"][0]["what"].as_str()?.to_owned();
        what.contains("src/fibers.rs:").then_some(what)
    };
    let (view, what) = loop {
        program.still_runs();
        if let Some(view) = view(program.0.id(), &["--once"]) {
            if let Some(what) = blocked(&view) {
                break (view, what);
            }
        }
    };
    assert!(
        what.starts_with("the system call clock_nanosleep, at "),
        "{view}"
    );
    assert_eq!(view["blocked"][0]["workers"], 1, "{view}");
    let does = view["polls"][0]["does"].as_str().expect("it sleeps");
    assert!(does.starts_with("sleeps in the system call "), "{view}");
}

#[test]
fn the_scheduler_of_a_program_is_shown() {
    let mut program = Program::start("contended");
    let view = loop {
        program.still_runs();
        let view = view(program.0.id(), &["--scheduler"]);
        // It has its runtime, whose tasks sleep again and again, and so the workers do.
        let sleeps = |worker: &Value| worker["parks"].as_f64() > Some(0.0);
        let slept = |view: &Value| {
            let workers = view["runtimes"][0]["workers"].as_array();
            workers.is_some_and(|workers| workers.iter().any(sleeps))
        };
        if let Some(view) = view.filter(slept) {
            break view;
        }
    };
    let runtime = &view["runtimes"][0];
    assert_eq!(
        runtime["workers"].as_array().map(Vec::len),
        Some(2),
        "{view}"
    );
    let idle = &runtime["idle"];
    assert!(idle["awake"].as_u64() <= Some(2), "{view}");
    assert!(
        idle["searching"].as_u64() <= idle["awake"].as_u64(),
        "{view}"
    );
}

fn check(view: &Value, sessions: &Value) {
    assert_eq!(view["program"], "blitz-io-hangs");
    // Each wait lasts as long as the other task sleeps, which is two milliseconds at least.
    let waits = sessions["waits"].as_u64().unwrap();
    let waited = sessions["waited_ns"].as_u64().unwrap();
    assert!(waited >= waits * 1_000_000, "{sessions}");
    let buckets = sessions["buckets"].as_array().unwrap();
    let counted: u64 = buckets.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, waits, "{sessions}");
    let location = sessions["location"].as_str().unwrap();
    assert!(location.contains("busy.rs"), "{sessions}");
    let runtime = &view["runtimes"][0];
    assert_eq!(runtime["workers"], 2, "{view}");
    assert!(runtime["polls"].as_u64() > Some(0), "{view}");
    assert!(runtime["spawned_tasks"].as_u64() >= Some(3), "{view}");
    let waits = view["waits"].as_array().unwrap();
    let is_producer = |wait: &&Value| wait["target"].as_str().unwrap().starts_with("mpsc::Sender");
    let producer = waits.iter().find(is_producer).expect("the channel is full");
    assert!(
        producer["waiter"].as_str().unwrap().contains("producer"),
        "{producer}"
    );
    let channels = view["channels"].as_array().unwrap();
    for (name, used, capacity) in [("orders", 4, 4), ("results", 1, 3), ("events", 1, 2)] {
        let name = format!("channel \"{name}\"");
        let channel = channels.iter().find(|channel| channel["name"] == name);
        let channel = channel.expect(&name);
        assert_eq!(channel["used"], used, "{channel}");
        assert_eq!(channel["capacity"], capacity, "{channel}");
    }
}
