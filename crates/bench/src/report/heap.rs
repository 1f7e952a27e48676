//! How much heap the fast paths take: blitz-io against Tokio.

use serde::{Deserialize, Serialize};

use super::figure;
use crate::scenario::OURS;

/// Bytes allocated per operation, as the mean of the rows of tiers 1 to 3 in which
/// both take part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeapBytes {
    /// The number of rows.
    pub rows: usize,
    /// Our mean.
    #[serde(rename = "blitz-io")]
    pub ours: f64,
    /// Tokio's mean.
    pub tokio: f64,
    /// Tokio's mean divided by ours: above 1, blitz-io takes less. `null` if ours is 0,
    /// because the ratio is then undefined, whatever Tokio's is.
    pub ratio: Option<f64>,
}

impl HeapBytes {
    /// Returns the means over the rows' bytes, ours and Tokio's, or `None` without rows.
    pub fn of(pairs: &[(f64, f64)]) -> Option<HeapBytes> {
        if pairs.is_empty() {
            return None;
        }
        let mean =
            |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / pairs.len() as f64;
        let (ours, tokio) = (mean(|pair| pair.0), mean(|pair| pair.1));
        Some(HeapBytes {
            rows: pairs.len(),
            ours,
            tokio,
            ratio: (ours > 0.0).then(|| tokio / ours),
        })
    }

    /// Describes both means and their ratio in words.
    pub fn sentence(&self) -> String {
        let less = match self.ratio {
            Some(ratio) => format!("tokio takes {}× as much", figure(ratio)),
            None if self.tokio > 0.0 => format!("{OURS} takes none"),
            None => "neither takes any".to_owned(),
        };
        format!(
            "Heap bytes per operation, mean of {} {} of tiers 1 to 3: {OURS} {}, tokio {} ({less}).",
            self.rows,
            if self.rows == 1 { "row" } else { "rows" },
            figure(self.ours),
            figure(self.tokio),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Document;
    use crate::report::document::tests::{run, samples};
    use crate::scenario::Scenario;

    /// Creates a run of one row of this tier, in which each side took the given bytes
    /// for each of 1000 operations.
    fn document(tier: u8, ours: u64, theirs: u64) -> Document {
        let scenario = Scenario::new(tier, "row", "Row", 1000);
        let with = |name, bytes| {
            let mut samples = samples(name, &[10, 10, 10], None);
            samples.memory.bytes = bytes * 1000;
            samples
        };
        run(&scenario, vec![with(OURS, ours), with("tokio", theirs)])
    }

    #[test]
    fn the_ratio_is_that_of_the_means() {
        let heap = HeapBytes::of(&[(8.0, 40.0), (0.0, 40.0)]).unwrap();
        assert_eq!((heap.rows, heap.ours, heap.tokio), (2, 4.0, 40.0));
        assert_eq!(heap.ratio, Some(10.0));
        assert!(heap.sentence().contains("mean of 2 rows"));
        assert!(heap.sentence().contains("tokio takes 10.0× as much"));
    }

    #[test]
    fn nothing_is_not_divided_by() {
        let heap = document(2, 0, 40).heap_bytes_per_op.unwrap();
        assert_eq!((heap.ours, heap.ratio), (0.0, None));
        assert!(heap.sentence().ends_with("(blitz-io takes none)."));
        let heap = document(2, 0, 0).heap_bytes_per_op.unwrap();
        assert!(heap.sentence().ends_with("(neither takes any)."));
    }

    #[test]
    fn other_tiers_and_rows_without_tokio_do_not_count() {
        assert_eq!(document(4, 8, 40).heap_bytes_per_op, None);
        let scenario = Scenario::new(1, "row", "Row", 1000);
        let document = run(
            &scenario,
            vec![
                samples(OURS, &[10, 10, 10], None),
                samples("std", &[10, 10, 10], None),
            ],
        );
        assert_eq!(document.heap_bytes_per_op, None);
    }
}
