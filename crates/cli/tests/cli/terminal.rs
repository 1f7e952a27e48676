//! The output on a terminal of 60 columns.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::ptr::{null, null_mut};

use super::common::blitz;

const COLUMNS: u16 = 60;

/// A run whose terminal is this test.
pub struct Session {
    child: Child,
    keyboard: File,
    shown: Vec<u8>,
}

impl Session {
    fn start(arguments: &[&str]) -> Session {
        Session::start_with(blitz(arguments))
    }

    /// Starts with another folder of the processes that answer.
    pub fn start_in(arguments: &[&str], home: &Path) -> Session {
        let mut command = blitz(arguments);
        command.env("XDG_RUNTIME_DIR", home);
        Session::start_with(command)
    }

    fn start_with(mut command: Command) -> Session {
        let (mut ours, mut theirs) = (-1, -1);
        let size = libc::winsize {
            ws_row: 24,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the pointers are to live numbers and a live size; the others may be
        // null.
        let opened = unsafe { libc::openpty(&mut ours, &mut theirs, null_mut(), null(), &size) };
        assert_eq!(opened, 0, "no terminal");
        // SAFETY: the call has just made these descriptors for us.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let copy = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(copy()).stdout(copy()).stderr(copy());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        // SAFETY: between fork and exec the closure makes two system calls. They give
        // the child a session whose terminal this is, so that Ctrl-C reaches it.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            })
        };
        Session {
            child: command.spawn().unwrap(),
            keyboard: ours,
            shown: Vec::new(),
        }
    }

    /// Reads on. Returns `false` at the end: no process has the terminal open any more.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = self.keyboard.read(&mut bytes).unwrap_or(0);
        self.shown.extend(&bytes[..count]);
        count > 0
    }

    pub fn read_until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            assert!(
                self.read(),
                "it ended without {text}: {:?}",
                String::from_utf8_lossy(&self.shown)
            );
        }
    }

    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, whatever it shows.
    pub fn code(mut self) -> Option<i32> {
        while self.read() {}
        self.child.wait().unwrap().code()
    }

    fn end(mut self) -> (Option<i32>, Vec<String>) {
        while self.read() {}
        (self.child.wait().unwrap().code(), self.screen())
    }

    /// Returns the lines that an endless screen shows now.
    fn screen(&self) -> Vec<String> {
        let mut screen = Screen::default();
        let text = String::from_utf8_lossy(&self.shown);
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            match character {
                '\u{1b}' => screen.control(&sequence(&mut rest)),
                other => screen.put(other),
            }
        }
        screen.lines.into_iter().map(String::from_iter).collect()
    }
}

/// Consumes the rest of a control sequence, up to the letter that ends it.
fn sequence(rest: &mut impl Iterator<Item = char>) -> String {
    let mut sequence = String::new();
    for character in rest {
        sequence.push(character);
        if character.is_ascii_alphabetic() {
            break;
        }
    }
    sequence
}

#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn line(&mut self) -> &mut Vec<char> {
        let row = self.row;
        if self.lines.len() <= row {
            self.lines.resize(row + 1, Vec::new());
        }
        &mut self.lines[row]
    }

    fn put(&mut self, character: char) {
        match character {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            other => {
                if self.column == usize::from(COLUMNS) {
                    (self.row, self.column) = (self.row + 1, 0);
                }
                let column = self.column;
                let line = self.line();
                if line.len() <= column {
                    line.resize(column + 1, ' ');
                }
                line[column] = other;
                self.column += 1;
            }
        }
        self.line();
    }

    fn control(&mut self, sequence: &str) {
        let number = sequence.trim_matches(|c: char| !c.is_ascii_digit());
        let number = number.parse().unwrap_or(1);
        match sequence.chars().last() {
            Some('K') => self.line().clear(),
            Some('H') => (self.row, self.column) = (0, 0),
            Some('J') => self.lines.truncate(self.row),
            Some('A') => self.row = self.row.saturating_sub(number),
            Some('B') => self.row += number,
            // Colours, and whether the cursor shows.
            Some('m' | 'h' | 'l') => {}
            other => panic!("an unknown sequence: {sequence:?} ({other:?})"),
        }
    }
}

#[test]
fn tables_and_lists_fit() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let route = blitz_io_ipc::Route::builder().directory(place.path());
    let _sender = route.sender("prices").unwrap();
    let runs: [&[&str]; 6] = [
        &["bench", "--list"],
        &["bench", "--list", "--filter", "^rwlock"],
        &[
            "bench",
            "--quick",
            "--iterations=1",
            "--filter=^(mutex_uncontended|mutex_latency_8_short|spawn_outside_busy_4)$",
        ],
        &["doctor"],
        &["ipc", "ls", &directory],
        &["ipc", "top", "--every=0.01", "--count=2", &directory],
    ];
    for arguments in runs {
        let mut session = Session::start(arguments);
        while session.read() {}
        let text = String::from_utf8_lossy(&session.shown).into_owned();
        // A longer line was broken by the terminal, not by the program.
        for line in text.split(['\n', '\r']) {
            let mut visible = 0;
            let mut characters = line.chars();
            while let Some(character) = characters.next() {
                match character {
                    '\u{1b}' => _ = sequence(&mut characters),
                    _ => visible += 1,
                }
            }
            assert!(visible <= usize::from(COLUMNS), "{visible}: {line:?}");
        }
        let (code, _) = session.end();
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
    }
}

#[test]
fn no_arguments_are_greeted_on_a_terminal_only() {
    let mut session = Session::start(&[]);
    while session.read() {}
    let text = String::from_utf8_lossy(&session.shown).into_owned();
    let offered = text
        .lines()
        .filter(|line| line.starts_with("  blitz "))
        .count();
    assert_eq!(offered, 10, "{text}");
    for line in text.lines() {
        assert!(line.trim_end().len() <= usize::from(COLUMNS), "{line:?}");
    }
    let (code, _) = session.end();
    assert_eq!(code, Some(0));
    // A script that forgot the command gets an error.
    let forgotten = blitz(&[]).output().unwrap();
    assert_eq!(forgotten.status.code(), Some(64));
    assert!(forgotten.stdout.is_empty());
}

#[test]
fn a_report_of_waits_fits_the_terminal() {
    let home = super::why::process(&super::why::stuck());
    let (code, screen) = Session::start_in(&["why"], home.path()).end();
    assert_eq!(code, Some(3), "{screen:?}");
    assert!(screen.len() > 4, "{screen:?}");
    for line in screen {
        assert!(line.chars().count() <= usize::from(COLUMNS), "{line:?}");
    }
}

#[test]
fn ctrl_c_clears_the_bar() {
    let mut session = Session::start(&[
        "bench",
        "--quick",
        "--iterations=10000",
        "--filter=^(mutex|rwlock_write)_uncontended$",
        "--hog=1",
    ]);
    session.read_until("uncontended · ");
    session.keyboard.write_all(&[3]).unwrap();
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen:?}");
    let stopping = screen.iter().any(|line| line.starts_with("Stopping after"));
    assert!(stopping, "{screen:?}");
    for line in screen {
        assert!(!line.contains('━') && !line.contains(" · "), "{line:?}");
    }
}
