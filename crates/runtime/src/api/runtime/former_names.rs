//! Names that Tokio had for these figures before, and still has, deprecated.

use std::ops::Range;
use std::time::Duration;

use super::{Builder, RuntimeMetrics};

impl RuntimeMetrics {
    /// Returns the number of tasks that have not ended.
    #[must_use]
    #[deprecated = "use `num_alive_tasks`"]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    /// Returns the number of tasks in the queue of all workers.
    #[must_use]
    #[deprecated = "use `global_queue_depth`"]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }

    /// Returns `true` if polls are counted by their duration.
    #[must_use]
    #[deprecated = "use `poll_time_histogram_enabled`"]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    /// Returns the number of ranges of the histogram.
    #[must_use]
    #[deprecated = "use `poll_time_histogram_num_buckets`"]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    /// Returns a range of the histogram.
    #[track_caller]
    #[must_use]
    #[deprecated = "use `poll_time_histogram_bucket_range`"]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    /// Returns the count in one bucket of a worker's histogram.
    #[track_caller]
    #[must_use]
    #[deprecated = "use `poll_time_histogram_bucket_count`"]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }
}

impl Builder {
    /// Counts polls by their duration.
    #[deprecated = "use `enable_metrics_poll_time_histogram`"]
    pub fn enable_metrics_poll_count_histogram(&mut self) -> &mut Self {
        self.enable_metrics_poll_time_histogram()
    }
}

#[cfg(test)]
mod tests {
    #![allow(deprecated)]

    use super::*;

    #[test]
    fn the_former_names_of_metrics_give_the_same() {
        let runtime = Builder::new_current_thread()
            .enable_metrics_poll_count_histogram()
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        let task = runtime.spawn(std::future::pending::<()>());
        assert_eq!(metrics.active_tasks_count(), metrics.num_alive_tasks());
        assert_eq!(metrics.active_tasks_count(), 1);
        assert_eq!(
            metrics.injection_queue_depth(),
            metrics.global_queue_depth()
        );
        assert!(metrics.poll_count_histogram_enabled());
        assert_eq!(metrics.poll_count_histogram_num_buckets(), 10);
        let range = metrics.poll_time_histogram_bucket_range(0);
        assert_eq!(metrics.poll_count_histogram_bucket_range(0), range);
        assert_eq!(metrics.poll_count_histogram_bucket_count(0, 0), 0);
        task.abort();
    }
}
