use std::fs;

use crate::{program, repository, run};

/// No link of the documentation is broken.
#[test]
fn the_links_of_this_repository() {
    let mut command = program("third_party");
    command.arg(repository());
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains(" 0 broken"), "{}", ran.out);
}

#[test]
fn what_leads_nowhere_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::create_dir(path("inner")).unwrap();
    fs::write(
        path("a.md"),
        "# One: a title!\n\n# Two\n# Two\n\n```sh\n# Three\n[code](nowhere.md)\n```\n\
         [itself](#two) [again](#two-1) [code](#three)\n\
         [web](https://example.org/x.md#y)\n",
    )
    .unwrap();
    let links = "[up](../a.md#one-a-title) and [twice](./../a.md#two \"title\") [no](../b.md#x)\n";
    // A hundred tasks ask for the same file; it is read once.
    fs::write(path("inner/c.md"), links.repeat(33)).unwrap();
    fs::write(path("inner/d.md"), "[folder](../inner) [file](no.txt)\n").unwrap();

    let mut command = program("third_party");
    command.arg(folder.path());
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let broken: Vec<_> = ran.out.lines().collect();
    assert_eq!(broken.len(), 1 + 33 + 1 + 1, "{}", ran.out);
    assert!(
        broken[0].ends_with("a.md:10: #three: no such heading"),
        "{}",
        ran.out
    );
    assert!(
        broken[1].ends_with("c.md:1: ../b.md#x: no such file"),
        "{}",
        ran.out
    );
    assert!(
        broken[34].ends_with("d.md:1: no.txt: no such file"),
        "{}",
        ran.out
    );
    let summary = broken[35];
    assert!(
        summary.starts_with("104 links in 3 files, 35 broken"),
        "{summary}"
    );
}

#[test]
fn a_file_is_read_once_however_many_ask() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::write(path("a.md"), "# Title\n").unwrap();
    fs::write(path("b.md"), "[a](a.md#title)\n".repeat(500)).unwrap();
    let mut command = program("third_party");
    command.args(["--at-once", "50"]).arg(folder.path());
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let summary = "500 links in 2 files, 0 broken; 1 files looked into, each once\n";
    assert_eq!(ran.out, summary);
}

#[test]
fn a_folder_that_is_not_there() {
    let mut command = program("third_party");
    command.arg("not-here");
    let ran = run(command, "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.starts_with("third_party: cannot read not-here: "),
        "{}",
        ran.err
    );
    assert_eq!(run(program("third_party"), "").code, 2);
}
