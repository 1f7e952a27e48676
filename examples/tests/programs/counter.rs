use serde_json::Value;

use crate::{program, run};

#[test]
fn every_length_is_measured_for_every_number_of_threads() {
    let mut command = program("counter");
    command.args(["--threads", "2,3", "--longest", "8192", "--rounds", "2"]);
    command.arg("--json");
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let tables: Value = serde_json::from_str(&ran.out).unwrap();
    let tables = tables.as_array().unwrap();
    let threads: Vec<_> = tables.iter().map(|table| &table["threads"]).collect();
    assert_eq!(threads, [2, 3]);
    for table in tables {
        let rows = table["rows"].as_array().unwrap();
        let lengths: Vec<_> = rows.iter().map(|row| &row["iterations"]).collect();
        assert_eq!(lengths, [1024, 2048, 4096, 8192]);
        for row in rows {
            for way in ["one_thread_ns", "condition_variable_ns", "blitz_io_ns"] {
                assert!(row[way].as_u64().unwrap() > 0, "{way}: {row}");
            }
        }
        for way in ["condition_variable", "blitz_io"] {
            let from = &table[format!("break_even_{way}")];
            assert!(from.is_null() || lengths.contains(&from), "{from}");
        }
    }
}

#[test]
fn a_table_ends_with_the_break_even() {
    let mut command = program("counter");
    command.args(["--threads", "2", "--longest", "1024", "--rounds", "1"]);
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.starts_with("2 threads, microseconds"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("blitz-io            faster "),
        "{}",
        ran.out
    );
}

#[test]
fn one_thread_is_not_compared_with_itself() {
    let mut command = program("counter");
    command.args(["--threads", "1"]);
    let ran = run(command, "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("1 is not in 2..=256"), "{}", ran.err);
}
