//! The reports for `blitz sim`: about a run in which no thread can run any more, and about one in which threads can.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::slice;
use std::sync::Once;

use blitz_io_observe::{JUDGE_FINDING, Write, explain_deadlocks_by, judge_by};

use crate::reader::{judged_at_rest, judged_in_run};
use crate::report::report;
use crate::snapshot::{Certainty, Finding};

/// Offers the report to the simulator, if the program runs under it.
pub(crate) fn offer() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        explain_deadlocks_by(explain);
        judge_by(judge);
    });
}

/// Offers the report when the program is loaded: a program on drop-in packages calls nothing of this crate.
#[cfg(all(
    feature = "sim",
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod at_load {
    extern "C" fn run() {
        super::offer();
    }

    // SAFETY: the section is a list of functions, which the loader calls once each before `main`. `offer` needs nothing
    // that `main` prepares: it looks a symbol up, and calls a function that keeps a pointer.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static RUN: extern "C" fn() = run;
}

unsafe extern "C" fn explain(threads: *const u32, count: usize, write: Write) {
    // SAFETY: the simulator gives this many numbers.
    let threads = unsafe { slice::from_raw_parts(threads, count) };
    let text = catch_unwind(|| text(threads)).unwrap_or_else(|_| "nothing: it panics\n".into());
    // SAFETY: the pointer is to this many bytes.
    unsafe { write(text.as_ptr(), text.len()) };
}

fn text(threads: &[u32]) -> String {
    let (snapshot, findings) = judged_at_rest(threads);
    report(&snapshot, &findings)
}

unsafe extern "C" fn judge(what: u32, write: Write) {
    let answer = || {
        let (snapshot, findings) = judged_in_run();
        match what {
            JUDGE_FINDING => finding(&findings).to_ne_bytes().to_vec(),
            _ => report(&snapshot, &findings).into_bytes(),
        }
    };
    // A panic is no finding, and no report.
    let bytes = catch_unwind(answer).unwrap_or_default();
    // SAFETY: the pointer is to this many bytes.
    unsafe { write(bytes.as_ptr(), bytes.len()) };
}

/// Names the certain finding whose last wait began first; 0 if there is none. The same waits have the same name.
fn finding(findings: &[Finding]) -> u64 {
    let certain = findings
        .iter()
        .filter(|finding| finding.certainty == Certainty::Certain);
    let oldest = certain.min_by_key(|finding| finding.waits.iter().map(|wait| wait.id).max());
    oldest.map_or(0, |finding| {
        let mut hasher = DefaultHasher::new();
        finding.kind.hash(&mut hasher);
        for wait in &finding.waits {
            wait.id.hash(&mut hasher);
        }
        hasher.finish().max(1)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use blitz_io_observe::Kind;

    use super::*;
    use crate::snapshot::{Wait, Waiter};

    static WRITTEN: Mutex<String> = Mutex::new(String::new());

    unsafe extern "C" fn keep(text: *const u8, length: usize) {
        // SAFETY: the caller gives this many bytes.
        let bytes = unsafe { slice::from_raw_parts(text, length) };
        let text = String::from_utf8_lossy(bytes);
        WRITTEN.lock().unwrap().push_str(&text);
    }

    #[test]
    fn the_simulator_gets_a_report() {
        // SAFETY: the pointer is to one number.
        unsafe { explain([1].as_ptr(), 1, keep) };
        let all = WRITTEN.lock().unwrap();
        assert!(all.contains(" tasks, "), "{all}");
    }

    static NAMED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    unsafe extern "C" fn keep_name(bytes: *const u8, length: usize) {
        // SAFETY: the caller gives this many bytes.
        let bytes = unsafe { slice::from_raw_parts(bytes, length) };
        NAMED.lock().unwrap().extend_from_slice(bytes);
    }

    #[test]
    fn the_oldest_certain_finding_has_a_name() {
        // SAFETY: the function takes the bytes.
        unsafe { judge(JUDGE_FINDING, keep_name) };
        assert_eq!(NAMED.lock().unwrap().len(), size_of::<u64>());
        let of = |certainty, waits: &[u64]| Finding {
            certainty,
            kind: "deadlock".into(),
            summary: String::new(),
            waiters: vec![],
            waits: waits
                .iter()
                .map(|&id| Wait::example(id, Waiter::Task(id), Kind::Mutex))
                .collect(),
            further: vec![],
        };
        let (old, new) = (
            of(Certainty::Certain, &[3, 4]),
            of(Certainty::Certain, &[1, 9]),
        );
        let probable = of(Certainty::Probable, &[1]);
        assert_eq!(finding(slice::from_ref(&probable)), 0);
        let name = finding(slice::from_ref(&old));
        assert_ne!(name, 0);
        assert_eq!(finding(&[probable, new.clone(), old]), name);
        assert_ne!(finding(&[new]), name);
    }
}
