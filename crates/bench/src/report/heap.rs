//! How much heap the fast paths take: blitz-io against Tokio.

use serde::{Deserialize, Serialize};

use super::{counted, figure};
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
            "Heap bytes per operation, mean of {} of tiers 1 to 3: {OURS} {}, tokio {} ({less}).",
            counted(self.rows, ["row", "rows"]),
            figure(self.ours),
            figure(self.tokio),
        )
    }
}
