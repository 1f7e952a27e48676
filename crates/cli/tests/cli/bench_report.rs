//! `blitz bench report` from outside.

use std::fs;
use std::path::Path;

use super::common::expect;

/// Keeps a short run as `name`.
fn keep(folder: &Path, name: &str, more: &[&str]) -> String {
    let run = [
        "bench",
        "--quick",
        "--iterations=1",
        "--filter=^(mutex_uncontended|mutex_latency_8_1us)$",
        "--json",
    ];
    let file = folder.join(name);
    fs::write(&file, expect(0, &[&run, more].concat()).out).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn documents_are_made_of_several_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let quiet = ["1", "2", "3"].map(|name| keep(folder, name, &[]));
    let loaded = keep(folder, "4", &["--hog=1"]);
    let summary = folder.join("index.md");
    let before = "# Title\n\n<!-- figures:begin -->\nold\n<!-- figures:end -->\n\nrest\n";
    fs::write(&summary, before).unwrap();
    let page = folder.join("benchmarks.md");

    let mut arguments = vec!["bench", "report", "--draft"];
    arguments.extend(quiet.iter().chain([&loaded]).map(String::as_str));
    let files = [&page, folder, &summary].map(|path: &Path| path.to_str().unwrap());
    arguments.extend([
        "--page",
        files[0],
        "--charts",
        files[1],
        "--summary",
        files[2],
    ]);
    let ran = expect(0, &arguments);
    assert_eq!(ran.out, "");
    for name in [
        "benchmarks.md",
        "benchmark-light.svg",
        "benchmark-dark.svg",
        "index.md",
    ] {
        assert!(
            ran.err.contains(&format!("{name}.\n")),
            "{name}: {}",
            ran.err
        );
    }

    let written = fs::read_to_string(&page).unwrap();
    for part in [
        "Median of 3 runs",
        "| Mutex lock/unlock |",
        "## Waits of single operations",
        "## Beside 1 busy process",
    ] {
        assert!(written.contains(part), "{part} is missing in\n{written}");
    }
    let filled = fs::read_to_string(&summary).unwrap();
    assert!(
        filled.starts_with("# Title\n\n<!-- figures:begin -->\n<picture>"),
        "{filled}"
    );
    assert!(
        filled.ends_with("<!-- figures:end -->\n\nrest\n"),
        "{filled}"
    );
    assert!(
        filled.contains("| Mutex, lock and unlock |") && !filled.contains("old"),
        "{filled}"
    );
    let chart = fs::read_to_string(folder.join("benchmark-dark.svg")).unwrap();
    assert!(chart.contains("Mutex, lock and unlock"), "{chart}");

    // Without a file to write to, the page is printed.
    let printed = expect(
        0,
        &[&["bench", "report", "--draft"], &arguments[3..7]].concat(),
    );
    assert_eq!(printed.out, written);
}

#[test]
fn what_makes_no_report_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = keep(folder, "1", &[]);
    let loaded = keep(folder, "2", &["--hog=1"]);
    let page = folder.join("page.md");
    let page = page.to_str().unwrap();
    let plain = folder.join("plain.md");
    fs::write(&plain, "no place\n").unwrap();
    let plain = plain.to_str().unwrap();
    let foreign = folder.join("foreign.json");
    fs::write(&foreign, "{}").unwrap();
    let foreign = foreign.to_str().unwrap();

    let refused: [(i32, &[&str], &str); 8] = [
        (64, &[], "RUN"),
        (64, &[&run], "1 of 3 runs"),
        (64, &[&run, &run, &run], "not all of the runs are full ones"),
        (64, &["--draft", &loaded], "no run without load"),
        (
            1,
            &["--draft", &run, foreign],
            "it is no run of blitz bench",
        ),
        (1, &["--draft", "/no/such/run.json"], "cannot be read"),
        (
            1,
            &["--draft", &run, "--summary", plain],
            "<!-- figures:begin -->",
        ),
        (
            1,
            &["--draft", &run, "--readme", "/no/such/file"],
            "--summary",
        ),
    ];
    for (code, arguments, said) in refused {
        let ran = expect(
            code,
            &[&["bench", "report", "--page", page], arguments].concat(),
        );
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(!Path::new(page).exists(), "{arguments:?}");
    }
    let ran = expect(
        1,
        &[
            "bench",
            "report",
            "--draft",
            &run,
            "--page",
            "/no/such/folder/page.md",
        ],
    );
    assert!(ran.err.contains("cannot be written"), "{}", ran.err);
}
