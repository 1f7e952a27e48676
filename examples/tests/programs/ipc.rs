use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;

use crate::{program, run};

#[test]
fn every_reader_of_the_feed_gets_every_quote() {
    let mut command = program("market_feed");
    command.args(["--readers", "4", "--quotes", "5000"]);
    let ran = run(command, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let line = "reader: 5000 quotes, the highest at 109.99\n";
    assert_eq!(ran.out.matches(line).count(), 4, "{}", ran.out);
    assert!(ran.out.contains("5000 quotes sent, "), "{}", ran.out);
}

#[test]
fn every_job_is_done_though_workers_are_killed() {
    let mut command = program("work_queue");
    // A worker is killed for each job, so that one starts when all jobs are done.
    command.args(["--jobs", "100", "--workers", "3", "--kills", "100"]);
    let ran = run(command, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let line = "100 jobs done, 100 workers killed, ";
    assert!(ran.out.starts_with(line), "{}", ran.out);
}

#[test]
fn no_frame_is_torn() {
    let mut command = program("camera");
    command.args(["--frames", "12", "--wait"]);
    let ran = run(command, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("screen: 12 frames\n"), "{}", ran.out);
    assert!(
        ran.out.contains("12 frames sent, 0 dropped, "),
        "{}",
        ran.out
    );
}

#[test]
fn another_process_answers_the_clients_of_the_gateway() {
    let mut gateway = program("gateway")
        .args(["--listen", "127.0.0.1:0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(gateway.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    for client in 0..3 {
        let mut stream = TcpStream::connect(address).unwrap();
        let lines: String = (0..50)
            .map(|n| format!("client {client} line {n}\n"))
            .collect();
        stream.write_all(lines.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, lines.to_uppercase());
    }
    drop(gateway.stdin.take());
    assert!(gateway.wait().unwrap().success());
}
