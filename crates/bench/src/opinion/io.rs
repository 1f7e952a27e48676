//! Question 7: how many system calls a server makes for an operation of tier 6.

use crate::scenario::{Contender, Context, Failure, OURS};
use crate::scenarios::registry;

use crate::opinion::counts::calls_of_others;
use crate::opinion::measure::{Effort, place};
use crate::opinion::show::table;

/// The contenders whose runtime exists before an iteration begins.
const COLUMNS: [&str; 3] = [OURS, "tokio", "smol"];

/// Operations of a full run and of a quick one: enough that occasional work of a runtime
/// is small in comparison.
const OPERATIONS: [u64; 2] = [20_000, 400];

pub fn answer(effort: Effort, quick: bool) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for scenario in registry() {
        if scenario.tier != 6 || is_uncountable(&scenario.id) {
            continue;
        }
        let context = Context {
            ops: scenario.ops.min(OPERATIONS[usize::from(quick)]),
            workers: scenario.threads,
            microsecond: effort.microsecond,
        };
        let mut row = vec![scenario.id];
        for name in COLUMNS {
            let mut contenders = scenario.contenders.iter();
            row.push(match contenders.find(|contender| contender.name == name) {
                Some(contender) => calls(contender, &context)?,
                None => "–".to_owned(),
            });
        }
        rows.push(row);
    }
    let columns = [&["scenario"], &COLUMNS[..]].concat();
    let how = "One iteration of each, after one that starts the runtime; its work is verified.\n";
    Ok(place("System calls of the server for each operation") + how + &table(&columns, rows))
}

/// Returns whether a row cannot be counted: its server's threads or processes are new in
/// each iteration, or a client is not a thread of its own.
fn is_uncountable(id: &str) -> bool {
    id.starts_with("process_") || id.starts_with("idle_")
}

/// Counts the calls. This thread starts the clients' threads, so they are not counted.
fn calls(contender: &Contender, context: &Context) -> Result<String, Failure> {
    // The runtime starts its threads in the first iteration.
    (contender.body)(context)?;
    let (sample, calls) = calls_of_others(|| (contender.body)(context));
    let operations = sample?.ops as f64;
    Ok(calls.map_or("–".to_owned(), |calls| {
        format!("{:.2}", calls as f64 / operations)
    }))
}
