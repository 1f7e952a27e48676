//! Shortens the decisions of a run that fails.
//!
//! Delta debugging (Zeller and Hildebrandt, 2002): parts of the decisions are left out, first halves, then
//! smaller ones, as long as the run still fails. Then each that is left is made as small as possible. Choice 0
//! is the harmless one, so both make the run simpler. The number of runs is limited.

use super::trace::Trace;

/// The largest number of runs.
const RUNS: u32 = 1_000;

/// Returns the shortest trace that was found for which `fails` returns `true`, as it does for `trace`.
pub(super) fn shrink(mut trace: Trace, mut fails: impl FnMut(&Trace) -> bool) -> Trace {
    let mut runs = 0;
    let mut fails = |trace: &Trace| {
        runs += 1;
        (runs <= RUNS).then(|| fails(trace))
    };
    if trace.entropy != 0 {
        let usual = Trace {
            entropy: 0,
            ..trace.clone()
        };
        if fails(&usual) == Some(true) {
            trace = usual;
        }
    }
    let mut size = trace.len();
    while size > 0 {
        let mut start = 0;
        let mut is_shorter = false;
        while start < trace.len() {
            let mut shorter = trace.clone();
            let end = (start + size).min(trace.len());
            shorter.decisions.drain(start..end);
            match fails(&shorter) {
                Some(true) => (trace, is_shorter) = (shorter, true),
                Some(false) => start = end,
                None => return trace,
            }
        }
        // Without a later decision, an earlier one may become needless.
        if size > 1 || !is_shorter {
            size /= 2;
        }
    }
    lower(trace, fails)
}

/// Makes the choices smaller.
fn lower(mut trace: Trace, mut fails: impl FnMut(&Trace) -> Option<bool>) -> Trace {
    for at in 0..trace.len() {
        for choice in 1..trace.decisions[at].1 {
            let mut lower = trace.clone();
            lower.decisions[at].1 = choice;
            match fails(&lower) {
                Some(true) => {
                    trace = lower;
                    break;
                }
                Some(false) => {}
                None => return trace,
            }
        }
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_is_left() {
        let decisions = (0..200).map(|at| (at, 5)).collect();
        // Three decisions matter, and the second one of them only from 3 on.
        let fails = |trace: &Trace| {
            let has = |at, least| {
                trace
                    .decisions
                    .iter()
                    .any(|&(index, n)| index == at && n >= least)
            };
            has(17, 1) && has(90, 3) && has(199, 1)
        };
        let shrunk = shrink(
            Trace {
                decisions,
                entropy: 0,
            },
            fails,
        );
        assert_eq!(shrunk.decisions, [(17, 1), (90, 3), (199, 1)]);
    }

    #[test]
    fn a_failure_without_decisions_needs_none() {
        let decisions = (0..50).map(|at| (at, 1)).collect();
        assert!(
            shrink(
                Trace {
                    decisions,
                    entropy: 0
                },
                |_| true
            )
            .is_empty()
        );
    }

    #[test]
    fn the_entropy_is_left_out_unless_it_matters() {
        for matters in [false, true] {
            let trace = Trace {
                decisions: vec![(3, 1)],
                entropy: 9,
            };
            let shrunk = shrink(trace, |trace| !matters || trace.entropy == 9);
            assert_eq!(shrunk.entropy, if matters { 9 } else { 0 });
            assert!(shrunk.is_empty());
        }
    }

    #[test]
    fn the_number_of_runs_is_limited() {
        let decisions = (0..5_000).map(|at| (at, 1)).collect();
        let mut runs = 0;
        let shrunk = shrink(
            Trace {
                decisions,
                entropy: 0,
            },
            |trace| {
                runs += 1;
                trace.len() == 5_000
            },
        );
        assert_eq!((runs, shrunk.len()), (RUNS, 5_000));
    }
}
