//! The packages that `blitz migrate` replaces.

/// A package of `drop-in/`.
#[derive(Debug)]
pub struct Replacement {
    pub name: &'static str,
    /// The beginning of the versions that it replaces.
    series: &'static str,
    /// The versions that it replaces, in a readable form.
    pub versions: &'static str,
    /// The features that only blitz-io's package has.
    pub own_features: &'static [&'static str],
}

impl Replacement {
    /// Returns whether a package of this version can be replaced.
    pub fn fits(&self, version: &str) -> bool {
        version.starts_with(self.series)
    }
}

/// Tokio first: it may be the only package that needs parking_lot, which may be the only one that needs
/// parking_lot_core.
pub const REPLACEMENTS: [Replacement; 5] = [
    Replacement {
        name: "tokio",
        series: "1.",
        versions: "1",
        own_features: &["inspect", "sim", "sim-threads"],
    },
    Replacement {
        name: "rayon-core",
        series: "1.",
        versions: "1",
        own_features: &[],
    },
    Replacement {
        name: "parking_lot",
        series: "0.12.",
        versions: "0.12",
        own_features: &[],
    },
    Replacement {
        name: "parking_lot_core",
        series: "0.9.",
        versions: "0.9",
        own_features: &[],
    },
    Replacement {
        name: "atomic-wait",
        series: "1.",
        versions: "1",
        own_features: &[],
    },
];
