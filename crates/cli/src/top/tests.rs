//! Draws pages of 60 and of 120 columns.

use blitz_io_inspect::{
    Answer, Contention, Fill, Kind, Monitor, Object, Resource, Runtime, Scheduler, Snapshot, Task,
    TaskState, Wait, Waiter, Waiting, Worker, findings,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use super::live::Screen;
use super::page::{Page, text};
use super::scheduler::Schedulers;
use super::units::{count, fit, fit_end, histogram, time};
use super::view::View;

fn task(id: u64, name: &str, state: TaskState) -> Task {
    Task {
        id,
        name: name.into(),
        location: format!("src/{name}.rs:17"),
        is_root: false,
        state,
        thread: 1,
        poll_ms: (state == TaskState::Running).then_some(1_700),
        wakers: 1,
        polls: 2,
        child_of: None,
        is_pinned: false,
    }
}

fn object(id: u64, name: &str, holder: u64) -> Object {
    Object {
        id,
        name: Some(name.into()),
        holder: Some(Waiter::Task(holder)),
        ..Object::default()
    }
}

fn wait(task: u64, waiting_ms: u64, object: Object) -> Wait {
    Wait {
        id: task,
        waiter: Waiter::Task(task),
        thread: 1,
        kind: Kind::Mutex.name().into(),
        semantics: Kind::Mutex.semantics(),
        object: Some(object),
        task: None,
        location: format!("src/lock.rs:{task}"),
        since_ms: 0,
        waiting_ms,
        is_timed: false,
        blocks_thread: false,
        runtime: None,
        source: None,
        is_direct: true,
        is_handed: false,
    }
}

fn contention(kind: &str, waited_ns: u64) -> Contention {
    let mut buckets = vec![0; 28];
    (buckets[3], buckets[10]) = (100, 40);
    Contention {
        kind: kind.into(),
        waited_ns,
        buckets,
        location: "src/a/long/path/to/the/file/of/sessions.rs:230".into(),
    }
}

/// Two tasks that wait for each other, a third one behind them, a long poll, a full channel and a
/// contended lock.
fn answer(at_ms: u64) -> Answer {
    let polls = at_ms * 10;
    let workers = [true, false].map(|is_busy| Worker {
        is_busy,
        busy_ns: at_ms * 500_000,
        polls,
        mean_poll_ns: 1_200,
        ..Worker::default()
    });
    let channel = |id, used, capacity| Resource {
        object: Object {
            id,
            ..Object::default()
        },
        contention: vec![contention("mpsc::Receiver", u64::MAX / 2)],
        fill: Some(Fill {
            used,
            capacity,
            ..Fill::default()
        }),
    };
    let snapshot = Snapshot {
        pid: 4242,
        tasks: vec![
            task(4, "transfer", TaskState::Idle),
            task(5, "report", TaskState::Idle),
            task(6, "audit", TaskState::Idle),
            task(7, "hash", TaskState::Running),
        ],
        waits: vec![
            wait(4, 700, object(1, "audit", 5)),
            wait(5, 600, object(2, "accounts", 4)),
            wait(6, 900, object(2, "accounts", 4)),
        ],
        objects: Some(vec![
            channel(16, 3, None),
            channel(17, 8, Some(8)),
            Resource {
                object: object(3, "sessions", 7),
                contention: vec![contention("thread::Mutex", 61_000_000_000)],
                fill: None,
            },
        ]),
        runtimes: Some(vec![Runtime {
            id: 1,
            workers: workers.into(),
            global_queue: 12,
            blocking_threads: 3,
            idle_blocking_threads: 1,
            poll_times: vec![(1_000, 990), (1_000_000, 10), (u64::MAX, 0)],
            ..Runtime::default()
        }]),
        at_ms,
        ..Snapshot::default()
    };
    let findings = findings(&snapshot, &snapshot);
    Answer { snapshot, findings }
}

fn view() -> View {
    View::new(Some(&answer(1_000)), &answer(2_000), "server")
}

/// Draws the second of two answers on a terminal, after some keys.
fn drawn(columns: u16, lines: u16, keys: &[KeyCode], answers: [Answer; 2]) -> Buffer {
    let mut screen = Screen::new("server", false);
    answers.into_iter().for_each(|answer| screen.show(answer));
    for &key in keys {
        assert!(!screen.press(KeyEvent::new(key, KeyModifiers::NONE)));
    }
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    rows.map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    })
    .collect()
}

#[test]
fn a_page_of_60_columns() {
    let page = text(&Page::unlimited(60).lines(&view()));
    let expected = "\
server (4242)
certain: deadlock: task 4 \"transfer\", task 5 \"report\" wait
  for each other
probable: long-poll: task 7 \"hash\", spawned at
  src/hash.rs:17, has kept thread 1 in one poll for 1700
  ms, which may still end
tasks: 1 running, 0 ready, 3 idle
runtime 1: 1 of 2 workers busy (50 %), 12 tasks queued
  polls: 40 k, 20 k/s, recent average 1.2 µs, p99 1.0 µs █▁
  blocking: 2 of 3 threads busy, 0 jobs queued
POLLS THAT LAST                                          FOR
  task 7 \"hash\"  src/hash.rs:17                        1.7 s
LONGEST WAITS                                            FOR
  task 4 \"transfer\": Mutex \"audit\"                  700 ms
  task 5 \"report\": Mutex \"accounts\"                 600 ms
  task 6 \"audit\": Mutex \"accounts\"                  900 ms
CONTENTION                     WAITED  WAITS  1 µs … 1 min
  Mutex \"accounts\" (2 wait)     1.5 s      2
  Mutex \"audit\" (1 wait)       700 ms      1
  thread::Mutex \"sessions\"       61 s    140   █   ▄
CHANNELS                                                FILL
  channel #2                               8 of 8 ██████████
  channel #1                                          3 of ∞
";
    assert_eq!(squeezed(&page), squeezed(expected), "{page}");
    assert!(
        page.lines().all(|line| line.chars().count() <= 60),
        "{page}"
    );
}

/// Adds a wait of a task with a source.
fn with_source(answer: &mut Answer, id: u64, kind: Kind, source: &str) {
    answer.snapshot.waits.push(Wait {
        id,
        waiting_ms: 60_000,
        kind: kind.name().into(),
        semantics: kind.semantics(),
        object: None,
        source: (!source.is_empty()).then(|| source.into()),
        ..wait(6, 0, Object::default())
    });
}

/// The longest waits are those that a program without work has, too.
#[test]
fn idle_waits_are_counted_in_one_line_and_sockets_come_last() {
    let mut answer = answer(2_000);
    with_source(&mut answer, 10, Kind::Readable, "read from 192.0.2.7:80");
    with_source(&mut answer, 11, Kind::Readable, "accept at 192.0.2.7:80");
    with_source(&mut answer, 12, Kind::Signal, "SIGINT");
    for id in 13..15 {
        with_source(&mut answer, id, Kind::Sleep, "");
    }
    with_source(&mut answer, 15, Kind::WatchClosed, "");
    let view = View::new(None, &answer, "server");
    let page = text(&Page::unlimited(60).lines(&view));
    let expected = "\
LONGEST WAITS                                            FOR
  task 4 \"transfer\": Mutex \"audit\"                  700 ms
  task 5 \"report\": Mutex \"accounts\"                 600 ms
  task 6 \"audit\": Mutex \"accounts\"                  900 ms
  task 6 \"audit\": descriptor (read) (read from 192.0.… 60 s
  and 5 idle: 2 Sleep, 1 accept, 1 signal, 1 watch::Sender:…
";
    assert!(
        squeezed(&page)
            .join("\n")
            .contains(&squeezed(expected).join("\n")),
        "{page}"
    );
    assert_eq!(view.lengths.waits, 4);
}

/// Thirteen connections of a client wait for requests in code without a recorded line, longer than two tasks for permits, two for replies and one for a
/// message of the program.
#[test]
fn rows_that_are_alike_are_one_and_idle_receivers_of_packages_come_last() {
    const HYPER: &str =
        "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/hyper-1.9.0/src/dispatch.rs";
    let mut snapshot = Snapshot::default();
    let mut add = |ids: std::ops::Range<u64>, ms, kind: Kind, line: &str, made: &str| {
        for id in ids {
            let name = made.rsplit('/').next().unwrap().split('.').next().unwrap();
            snapshot.tasks.push(task(id, name, TaskState::Idle));
            let object = Object {
                id: if kind == Kind::Semaphore { 1 } else { id },
                created_at: made.into(),
                ..Object::default()
            };
            snapshot.waits.push(Wait {
                kind: kind.name().into(),
                semantics: kind.semantics(),
                location: line.into(),
                ..wait(id, ms, object.clone())
            });
            if kind == Kind::MpscReceive {
                let fill = Some(Fill::default());
                let resource = Resource {
                    object,
                    contention: vec![],
                    fill,
                };
                snapshot.objects.get_or_insert_default().push(resource);
            }
        }
    };
    add(10..23, 60_000, Kind::MpscReceive, "", &format!("{HYPER}:7"));
    add(
        30..31,
        50_000,
        Kind::MpscReceive,
        "src/queue.rs:9",
        "src/queue.rs:7",
    );
    add(
        40..42,
        900,
        Kind::OneshotReceive,
        "src/reply.rs:9",
        "src/reply.rs:7",
    );
    add(
        50..52,
        300,
        Kind::Semaphore,
        "src/limit.rs:9",
        "src/limit.rs:7",
    );
    let answer = Answer {
        snapshot,
        findings: vec![],
    };
    let view = View::new(None, &answer, "server");
    let rows: Vec<(&str, usize)> = (view.waits.iter())
        .map(|wait| (wait.location.as_str(), wait.more))
        .collect();
    assert_eq!(
        rows,
        [
            ("src/limit.rs:9", 1),
            ("src/reply.rs:9", 1),
            ("src/queue.rs:9", 0),
            ("", 12)
        ]
    );
    assert_eq!((view.lengths.waits, view.lengths.channels), (4, 2));
    let page = text(&Page::of_text(None, &view).lines(&view));
    assert!(
        page.contains("\"dispatch\" and 12 more like this: mpsc::Receiver"),
        "{page}"
    );
    let channels: Vec<&str> = page
        .split("CHANNELS")
        .nth(1)
        .unwrap()
        .lines()
        .skip(1)
        .collect();
    assert!(channels[0].contains("created at src/queue.rs:7"), "{page}");
    assert!(
        channels[1].contains("dispatch.rs:7 and 12 more like this"),
        "{page}"
    );
    assert_eq!(channels.len(), 2, "{page}");
}

/// A lock without a name has a line: that of its creation, or else that of a wait for it.
#[test]
fn a_contended_lock_without_a_name_has_a_line_on_a_narrow_page() {
    let page = |created_at: &str| {
        let mut answer = answer(2_000);
        let object = &mut answer.snapshot.objects.as_mut().unwrap()[2].object;
        (object.name, object.created_at) = (None, created_at.into());
        text(&Page::unlimited(60).lines(&View::new(None, &answer, "server")))
    };
    for (created_at, row) in [
        ("", "  thread::Mutex …sions.rs:230    61 s    140"),
        (
            "src/app/lib.rs:51",
            "  thread::Mutex …pp/lib.rs:51    61 s    140",
        ),
    ] {
        let page = page(created_at);
        let row = squeezed(row).join("");
        assert!(squeezed(&page).join("\n").contains(&row), "{row}: {page}");
    }
}

#[test]
fn nothing_is_cut_without_a_terminal() {
    let mut answer = answer(2_000);
    let long = "a_function_with_a_name_that_is_longer_than_any_terminal_is_wide".repeat(3);
    answer.snapshot.tasks[0].name = long.clone();
    answer.snapshot.objects.as_mut().unwrap()[2].object.name = Some(long.clone());
    answer.findings = findings(&answer.snapshot, &answer.snapshot);
    let view = View::new(Some(&self::answer(1_000)), &answer, "server");
    let page = text(&Page::of_text(None, &view).lines(&view));
    let finding =
        format!("certain: deadlock: task 4 \"{long}\", task 5 \"report\" wait for each other\n");
    assert!(page.contains(&finding), "{page}");
    for row in ["task 4", "thread::Mutex"] {
        assert!(page.contains(&format!("  {row} \"{long}\"")), "{page}");
    }
    // That of the histogram's title.
    assert_eq!(page.matches('…').count(), 1, "{page}");
    // The last columns are below each other.
    let end = |part: &str| {
        let line = page.lines().find(|line| line.contains(part)).unwrap();
        line.chars().count()
    };
    assert_eq!(end("LONGEST WAITS"), end(&format!("task 4 \"{long}\": ")));
}

/// Returns the lines with one space for several.
fn squeezed(text: &str) -> Vec<String> {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(squeeze).collect()
}

#[test]
fn a_terminal_of_60_columns_shows_all_parts_without_colours() {
    let buffer = drawn(60, 24, &[], [answer(1_000), answer(2_000)]);
    let lines = lines(&buffer);
    for part in [
        "server (4242)",
        "certain: deadlock",
        "tasks: 1 running",
        "runtime 1: 1 of 2 workers busy (50 %)",
        "POLLS THAT LAST",
        "LONGEST WAITS",
        "CONTENTION",
        "CHANNELS",
        "q ends",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(part)),
            "{part}: {lines:#?}"
        );
    }
    assert!(
        buffer
            .content
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
}

/// Threads have waited for one lock for two seconds within one second, and a task longer for another lock.
#[test]
fn the_costliest_objects_of_the_moment_come_first() {
    let mut later = answer(2_000);
    later.snapshot.objects.as_mut().unwrap()[2].contention[0].waited_ns += 2_000_000_000;
    later.snapshot.waits[0].waiting_ms += 500;
    let view = View::new(Some(&answer(1_000)), &later, "server");
    let page = text(&Page::unlimited(60).lines(&view));
    let expected = "\
COSTLIEST NOW                             WAITERS ON AVERAGE
  thread::Mutex \"sessions\"  src/a/long/path/to/the/fil…  2.0
  Mutex \"audit\"  src/lock.rs:4                          0.5
";
    assert!(
        squeezed(&page)
            .join("\n")
            .contains(&squeezed(expected).join("\n")),
        "{page}"
    );
    assert!(View::new(None, &later, "server").costliest.is_none());
}

#[test]
fn a_terminal_of_120_columns_has_locations() {
    let lines = lines(&drawn(120, 40, &[], [answer(1_000), answer(2_000)])).join("\n");
    assert!(
        lines.contains("task 6 \"audit\": Mutex \"accounts\"  src/lock.rs:6"),
        "{lines}"
    );
    assert!(lines.contains("sessions.rs:230"), "{lines}");
}

#[test]
fn a_key_shows_the_chain_of_the_selected_wait() {
    let keys = [KeyCode::Enter];
    for columns in [60, 120] {
        let buffer = drawn(columns, 40, &keys, [answer(1_000), answer(2_000)]);
        let lines = lines(&buffer);
        let at = lines
            .iter()
            .position(|line| line.starts_with("> "))
            .unwrap();
        assert!(
            lines[at].contains("task 4 \"transfer\": Mutex \"audit\""),
            "{lines:#?}"
        );
        let width = usize::from(columns);
        let first = &buffer.content[at * width];
        assert!(first.modifier.contains(Modifier::REVERSED));
        let chain = squeezed(&lines[at + 1..].join("\n")).join(" ");
        let of_chain = [
            "└ task 4 \"transfer\" waits 0.7 s for Mutex \"audit\" at",
            "└ task 5 \"report\" waits 0.6 s for Mutex \"accounts\" at",
            "└ task 4 \"transfer\" is in this chain already",
        ];
        for link in of_chain {
            assert!(chain.contains(link), "{link}: {lines:#?}");
        }
    }
}

/// The selection stays with the wait, not with the row.
#[test]
fn a_chosen_wait_stays_selected_when_the_order_changes() {
    let mut screen = Screen::new("server", false);
    screen.show(answer(1_000));
    let press = |screen: &mut Screen, key| {
        assert!(!screen.press(KeyEvent::new(key, KeyModifiers::NONE)));
    };
    let selected = |screen: &Screen| {
        let mut terminal = Terminal::new(TestBackend::new(60, 40)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let lines = lines(terminal.backend().buffer());
        let line = lines.into_iter().find(|line| line.starts_with("> "));
        line.unwrap()
    };
    press(&mut screen, KeyCode::Down);
    assert!(selected(&screen).starts_with("> task 5 "));
    // That of task 5 is the longer one of the finding now.
    let mut later = answer(2_000);
    later.snapshot.waits[0].waiting_ms = 100;
    later.snapshot.waits[1].waiting_ms = 2_000;
    screen.show(later);
    assert!(selected(&screen).starts_with("> task 5 "));
    // It has ended.
    let mut later = answer(3_000);
    later.snapshot.waits.truncate(0);
    screen.show(later);
    screen.show(answer(4_000));
    assert!(selected(&screen).starts_with("> task 4 "));
}

/// The page of a version that reports waits only.
#[test]
fn an_older_version_has_no_figures_of_objects_and_runtimes() {
    let older = || {
        let mut answer = answer(0);
        answer.snapshot.objects = None;
        answer.snapshot.runtimes = None;
        answer
    };
    let lines = lines(&drawn(60, 30, &[], [older(), older()]));
    let unknown = lines
        .iter()
        .filter(|line| line.starts_with("  not reported by"));
    assert_eq!(unknown.count(), 3, "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("LONGEST WAITS")),
        "{lines:#?}"
    );
}

/// The scheduler of three workers: one polls, one is parked as the monitor, and one waits in a driver.
fn scheduler_answer(at_ms: u64) -> Answer {
    let mut answer = answer(at_ms);
    let worker = |is_busy, events: u64| Worker {
        is_busy,
        busy_ns: at_ms * events * 1_000,
        polls: at_ms * events,
        queued: if is_busy { 7 } else { 0 },
        stolen: at_ms * 3,
        steals: at_ms,
        parks: at_ms / 10,
        noops: at_ms / 100,
        ..Worker::default()
    };
    answer.snapshot.runtimes = Some(vec![
        Runtime {
            id: 1,
            workers: vec![worker(true, 900), worker(false, 20), worker(false, 100)],
            global_queue: 12,
            injected: at_ms / 4,
            spawned_tasks: at_ms * 2,
            scheduler: Some(Scheduler {
                awake: 1,
                searching: 0,
                parked: vec![1],
                drivers: vec![Waiting {
                    waiting: 1,
                    called: 0,
                }],
                monitor: Some(Monitor::Worker(1)),
                is_dozing: true,
            }),
            ..Runtime::default()
        },
        Runtime {
            id: 2,
            workers: vec![worker(false, 0)],
            ..Runtime::default()
        },
    ]);
    answer
}

#[test]
fn the_page_of_the_schedulers() {
    let view = Schedulers::new(
        Some(&scheduler_answer(1_000)),
        &scheduler_answer(2_000),
        "server",
    );
    let page = text(&view.lines(80));
    let expected = "\
server (4242)
runtime 1: 1 of 3 workers awake, 0 searching; monitor: worker 1 (dozes)
  asleep: parked: 1; in driver 0: 1, and 0 called
  inject queue: 12 tasks, 250/s; 2000/s spawned, 0/s forced to yield
  WORKER  STATE   QUEUED  POLLS/S  STEALS/S  STOLEN/S  PARKS/S  NOOPS/S   BUSY
  0       awake        7    900 k      1000      3000      100       10   90 %
  1       parked       0     20 k      1000      3000      100       10    2 %
  2       waits        0    100 k      1000      3000      100       10   10 %
runtime 2: one thread
  inject queue: 0 tasks, 0/s; 0/s spawned, 0/s forced to yield
  WORKER  STATE   QUEUED  POLLS/S  STEALS/S  STOLEN/S  PARKS/S  NOOPS/S   BUSY
  0       asleep       0        0      1000      3000      100       10    0 %
";
    assert_eq!(page, expected, "{page}");
}

#[test]
fn the_first_look_at_a_scheduler_has_no_rates() {
    let view = Schedulers::new(None, &scheduler_answer(1_000), "server");
    let page = text(&view.lines(80));
    assert!(page.contains("12 tasks, -/s"), "{page}");
    let row = "  0       awake        7        -         -         -        -        -      -";
    assert!(page.lines().any(|line| line == row), "{page}");
    // An older version does not say, and a narrow terminal has the first columns.
    let mut older = scheduler_answer(1_000);
    older.snapshot.runtimes = None;
    let page = text(&Schedulers::new(None, &older, "server").lines(80));
    assert!(
        page.ends_with("not reported by the program's version of blitz-io\n"),
        "{page}"
    );
    let narrow = text(&view.lines(30));
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 30),
        "{narrow}"
    );
}

#[test]
fn a_terminal_shows_the_schedulers() {
    let mut screen = Screen::new("server", false);
    screen.shows_schedulers = true;
    for at_ms in [1_000, 2_000] {
        screen.show(scheduler_answer(at_ms));
    }
    let mut terminal = Terminal::new(TestBackend::new(80, 20)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let lines = lines(terminal.backend().buffer());
    assert!(
        lines[1].starts_with("runtime 1: 1 of 3 workers awake"),
        "{lines:#?}"
    );
    assert!(
        lines[5].starts_with("  0       awake        7    900 k"),
        "{lines:#?}"
    );
    assert_eq!(lines.last().unwrap(), "q ends");
}

#[test]
fn small_terminals_and_empty_processes_are_drawn() {
    let empty = || Answer {
        snapshot: Snapshot::default(),
        findings: vec![],
    };
    for (columns, lines) in [(1, 1), (10, 5), (60, 3), (200, 80)] {
        drawn(columns, lines, &[KeyCode::Enter], [answer(0), answer(0)]);
        drawn(
            columns,
            lines,
            &[KeyCode::Enter, KeyCode::Down],
            [empty(), empty()],
        );
    }
}

#[test]
fn keys_end_the_page() {
    let mut screen = Screen::new("server", false);
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(screen.press(control));
    for key in [KeyCode::Char('q'), KeyCode::Esc] {
        assert!(screen.press(KeyEvent::new(key, KeyModifiers::NONE)));
    }
    assert!(!screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)));
}

#[test]
fn colours_are_there_if_they_are_wanted() {
    let page = Page {
        has_colours: true,
        ..Page::unlimited(60)
    };
    let lines = page.lines(&view());
    let mut spans = lines.iter().flat_map(|line| &line.spans);
    assert!(spans.any(|span| span.style.fg == Some(Color::Red)));
}

#[test]
fn times_and_counts_are_short() {
    let times = [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (9_960, "10 µs"),
        (61_000_000_000, "61 s"),
        (150_000_000_000, "2.5 min"),
        (u64::MAX, "5124096 h"),
    ];
    for (nanos, expected) in times {
        assert_eq!(time(nanos), expected);
    }
    assert_eq!(
        [9_999, 10_000, 10_000_000].map(count),
        ["9999", "10 k", "10 M"]
    );
    assert_eq!(fit("abcdef", 4), "abc…");
    assert_eq!(fit_end("abcdef", 4), "…def");
}

#[test]
fn a_count_of_one_is_visible_beside_a_million() {
    assert_eq!(histogram(&[1_000_000, 0, 1], 3), "█ ▁");
    assert_eq!(histogram(&[1, 1, 2, 2], 2), "▅█");
    assert_eq!(histogram(&[], 5), "");
}

/// An answer in which one worker waits for a lock of threads, and another one in a lock of the standard library. A thread
/// that this library does not know is parked.
fn blocked(at_ms: u64) -> Answer {
    let mut answer = answer(at_ms);
    let unknown = |id: u64, waiter: Waiter| Wait {
        id,
        waiter,
        thread: id,
        kind: Kind::UnknownFutex.name().into(),
        source: Some(format!("{id:#x}")),
        semantics: Kind::UnknownFutex.semantics(),
        object: None,
        location: String::new(),
        waiting_ms: 0,
        blocks_thread: true,
        ..wait(id, 0, object(9, "none", 1))
    };
    let snapshot = &mut answer.snapshot;
    snapshot.waits = vec![
        Wait {
            thread: 30,
            kind: Kind::ThreadMutex.name().into(),
            semantics: Kind::ThreadMutex.semantics(),
            blocks_thread: true,
            ..wait(4, 900, object(3, "sessions", 7))
        },
        unknown(31, Waiter::Task(5)),
        unknown(32, Waiter::Thread(32)),
    ];
    for runtime in snapshot.runtimes.iter_mut().flatten() {
        for worker in &mut runtime.workers {
            (worker.is_busy, worker.busy_ns) = (true, 7);
        }
    }
    answer.findings.clear();
    answer
}

#[test]
fn workers_that_wait_in_polls_are_busy_and_blocked() {
    let view = View::new(Some(&blocked(1_000)), &blocked(2_000), "server");
    let lines = Page::of_text(None, &view).lines(&view);
    let text = text(&lines);
    for part in [
        "2 of 2 workers busy (100 %)",
        "  blocked workers: 2 (1 in thread::Mutex \"sessions\" at src/lock.rs:4, 1 in unknown futex)\n",
        "  and 1 idle: 1 unknown futex\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let unknown = text.lines().find(|line| line.contains(": unknown futex"));
    let unknown = unknown.unwrap_or_else(|| panic!("{text}"));
    assert!(unknown.trim_end().ends_with("not known"), "{unknown}");
    assert!(!text.contains("< 1 ms"), "{text}");
}
