//! Files in memory, and what faults of a disk leave of them.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use blitz_io_sim::{Faults, Plan, Program, Schedule, Simulator, Verdict};

use crate::support::{
    Compiled, c, find, is_found_and_shrinks, is_simulated, passes_twice, run, test, text,
};

fn faults(names: &str) -> Faults {
    names.parse().unwrap()
}

fn in_memory(source: &str) -> Compiled {
    let head = "#include <dirent.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n\
                static int put(int fd, const void *from, size_t n) { return write(fd, from, n) == (ssize_t)n; }\n";
    c(&format!("{head}{source}")).with_memory_files()
}

/// The simulator of tasks has a copy of the rules, because neither package can depend on the other.
#[test]
fn the_rules_of_a_crash_are_those_of_simulated_tasks() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let own = fs::read_to_string(crates.join("sim/src/shared/unsynced.rs")).unwrap();
    let other = fs::read_to_string(crates.join("os/src/simulation/unsynced.rs")).unwrap();
    assert!(own == other, "change both copies of unsynced.rs");
}

/// Runs one seed, which must pass.
fn passes(program: &Program) -> String {
    let mut simulator = Simulator::start(program).unwrap();
    let outcome = run(&mut simulator, Schedule::Random, 1);
    let told = format!("{}{}", outcome.report, text(&outcome));
    assert_eq!(outcome.verdict, Verdict::Passed, "{told}");
    text(&outcome)
}

/// Names and bytes of a real folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut all: Vec<_> = entries
        .map(|entry| {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            (entry.file_name().into_string().unwrap(), bytes)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn real_files_are_read_and_never_changed() {
    let compiled = in_memory(
        r#"
int main(void) {
    char buffer[9] = "";
    struct stat s;
    int fd = open("real", O_RDWR);
    assert(read(fd, buffer, 8) == 3 && !strcmp(buffer, "old"));
    assert(pwrite(fd, "new", 3, 0) == 3 && ftruncate(fd, 2) == 0);
    close(fd);
    fd = open("real", O_RDONLY);
    assert(read(fd, buffer, 8) == 2 && !memcmp(buffer, "ne", 2));
    assert(fstat(fd, &s) == 0 && s.st_size == 2 && S_ISREG(s.st_mode));
    close(fd);
    assert(rename("real", "other") == 0 && access("real", F_OK) == -1 && errno == ENOENT);
    assert(unlink("gone") == 0 && stat("gone", &s) == -1 && errno == ENOENT);
    assert(chmod("kept", 0600) == 0 && stat("kept", &s) == 0 && (s.st_mode & 0777) == 0600);
    assert(mkdir("folder/new", 0700) == 0 && rmdir("folder/new") == 0);
    assert(truncate("kept", 0) == 0 && stat("kept", &s) == 0 && s.st_size == 0);
    return 0;
}"#,
    );
    fs::write(compiled.folder().join("real"), "old").unwrap();
    fs::write(compiled.folder().join("gone"), "x").unwrap();
    fs::write(compiled.folder().join("kept"), "kept").unwrap();
    fs::create_dir(compiled.folder().join("folder")).unwrap();
    let before = contents(compiled.folder());
    // Each run starts with the real files.
    passes_twice(&compiled.program, Faults::NONE, 3);
    assert!(contents(compiled.folder()) == before);
}

#[test]
fn offsets_appends_holes_and_duplicates_are_those_of_the_system() {
    let compiled = in_memory(
        r#"
#include <sys/uio.h>
int main(void) {
    char buffer[20] = "";
    struct stat s;
    assert(open("file", O_RDONLY) == -1 && errno == ENOENT);
    int fd = open("file", O_CREAT | O_EXCL | O_RDWR, 0640);
    assert(open("file", O_CREAT | O_EXCL | O_RDWR, 0640) == -1 && errno == EEXIST);
    assert(put(fd, "0123456789", 10) && lseek(fd, 2, SEEK_SET) == 2);
    int same = dup(fd), own = open("file", O_RDONLY), end = open("file", O_WRONLY | O_APPEND);
    assert(read(same, buffer, 3) == 3 && !memcmp(buffer, "234", 3) && lseek(fd, 0, SEEK_CUR) == 5);
    assert(read(own, buffer, 2) == 2 && !memcmp(buffer, "01", 2));
    assert(put(end, "ab", 2) && fstat(own, &s) == 0 && s.st_size == 12);
    struct iovec parts[2] = { { "c", 1 }, { "d", 1 } };
    assert(writev(end, parts, 2) == 2 && pread(own, buffer, 20, 9) == 5 && !memcmp(buffer, "9abcd", 5));
    assert(write(own, "x", 1) == -1 && errno == EBADF);
    assert(lseek(fd, 20, SEEK_SET) == 20 && put(fd, "z", 1) && pread(own, buffer, 1, 15) == 1 && buffer[0] == 0);
    assert(fallocate(fd, 0, 0, 100) == 0 && fstat(fd, &s) == 0 && s.st_size == 100);
    assert(ftruncate(fd, 3) == 0 && pread(own, buffer, 20, 0) == 3);
    // A file without a name lives until the last descriptor is closed.
    assert(unlink("file") == 0 && fstat(fd, &s) == 0 && s.st_nlink == 0);
    close(fd); close(end); close(own);
    assert(pread(same, buffer, 20, 0) == 3 && !memcmp(buffer, "012", 3));
    close(same);
    assert(read(same, buffer, 1) == -1 && errno == EBADF);
    fd = open("file", O_CREAT | O_TRUNC | O_RDWR, 0600);
    assert(fstat(fd, &s) == 0 && s.st_size == 0);
    return 0;
}"#,
    );
    passes_twice(&compiled.program, Faults::USUAL, 10);
}

#[test]
fn names_are_given_changed_and_removed() {
    let compiled = in_memory(
        r#"
int main(void) {
    char buffer[4096];
    struct stat s, t;
    assert(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && mkdir("a", 0755) == -1 && errno == EEXIST);
    assert(rmdir("a") == -1 && errno == ENOTEMPTY);
    int fd = open("a/b/f", O_CREAT | O_WRONLY, 0644);
    assert(put(fd, "f", 1));
    assert(link("a/b/f", "a/g") == 0 && stat("a/g", &s) == 0 && fstat(fd, &t) == 0);
    assert(s.st_ino == t.st_ino && s.st_nlink == 2);
    assert(symlink("b/f", "a/l") == 0 && lstat("a/l", &s) == 0 && S_ISLNK(s.st_mode));
    assert(stat("a/l", &s) == 0 && s.st_ino == t.st_ino);
    assert(readlink("a/l", buffer, 99) == 3 && !memcmp(buffer, "b/f", 3));
    assert(open("a/l", O_RDONLY | O_NOFOLLOW) == -1 && errno == ELOOP);
    assert(symlink("loop", "loop") == 0 && open("loop", O_RDONLY) == -1 && errno == ELOOP);
    assert(rename("a", "a/b/c") == -1 && errno == EINVAL);
    assert(rename("a/b", "moved") == 0 && stat("moved/f", &s) == 0 && s.st_ino == t.st_ino);
    assert(stat("a/l", &s) == -1 && errno == ENOENT);
    assert(rename("moved", "a/g") == -1 && errno == ENOTDIR && rename("a/g", "moved") == -1 && errno == EISDIR);
    assert(unlink("moved") == -1 && errno == EISDIR && rmdir("a/g") == -1 && errno == ENOTDIR);
    assert(stat("a/g/x", &s) == -1 && errno == ENOTDIR);
    assert(chdir("moved") == 0 && getcwd(buffer, sizeof buffer) && strstr(buffer, "/moved"));
    assert(stat("f", &s) == 0 && stat("../a/g", &s) == 0 && s.st_nlink == 2);
    int folder = open("..", O_RDONLY | O_DIRECTORY);
    assert(fstatat(folder, "a/g", &s, 0) == 0 && unlinkat(folder, "a/g", 0) == 0 && fstat(fd, &s) == 0 && s.st_nlink == 1);
    assert(renameat2(folder, "a/l", folder, "moved/f", RENAME_NOREPLACE) == -1 && errno == EEXIST);
    assert(fchdir(folder) == 0 && rename("moved/f", "a/l") == 0 && lstat("a/l", &s) == 0 && S_ISREG(s.st_mode));
    return 0;
}"#,
    );
    passes_twice(&compiled.program, Faults::NONE, 5);
}

#[test]
fn a_listing_has_real_names_and_new_ones_and_none_that_was_removed() {
    let compiled = in_memory(
        r#"
static void list(void) {
    DIR *folder = opendir("folder");
    for (struct dirent *e; (e = readdir(folder)) != NULL;) printf("%s%s ", e->d_name, e->d_type == DT_DIR ? "/" : "");
    rewinddir(folder);
    assert(!strcmp(readdir(folder)->d_name, "."));
    closedir(folder);
    puts("");
}
int main(void) {
    list();
    unlink("folder/one");
    rename("folder/two", "folder/zwei");
    mkdir("folder/new", 0755);
    list();
    for (int i = 0; i < 2000; i++) {
        char name[99];
        sprintf(name, "folder/new/a name that is not very short, of number %d", i);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *folder = opendir("folder/new");
    int count = 0;
    while (readdir(folder) != NULL) count++;
    printf("%d\n", count);
    return 0;
}"#,
    );
    fs::create_dir_all(compiled.folder().join("folder/sub")).unwrap();
    for name in ["one", "two", "three"] {
        fs::write(compiled.folder().join("folder").join(name), name).unwrap();
    }
    let told = passes(&compiled.program);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "./ ../ one sub/ three two ",
            "./ ../ new/ sub/ three zwei ",
            "2002"
        ]
    );
}

#[test]
fn std_program_uses_files() {
    if !is_simulated() {
        return;
    }
    let folder = std::env::temp_dir().join("blitz-sim-files");
    fs::create_dir_all(folder.join("a/b")).unwrap();
    let path = folder.join("a/file");
    fs::write(&path, "hello").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "hello");
    let data = fs::metadata(&path).unwrap();
    assert!(data.is_file() && data.len() == 5 && data.nlink() == 1);
    assert!(data.modified().unwrap() > std::time::UNIX_EPOCH);
    let mut file = fs::OpenOptions::new()
        .read(true)
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b", world").unwrap();
    file.sync_all().unwrap();
    file.seek(SeekFrom::Start(7)).unwrap();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "world");
    file.set_len(4).unwrap();
    let mut part = [0; 2];
    file.read_exact_at(&mut part, 2).unwrap();
    assert_eq!(&part, b"ll");
    file.set_permissions(fs::Permissions::from_mode(0o600))
        .unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::copy(&path, folder.join("copy")).unwrap(), 4);
    fs::hard_link(&path, folder.join("second")).unwrap();
    symlink("a/file", folder.join("link")).unwrap();
    assert_eq!(fs::read(folder.join("link")).unwrap(), b"hell");
    assert_eq!(
        fs::canonicalize(folder.join("link")).unwrap(),
        fs::canonicalize(&path).unwrap()
    );
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a", "copy", "link", "second"]);
    fs::rename(folder.join("copy"), folder.join("a/b/copy")).unwrap();
    let temporary = tempfile::NamedTempFile::new().unwrap();
    temporary.as_file().write_all(b"x").unwrap();
    temporary.persist(folder.join("persisted")).unwrap();
    assert!(tempfile::tempfile().unwrap().write_all(b"x").is_ok());
    fs::remove_dir_all(&folder).unwrap();
    assert!(!folder.exists());
}

#[test]
fn files_of_std_are_those_of_the_system() {
    passes_twice(
        &test("files::std_program_uses_files").memory_files(),
        Faults::USUAL,
        10,
    );
    assert!(!std::env::temp_dir().join("blitz-sim-files").exists());
}

#[test]
fn a_mapping_and_writes_see_each_other() {
    let compiled = in_memory(
        r#"
int main(void) {
    char buffer[5] = "";
    int fd = open("file", O_CREAT | O_RDWR, 0600);
    assert(ftruncate(fd, 4096) == 0);
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *private = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    assert(at != MAP_FAILED && private != MAP_FAILED);
    memcpy(at, "abcd", 4);
    assert(pread(fd, buffer, 4, 0) == 4 && !strcmp(buffer, "abcd") && !memcmp(private, "abcd", 4));
    assert(pwrite(fd, "x", 1, 1) == 1 && !memcmp(at, "axcd", 4) && msync(at, 4096, MS_SYNC) == 0);
    close(fd);
    at[0] = 'z';
    fd = open("file", O_RDONLY);
    assert(pread(fd, buffer, 4, 0) == 4 && !strcmp(buffer, "zxcd"));
    return 0;
}"#,
    );
    passes_twice(&compiled.program, Faults::NONE, 5);
}

#[test]
fn threads_that_append_without_a_lock_are_found() {
    let compiled = in_memory(
        r#"
static void add(void) {
    int fd = open("count", O_RDWR), value = 0;
    assert(pread(fd, &value, 4, 0) == 4);
    value++;
    assert(pwrite(fd, &value, 4, 0) == 4);
    close(fd);
}
static void *other(void *x) { add(); return x; }
int main(void) {
    int fd = open("count", O_CREAT | O_RDWR, 0600), value = 0;
    put(fd, &value, 4);
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    add();
    pthread_join(t, NULL);
    assert(pread(fd, &value, 4, 0) == 4);
    if (value != 2) { puts("an update was lost"); return 1; }
    return 0;
}"#,
    );
    is_found_and_shrinks(&compiled.program, Faults::NONE, "an update was lost");
}

#[test]
fn a_full_disk_is_found() {
    let compiled = in_memory(
        r#"
int main(void) {
    int fd = open("file", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 5; i++)
        if (!put(fd, "0123456789", 10)) { puts("no room"); return 1; }
    return 0;
}"#,
    );
    passes_twice(&compiled.program, faults("eintr,eagain,net"), 20);
    is_found_and_shrinks(&compiled.program, faults("enospc"), "no room");
}

/// What `fsync` could not write is lost, though a second one succeeds.
#[test]
fn a_sync_that_fails_and_is_repeated_is_found() {
    let compiled = in_memory(
        r#"
static int synced(int fd) { return fsync(fd) == 0 || fsync(fd) == 0; }
int main(void) {
    char c;
    int here = open(".", O_RDONLY);
    int done = open("done", O_RDONLY);
    if (done >= 0) {
        int fd = open("data", O_RDONLY);
        if (fd < 0 || pread(fd, &c, 1, 0) == 0) { puts("synced data is lost"); return 1; }
        return 0;
    }
    int fd = open("data", O_CREAT | O_RDWR, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || !synced(fd) || !synced(here)) return 0;
    if (open("done", O_CREAT | O_RDWR, 0600) < 0 || !synced(here)) return 0;
    fsync(fd);
    return 0;
}"#,
    );
    passes_twice(&compiled.program, faults("crash"), 100);
    is_found_and_shrinks(
        &compiled.program,
        faults("eio,crash"),
        "synced data is lost",
    );
}

#[test]
fn a_write_without_a_sync_is_lost_in_a_crash() {
    let compiled = in_memory(
        r#"
int main(void) {
    int fd = open("log", O_CREAT | O_RDWR | O_APPEND, 0600);
    int told = open("told", O_CREAT | O_RDWR | O_APPEND | O_SYNC, 0600);
    assert(fsync(open(".", O_RDONLY)) == 0);
    // Each acknowledged byte is in the log.
    if (lseek(told, 0, SEEK_END) > lseek(fd, 0, SEEK_END)) { puts("acknowledged, and lost"); return 1; }
    for (int i = 0; i < 3; i++) { put(fd, "x", 1); put(told, "x", 1); }
    return 0;
}"#,
    );
    is_found_and_shrinks(&compiled.program, faults("crash"), "acknowledged, and lost");
}

/// A record of several sectors has a mark at both ends.
const RECORDS: &str = r#"
int main(void) {
    char record[2048], back[2048];
    int fd = open("records", O_CREAT | O_RDWR, 0600);
    assert(fsync(open(".", O_RDONLY)) == 0);
    int size = lseek(fd, 0, SEEK_END);
    if (size >= 2048 && pread(fd, back, 2048, 0) == 2048 && back[0] != back[2047]) { puts("torn"); return 1; }
    if (size > 0 && size < 2048) { puts("short"); return 1; }
    for (int i = 1; i <= 3; i++) {
        memset(record, i, sizeof record);
        assert(pwrite(fd, record, sizeof record, 0) == sizeof record && fsync(fd) == 0);
    }
    return 0;
}"#;

#[test]
fn a_torn_write_is_found() {
    let compiled = in_memory(RECORDS);
    is_found_and_shrinks(&compiled.program, faults("crash"), "torn");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let torn = (0..500).find_map(|seed| {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("crash");
        let outcome = simulator.run(&plan).unwrap();
        (text(&outcome).contains("short")).then_some(outcome)
    });
    let report = torn.expect("the first record is torn, too").report;
    assert!(report.contains("crash 1 at step "), "{report}");
}

/// The new contents of a file are written beside it, and renamed over it.
fn replaces(is_synced: bool) -> Compiled {
    let source = r#"
static void replace(const char *with, int synced) {
    int fd = open("new", O_CREAT | O_TRUNC | O_RDWR, 0600);
    assert(put(fd, with, 3) && (!synced || fsync(fd) == 0));
    assert(rename("new", "value") == 0 && fsync(open(".", O_RDONLY)) == 0);
    close(fd);
}
int main(void) {
    char buffer[4] = "";
    int fd = open("value", O_RDONLY);
    if (fd < 0) replace("old", 1);
    else if (read(fd, buffer, 4) != 3 || (strcmp(buffer, "old") && strcmp(buffer, "new"))) {
        puts("neither old nor new");
        return 1;
    }
    replace("new", SYNCED);
    return 0;
}"#;
    in_memory(&source.replace("SYNCED", if is_synced { "1" } else { "0" }))
}

#[test]
fn a_rename_before_the_bytes_are_synced_is_found() {
    let compiled = replaces(false);
    is_found_and_shrinks(&compiled.program, faults("crash"), "neither old nor new");
}

#[test]
fn a_rename_after_the_bytes_are_synced_passes() {
    let compiled = replaces(true);
    passes_twice(&compiled.program, faults("crash"), 300);
}

#[test]
fn a_file_whose_folder_is_not_synced_is_lost() {
    let compiled = in_memory(
        r#"
int main(void) {
    int told = open("told", O_CREAT | O_RDWR | O_SYNC, 0600);
    assert(mkdir("folder", 0700) == 0 || errno == EEXIST);
    assert(fsync(open(".", O_RDONLY)) == 0);
    if (lseek(told, 0, SEEK_END) > 0 && access("folder/file", F_OK) != 0) { puts("the file is gone"); return 1; }
    int fd = open("folder/file", O_CREAT | O_RDWR, 0600);
    put(fd, "x", 1);
    fsync(fd);
    put(told, "x", 1);
    fsync(told);
    return 0;
}"#,
    );
    is_found_and_shrinks(&compiled.program, faults("crash"), "the file is gone");
}

/// A log with lengths and sums, which is cut after the last whole record.
#[test]
fn a_log_with_sums_passes_with_every_fault_of_the_disk() {
    let compiled = in_memory(
        r#"
struct record { int number, sum; char rest[1000]; };
static int sum(struct record *r) {
    int all = r->number;
    for (int i = 0; i < 1000; i++) all = all * 31 + r->rest[i];
    return all;
}
int main(void) {
    struct record r;
    int count = 0, told = 0, fd, log;
    if ((fd = open("told", O_CREAT | O_RDWR, 0600)) < 0 || (log = open("log", O_CREAT | O_RDWR, 0600)) < 0) return 0;
    if (fsync(open(".", O_RDONLY)) != 0) return 0;
    for (;; count++) {
        ssize_t got = pread(log, &r, sizeof r, count * sizeof r);
        if (got < 0) return 0;
        if (got < (ssize_t)sizeof r || r.number != count || r.sum != sum(&r)) break;
    }
    if (pread(fd, &told, sizeof told, 0) < 0) return 0;
    if (told > count) { printf("%d of %d records\n", count, told); return 1; }
    if (ftruncate(log, count * sizeof r) != 0) return 0;
    for (int i = 0; i < 4; i++) {
        r.number = count;
        memset(r.rest, count + 1, sizeof r.rest);
        r.sum = sum(&r);
        if (pwrite(log, &r, sizeof r, count * sizeof r) != sizeof r || fdatasync(log) != 0) return 0;
        count++;
        if (pwrite(fd, &count, sizeof count, 0) != sizeof count || fdatasync(fd) != 0) return 0;
    }
    return 0;
}"#,
    );
    passes_twice(&compiled.program, Faults::DISK, 300);
}

#[test]
fn a_run_has_at_most_three_crashes_and_goes_on_in_simulated_time() {
    let compiled = in_memory(
        r#"
int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int fd = open("times", O_CREAT | O_RDWR | O_APPEND | O_SYNC, 0600);
    fsync(open(".", O_RDONLY));
    long last = 0, at = lseek(fd, 0, SEEK_END);
    if (at >= 8) { assert(pread(fd, &last, 8, at - 8) == 8); assert(now.tv_sec >= last + 60); }
    assert(put(fd, &now.tv_sec, 8));
    sleep(60);
    for (int i = 0; i < 100; i++) fsync(fd);
    puts("end");
    return 0;
}"#,
    );
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut most = 0;
    for seed in 0..50 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("crash");
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", text(&outcome));
        let crashes = outcome.report.matches("crash ").count();
        // Each other start ended before its output was written.
        assert_eq!(text(&outcome), "end\n");
        most = most.max(crashes);
    }
    assert_eq!(most, 3);
}

#[test]
fn what_cannot_be_kept_in_memory_ends_the_run() {
    let compiled = in_memory(
        r#"
#include <sys/socket.h>
#include <sys/un.h>
int main(void) {
    struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "socket" };
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&at, sizeof at);
}"#,
    );
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = run(&mut simulator, Schedule::Random, 1);
    assert_eq!(outcome.verdict, Verdict::Escaped);
    assert!(
        outcome.report.contains("bind of a path"),
        "{}",
        outcome.report
    );
    assert!(find(&mut simulator_of_true(), Faults::ALL, 5).is_none());
    // A child has neither the files nor the filter.
    let both = compiled.program.clone().allow_exec();
    assert!(Simulator::start(&both).is_err());
}

/// A program without files passes with files in memory.
fn simulator_of_true() -> Simulator {
    Simulator::start(&Program::new("/bin/true", [""; 0]).memory_files()).unwrap()
}
