//! Tasks: what a runtime runs.
