use crate::{program, run};

#[test]
fn members_from_the_input() {
    let input = "/join ann\n/join bob\nann: hello\n/who\n/leave ann\nbob: alone\n\nbob: a: b\n";
    let ran = run(program("chat"), input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let expected = "* ann has joined\n* bob has joined\nann: hello\n* here: ann, bob\n\
         * ann has left\nbob: alone\nbob: a: b\n\
         member  heard  missed\nann         1       0\nbob         3       0\n";
    assert_eq!(ran.out, expected);
}

#[test]
fn lines_that_cannot_be_followed() {
    let ran = run(
        program("chat"),
        "/join ann\n/join ann\nbob: hi\n/leave bob\nwhat\n/who\n",
    );
    assert_eq!(ran.code, 1);
    let expected = "chat: line 2: somebody here is called ann already\n\
         chat: line 3: nobody here is called bob\n\
         chat: line 4: nobody here is called bob\n\
         chat: line 5: neither `/join NAME`, `/leave NAME`, `/who` nor `NAME: TEXT`\n";
    assert_eq!(ran.err, expected);
    assert!(ran.out.contains("* here: ann\n"), "{}", ran.out);
}

/// Returns the table at the end: how many events each member has received and missed.
fn table(out: &str) -> Vec<(u64, u64)> {
    let rows = out
        .lines()
        .skip_while(|line| !line.starts_with("member "))
        .skip(1);
    rows.map(|row| {
        let mut cells = row
            .split_whitespace()
            .skip(1)
            .map(|cell| cell.parse().unwrap());
        (cells.next().unwrap(), cells.next().unwrap())
    })
    .collect()
}

#[test]
fn everybody_hears_everything() {
    let mut command = program("chat");
    command.args(["--members", "20", "--messages", "50", "--backlog", "2000"]);
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(table(&ran.out), [(1000, 0); 20]);
    assert_eq!(ran.out.matches(" has joined\n").count(), 20);
    for number in 1..=20 {
        // The messages of one member arrive in order.
        let said = format!("member-{number}: message ");
        let said = ran.out.lines().filter_map(|line| line.strip_prefix(&said));
        let expected: Vec<_> = (1..=50).map(|n| format!("{n} of 50")).collect();
        assert_eq!(said.collect::<Vec<_>>(), expected);
    }
}

/// A member that is too slow misses events, is told how many, and delays no other.
#[test]
fn nothing_is_lost_without_being_counted() {
    let mut command = program("chat");
    command.args([
        "--quiet",
        "--members",
        "50",
        "--messages",
        "40",
        "--backlog",
        "8",
    ]);
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rows = table(&ran.out);
    assert_eq!(rows.len(), 50);
    for (heard, missed) in rows {
        // Some of the up to 50 missed events may be arrivals of other members.
        assert!(
            (2000..=2050).contains(&(heard + missed)),
            "{heard} + {missed}"
        );
    }
}

#[test]
fn wrong_options_are_refused() {
    for arguments in [["--members", "0"], ["--backlog", "0"], ["--messages", "x"]] {
        let mut command = program("chat");
        command.args(arguments);
        assert_eq!(run(command, "").code, 2);
    }
}
