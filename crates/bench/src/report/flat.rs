//! The flat form of the document: our figures alone, as numbers at `benchmarks.NAME.FIGURE`.

use indexmap::IndexMap;
use serde::Serialize;

use super::document::{Document, Figures, Metadata};

/// The figures of a run without peers, intervals and single iterations.
#[derive(Debug, Serialize)]
pub struct Flat<'a> {
    metadata: &'a Metadata,
    benchmarks: IndexMap<&'a str, FlatFigures>,
}

#[derive(Debug, Serialize)]
struct FlatFigures {
    ns_per_op: f64,
    ops_per_sec: f64,
    median_ns: u64,
    min_ns: u64,
    ops_per_iter: u64,
    bytes_per_op: f64,
    allocs_per_op: f64,
}

impl FlatFigures {
    fn new(figures: &Figures) -> FlatFigures {
        FlatFigures {
            ns_per_op: figures.ns_per_op,
            ops_per_sec: figures.ops_per_sec,
            median_ns: figures.median_ns,
            min_ns: figures.min_ns,
            ops_per_iter: figures.ops_per_iter,
            bytes_per_op: figures.bytes_per_op,
            allocs_per_op: figures.allocs_per_op,
        }
    }
}

impl<'a> Flat<'a> {
    /// Creates the flat form of a document.
    pub fn new(document: &'a Document) -> Flat<'a> {
        let rows = document.benchmarks.iter();
        Flat {
            metadata: &document.metadata,
            benchmarks: rows
                .map(|(name, row)| (name.as_str(), FlatFigures::new(&row.ours)))
                .collect(),
        }
    }
}
