//! `blitz bench` from outside.

use std::fs;
use std::process::Stdio;

use super::common::{blitz, expect};

/// The shortest possible run: one scenario, one iteration.
const TINY: [&str; 5] = [
    "bench",
    "--quick",
    "--iterations=1",
    "--filter=^mutex_uncontended$",
    "--tier=4",
];

fn tiny(more: &[&'static str]) -> Vec<&'static str> {
    [TINY.as_slice(), more].concat()
}

#[test]
fn a_quick_run_has_one_row_of_each_kind() {
    let rows = |arguments: &[&str]| {
        let listed = expect(0, arguments).out;
        let rows = listed.lines().filter_map(|line| line.strip_prefix("  "));
        rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let quick = rows(&["bench", "--list", "--quick"]);
    let all = rows(&["bench", "--list", "--quick", "--all"]);
    assert_eq!(all, rows(&["bench", "--list"]));
    assert!(
        quick.len() * 3 < all.len() * 2,
        "{} of {}",
        quick.len(),
        all.len()
    );
    assert!(quick.iter().all(|row| all.contains(row)));
    // Kinds, not numbers: one count of threads is enough, and each length of section has its row.
    let contended: Vec<_> = quick
        .iter()
        .filter(|row| row.starts_with("mutex_contended"))
        .collect();
    assert_eq!(
        contended,
        ["mutex_contended_2_short", "mutex_contended_2_1us"]
    );
    // A choice of rows is taken as it is.
    let chosen = ["bench", "--list", "--quick", "--filter", "^mutex_contended"];
    assert!(rows(&chosen).len() > 2);
    expect(64, &["bench", "--list", "--all"]);
}

#[test]
fn a_run_prints_a_table() {
    let ran = expect(0, &TINY);
    for word in ["mutex_uncontended", "blitz-io", "ratio", "winner", "won"] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "colours without a terminal");
    assert_eq!(ran.err, "", "a progress bar without a terminal");
}

#[test]
fn help_tells_the_default_of_iterations_once() {
    let help = expect(0, &["bench", "--help"]).out;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = format!(
        "Measured iterations of each scenario [default: {}; with --quick: {}]",
        blitz_io_bench::Settings::FULL.iterations,
        blitz_io_bench::Settings::QUICK.iterations
    );
    assert_eq!(words.matches(&told).count(), 1, "{help}");
    assert!(!words.contains("fewer"), "{help}");
}

#[test]
fn a_run_notes_how_busy_the_machine_was() {
    let document = expect(0, &tiny(&["--json"])).json();
    let busy = &document["metadata"]["busy_at_start"];
    assert_eq!(busy.is_number(), cfg!(target_os = "linux"), "{busy}");
}

#[test]
fn json_is_the_schema_and_nothing_else() {
    let run = || expect(0, &tiny(&["--json"])).json();
    let document = run();
    let meta = &document["metadata"];
    assert_eq!(meta["runtime"], "blitz-io");
    assert_eq!(meta["iterations"], 1);
    assert_eq!(meta["workers"], 4);
    for key in [
        "version",
        "sync_ops",
        "channel_ops",
        "async_ops",
        "warmup",
        "cpu",
        "cores",
        "os",
        "kernel",
    ] {
        assert!(!meta[key].is_null(), "metadata.{key}");
    }
    let row = &document["benchmarks"]["mutex_uncontended"];
    assert_eq!(row["tier"], 4);
    assert_eq!(row["verified"], true);
    // A thread of the program's own may start during the run, but not each time.
    let again = || run()["benchmarks"]["mutex_uncontended"]["allocs_per_op"] == 0.0;
    assert!(row["allocs_per_op"] == 0.0 || (0..5).any(|_| again()));
    for figures in [row, &row["peers"]["std"], &row["peers"]["parking_lot"]] {
        for key in [
            "ns_per_op",
            "ops_per_sec",
            "median_ns",
            "min_ns",
            "ops_per_iter",
        ] {
            assert!(figures[key].as_f64().unwrap() > 0.0, "{key}");
        }
    }
    let interval = row["ratio_ci95"].as_array().unwrap();
    let ratio = row["ratio"].as_f64().unwrap();
    assert!(interval[0].as_f64().unwrap() <= ratio && ratio <= interval[1].as_f64().unwrap());
    assert!(["blitz-io", "tie", "std", "parking_lot"].contains(&row["winner"].as_str().unwrap()));
    assert!(!row["best_peer"].is_null());
}

#[test]
fn fast_paths_and_tasks_have_their_heap_bytes_summed_up() {
    let rows = "^(mutex|channel_round_trip|oneshot|mutex_tasks)$";
    let some = ["bench", "--quick", "--iterations=1", "--filter", rows];
    let ran = expect(0, &some);
    for word in ["Tier 1:", "Tier 2:", "Tier 3:", "Heap bytes per operation"] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
    let document = expect(0, &[some.as_slice(), &["--json"]].concat()).json();
    let heap = &document["heap_bytes_per_op"];
    assert_eq!(heap["rows"], 4);
    // Tokio's oneshot channel is one allocation; the rest allocates almost nothing.
    assert!(heap["tokio"].as_f64().unwrap() > 5.0, "{heap}");
    let ours = heap["blitz-io"].as_f64().unwrap();
    assert_eq!(heap["ratio"].is_null(), ours == 0.0, "{heap}");
    assert_eq!(document["benchmarks"]["mutex"]["ops_per_iter"], 250_000);
    assert_eq!(document["benchmarks"]["mutex_tasks"]["threads"], 4);
    let peer = &document["benchmarks"]["oneshot"]["peers"]["tokio"];
    assert!(peer["allocs_per_op"].as_f64().unwrap() >= 1.0, "{peer}");

    // Rows of threads do not take part in it.
    assert!(expect(0, &tiny(&["--json"])).json()["heap_bytes_per_op"].is_null());
}

#[test]
fn runtimes_are_measured_with_one_two_and_four_workers() {
    let rows = "^(yield_now_[124]|mutex_tasks_own)$";
    let some = ["bench", "--quick", "--iterations=1", "--filter", rows];
    let document = expect(0, &[some.as_slice(), &["--json"]].concat()).json();
    let rows = document["benchmarks"].as_object().unwrap();
    assert_eq!(rows.len(), 4);
    for workers in [1, 2, 4] {
        let row = &rows[&format!("yield_now_{workers}")];
        assert_eq!(
            (&row["tier"], &row["threads"]),
            (&5.into(), &workers.into())
        );
        for peer in ["tokio", "smol"] {
            assert_eq!(row["peers"][peer]["verified"], true, "{row}");
        }
    }
    assert_eq!(rows["mutex_tasks_own"]["tier"], 3);
}

#[test]
fn a_row_about_waits_and_a_row_about_bytes_say_so() {
    let rows = "^(wake_idle_1|idle_task_bytes)$";
    let options = ["--quick", "--iterations=1", "--peers=tokio", "--filter"];
    let some = [&["bench"], options.as_slice(), &[rows]].concat();
    let ran = expect(0, &some);
    for word in ["p50 ", " B tokio", "longest"] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
    let document = expect(0, &[some.as_slice(), &["--json"]].concat()).json();
    let wake = &document["benchmarks"]["wake_idle_1"];
    assert_eq!(wake["compares"], "p50_ns");
    assert!(wake["latency"]["p99_9_ns"].as_f64().unwrap() > 0.0);
    let task = &document["benchmarks"]["idle_task_bytes"];
    assert_eq!(task["compares"], "bytes_per_op");
    let bytes = task["kept_bytes_per_op"].as_f64().unwrap();
    assert!((16.0..4096.0).contains(&bytes), "{bytes}");
}

#[test]
fn the_page_is_written_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    // The run replaces the previous content, which is longer.
    fs::write(&file, "x".repeat(1_000_000)).unwrap();
    let mut arguments = TINY.to_vec();
    arguments.extend(["--json", "--html", file.to_str().unwrap()]);
    let ran = expect(0, &arguments);
    ran.json();
    let said = format!("The page is in {}.\n", file.display());
    assert_eq!(ran.err, said);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.ends_with("</html>\n"));
    assert!(page.contains("id=\"mutex_uncontended\""));
    for fetched in ["http:", "https:", "<link", "<script", "url("] {
        assert!(!page.contains(fetched), "{fetched}");
    }
}

#[test]
fn a_page_on_standard_output_is_alone_there() {
    let ran = expect(0, &tiny(&["--peers=none", "--html=-"]));
    assert!(ran.out.starts_with("<!DOCTYPE html>"), "{}", ran.out);
    assert!(ran.out.ends_with("</html>\n"), "{}", ran.out);
    // The table is not lost.
    assert!(ran.err.contains("mutex_uncontended"), "{}", ran.err);
}

#[test]
fn an_unwritable_page_is_known_before_the_run() {
    let ran = expect(1, &["bench", "--html", "/no/such/folder/report.html"]);
    assert!(
        ran.err.contains("/no/such/folder/report.html"),
        "{}",
        ran.err
    );
    assert_eq!(ran.out, "");
}

#[test]
fn a_run_is_compared_with_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    fs::write(&file, expect(0, &tiny(&["--json"])).out).unwrap();
    let file = file.to_str().unwrap();

    let mut arguments = TINY.to_vec();
    arguments.extend(["--compare", file]);
    let ran = expect(0, &arguments);
    for word in ["Now against then", "then", "now", "change", "judgement"] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }

    // With --json the comparison must not get into the document.
    arguments.push("--json");
    let ran = expect(0, &arguments);
    ran.json();
    assert!(ran.err.contains("Now against then"));

    // Another row: each side names the rows that the other lacks.
    let arguments = [
        "bench",
        "--quick",
        "--iterations=1",
        "--filter=^rwlock_read_uncontended$",
        "--compare",
        file,
    ];
    let ran = expect(0, &arguments);
    assert!(
        ran.out
            .contains("Only in this run: rwlock_read_uncontended.")
    );
    assert!(
        ran.out
            .contains("Only in the older run: mutex_uncontended.")
    );
}

#[test]
fn a_file_that_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.json");
    for content in ["", "{", "[]", "{\"metadata\": {}}", "not json"] {
        fs::write(&foreign, content).unwrap();
        let ran = expect(1, &["bench", "--compare", foreign.to_str().unwrap()]);
        assert!(
            ran.err.contains("it is no run of blitz bench"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("blitz bench --json"), "{}", ran.err);
    }
    let ran = expect(1, &["bench", "--compare", "/no/such/file.json"]);
    assert!(ran.err.contains("cannot be read"), "{}", ran.err);
}

#[test]
fn the_list_follows_the_filters() {
    let all = expect(0, &["bench", "--list"]).out;
    let some = expect(0, &["bench", "--list", "--filter", "^mutex_contended_2"]).out;
    assert!(all.contains("mutex_uncontended"));
    let tiers: Vec<_> = all
        .lines()
        .filter(|line| line.starts_with("Tier"))
        .collect();
    assert!(tiers.is_sorted(), "{tiers:?}");
    let first = [
        "Tier 1: Single-thread fast paths",
        "Tier 2: Channel fast paths",
        "Tier 3: Async contention",
        "Tier 4: Threads",
        "Tier 5: Runtime",
    ];
    assert_eq!(tiers[..5], first);
    assert!(all.contains("(ours: mpsc)") && all.contains("(ours: mpmc)"));
    assert!(some.contains("mutex_contended_2_short"));
    assert!(!some.contains("mutex_uncontended"));

    let list = expect(0, &["bench", "--list", "--json", "--peers", "parking_lot"]).json();
    let list = list.as_array().unwrap();
    assert!(!list.is_empty());
    for entry in list {
        assert_eq!(entry["peers"], serde_json::json!(["parking_lot"]));
    }
}

#[test]
fn the_filter_ignores_case_and_looks_at_titles() {
    let list = |filter| expect(0, &["bench", "--list", "--filter", filter]).out;
    assert!(list("^MUTEX_uncontended$").contains("mutex_uncontended"));
    // No name has a slash.
    let by_title = list("rwlock read/unlock");
    assert!(by_title.contains("rwlock_read_uncontended"), "{by_title}");
    assert_eq!(by_title.lines().count(), 2, "{by_title}");
}

#[test]
fn alone_means_alone() {
    let document = expect(0, &tiny(&["--peers=none", "--json"])).json();
    let row = &document["benchmarks"]["mutex_uncontended"];
    assert_eq!(row["peers"], serde_json::json!({}));
    assert!(row["winner"].is_null() && row["ratio"].is_null());
}

#[test]
fn wrong_arguments_end_with_code_2_and_say_what_to_do() {
    let wrong: [(&[&str], &str); 17] = [
        (&["--list", "--html", "x.html"], "cannot be used with"),
        (&["--tier", "0"], "4 (Threads)"),
        (&["--tier", "4", "--tier", "99"], "there is no tier 99"),
        (&["--tier", "x"], "x"),
        (&["--iterations", "0"], "1..=10000"),
        (&["--workers", "0"], "1..=1024"),
        (&["--workers", "many"], "many"),
        (&["--filter", "("], "backslash"),
        (&["--filter", "no_such_row"], "--list"),
        (&["--peers", "nobody"], "parking_lot"),
        (&["--peers", "none,std"], "runs it alone"),
        (&["--no-such-flag"], "--help"),
        (&["--json", "--html", "-"], "--html report.html"),
        (&["--hog", "-1"], "-1"),
        (&["--hog", "1000"], "0..=256"),
        (&["--cpus", "1-0"], "ends before it begins"),
        (&["--cpus", "1023"], "may run on"),
    ];
    for (arguments, advice) in wrong {
        let ran = expect(64, &[&["bench"], arguments].concat());
        assert!(ran.err.contains(advice), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    expect(64, &[]);
    expect(64, &["no-such-command"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_only_what_is_written_there() {
    // The page is lost, but the table is not.
    let ran = expect(1, &tiny(&["--peers=none", "--html=/dev/full"]));
    assert!(
        ran.err.contains("/dev/full cannot be written"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("mutex_uncontended"), "{}", ran.out);

    let full = || std::fs::File::create("/dev/full").unwrap();
    let mut listing = blitz(&["bench", "--list"]);
    let output = listing.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    for arguments in [&["--help"][..], &["bench", "--help"], &["--version"]] {
        let output = blitz(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard output cannot be written"), "{said}");
    }
    let page = blitz(&tiny(&["--peers=none", "--html=-"]))
        .stdout(full())
        .output()
        .unwrap();
    assert_eq!(page.status.code(), Some(1));
    // The message cannot be printed, but the exit code is right.
    let mut wrong = blitz(&["bench", "--filter", "no_such_row"]);
    let status = wrong.stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(64));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = blitz(&["bench", "--list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Scripts read `benchmarks.NAME.FIGURE`: each value there is a number.
#[test]
fn the_flat_form_has_numbers_alone() {
    let document = expect(0, &tiny(&["--json=flat"])).json();
    assert_eq!(document["metadata"]["runtime"], "blitz-io");
    let row = document["benchmarks"]["mutex_uncontended"]
        .as_object()
        .unwrap();
    assert!(row.values().all(serde_json::Value::is_number), "{row:?}");
    for figure in ["ns_per_op", "bytes_per_op", "allocs_per_op"] {
        assert!(row.contains_key(figure), "{figure}");
    }
    // The full form has them in the same place.
    let full = expect(0, &tiny(&["--json=full"])).json();
    let full = &full["benchmarks"]["mutex_uncontended"];
    assert!(row.keys().all(|figure| full[figure].is_number()), "{full}");
    expect(64, &tiny(&["--json=other"]));
}

#[test]
fn a_profile_of_an_unknown_row_says_where_the_rows_are() {
    let ran = expect(64, &["bench", "--profile", "no_such_row"]);
    assert!(ran.err.contains("blitz bench --list"), "{}", ran.err);
}

/// Tests with a stand-in for perf, or without any.
#[cfg(unix)]
mod profiles {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Output;

    use super::super::common::blitz;
    use super::fs;

    fn profile(folder: &Path, path: &Path) -> Output {
        let mut command = blitz(&["bench", "--profile", "mutex_uncontended"]);
        command.current_dir(folder).env("PATH", path);
        command.output().unwrap()
    }

    #[test]
    fn a_profile_without_perf_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let ran = profile(folder.path(), folder.path());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(said.contains("linux-perf"), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_profile_is_written_as_an_svg() {
        let folder = tempfile::tempdir().unwrap();
        let perf = folder.path().join("perf");
        let script = "#!/bin/sh\n\
            case \"$1\" in\n\
            record) case \"$*\" in *'--filter=^mutex_uncontended$'*) ;; *) exit 3;; esac;;\n\
            script) printf 'blitz \\n\\t 12 inner\\n\\t 13 main\\n\\n';;\n\
            esac\n";
        fs::write(&perf, script).unwrap();
        fs::set_permissions(&perf, fs::Permissions::from_mode(0o755)).unwrap();
        let ran = profile(folder.path(), folder.path());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{said}");
        let svg = fs::read_to_string(folder.path().join("mutex_uncontended.svg")).unwrap();
        assert!(svg.contains("inner: 1 samples"), "{svg}");

        fs::write(&perf, "#!/bin/sh\necho not permitted >&2\nexit 1\n").unwrap();
        let ran = profile(folder.path(), folder.path());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(
            said.contains("not permitted") && said.contains("paranoid"),
            "{said}"
        );
    }
}
