//! The figures of waits, by kind and by named object.

use std::collections::{BTreeMap, BTreeSet};

use blitz_io_inspect::{Contention, Resource};

use super::{Round, gauge, labels};

/// The kinds of all waits that rounds have seen.
#[derive(Default)]
pub(super) struct Waits {
    kinds: BTreeSet<String>,
}

impl Waits {
    /// Exports the waits of the process.
    pub(super) fn record(&mut self, round: &mut Round) {
        let snapshot = blitz_io_inspect::snapshot();
        let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
        for wait in &snapshot.waits {
            *waiting.entry(&wait.kind).or_default() += 1;
        }
        let objects = snapshot.objects.as_deref().unwrap_or_default();
        let mut kinds: BTreeMap<&str, Contention> = BTreeMap::new();
        let living = objects.iter().flat_map(|resource| &resource.contention);
        for totals in living.chain(&snapshot.dropped) {
            waiting.entry(&totals.kind).or_default();
            let sum = kinds.entry(&totals.kind).or_default();
            sum.waited_ns += totals.waited_ns;
            sum.buckets.resize(totals.buckets.len(), 0);
            for (sum, count) in sum.buckets.iter_mut().zip(&totals.buckets) {
                *sum += count;
            }
        }
        self.kinds
            .extend(waiting.keys().map(|&kind| kind.to_owned()));
        for kind in &self.kinds {
            // A kind that has no more waits goes back to 0.
            let waiting = waiting.get(&**kind).copied().unwrap_or(0);
            gauge("blitz_waiting", &labels(&[("kind", kind)]), waiting as f64);
        }
        for (kind, totals) in kinds {
            let kind = labels(&[("kind", kind)]);
            let buckets = totals.buckets.iter().enumerate();
            let ranges = buckets.map(|(bucket, &count)| {
                let end = (totals.upper_end(bucket) * 1e6).round();
                (end, count)
            });
            let all = round.ranges("blitz_wait_duration_microseconds_bucket", &kind, ranges);
            round.count("blitz_wait_duration_microseconds_count", &kind, 0, all);
            let micros = totals.waited_ns / 1_000;
            round.count("blitz_wait_duration_microseconds_sum", &kind, 0, micros);
        }
        for resource in objects {
            object(round, resource);
        }
    }
}

fn object(round: &mut Round, resource: &Resource) {
    let Some(name) = &resource.object.name else {
        return;
    };
    let id = resource.object.id;
    for totals in &resource.contention {
        let labels = labels(&[("kind", &totals.kind), ("object", name)]);
        let micros = totals.waited_ns / 1_000;
        round.count("blitz_object_wait_microseconds_total", &labels, id, micros);
        round.count("blitz_object_waits_total", &labels, id, totals.waits());
    }
    if let Some(fill) = &resource.fill {
        gauge(
            "blitz_channel_used",
            &labels(&[("object", name)]),
            fill.used as f64,
        );
    }
}
