//! `Progress`: the progress of a run.

/// The activity of a part of a pipeline, or the reason why it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Waits {
    /// The part works.
    Working,
    /// The source waits until the sink has finished an older item.
    ForRoom,
    /// There is nothing to do until the source has read more.
    ForInput,
    /// The sink waits until the stages have finished this item.
    ForItem(u64),
    /// There is something to do, but no worker is free.
    ForWorker,
    /// The part has nothing more to do.
    Ended,
}

/// The progress of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Items that were read from every source.
    pub read: u64,
    /// Items that the stages have finished.
    pub processed: u64,
    /// Items that every sink has written, without a gap.
    pub written: u64,
    /// The bytes that closures have counted with [`Control::add_bytes`](crate::Control::add_bytes).
    pub bytes: u64,
    /// The activity of the sources.
    pub source: Waits,
    /// The activity of the stages.
    pub stages: Waits,
    /// The activity of the sinks.
    pub sink: Waits,
}
