//! Question 6: the promises of each peer, and the instructions of an uncontended operation.

pub mod step;
mod subjects;

use std::time::Instant;

use crate::scenario::Failure;

use crate::opinion::measure::{Contender, Done, Effort, Figures, head, run};
use crate::opinion::show::{interval, table, time};
use step::Steps;
use subjects::{NOTHING, Subject};

pub fn answer(effort: Effort) -> Result<String, Failure> {
    let subjects = subjects::all();
    let figures = run(effort, &contenders(&subjects))?;
    let nothing = step::count(NOTHING)?;
    let mut rows = Vec::new();
    for (subject, figures) in subjects.iter().zip(&figures) {
        if subject.id() != NOTHING {
            rows.push(row(
                subject,
                figures,
                net(step::count(&subject.id())?, nothing),
            ));
        }
    }
    let columns = [
        "uncontended",
        "bytes",
        "instructions",
        "locked",
        "time",
        "95 %",
        "waits",
        "poisons",
        "order",
    ];
    Ok(head("Peers: one uncontended operation, there and back", effort) + &table(&columns, rows))
}

fn contenders(subjects: &[Subject]) -> Vec<Contender> {
    subjects
        .iter()
        .map(|subject| {
            let operate = subject.operate();
            Contender::new(subject.id(), move |operations| {
                let start = Instant::now();
                operate(operations as u32);
                Ok(Done {
                    elapsed: start.elapsed(),
                    operations,
                    waited: None,
                })
            })
        })
        .collect()
}

/// Returns the steps without those of the loop around the operation.
fn net(steps: Option<Steps>, nothing: Option<Steps>) -> Option<Steps> {
    let (steps, nothing) = steps.zip(nothing)?;
    Some(Steps {
        instructions: steps.instructions - nothing.instructions,
        locked: steps.locked - nothing.locked,
    })
}

fn row(subject: &Subject, figures: &Figures, steps: Option<Steps>) -> Vec<String> {
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.0}"));
    vec![
        subject.id(),
        subject.bytes.to_string(),
        shown(steps.map(|steps| steps.instructions)),
        shown(steps.map(|steps| steps.locked)),
        time(figures.nanos),
        interval(figures.interval),
        subject.waits.to_owned(),
        if subject.poisons { "yes" } else { "no" }.to_owned(),
        subject.order.to_owned(),
    ]
}
