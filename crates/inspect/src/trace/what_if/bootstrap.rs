//! Intervals by the bootstrap: the figure of many samples, each drawn from the requests with repeats.
//!
//! Requests that follow each other wait for the same things, so whole blocks of them are drawn (Künsch, 1989).

/// The most samples.
const SAMPLES: usize = 1_000;
/// The fewest samples, for recordings with very many requests.
const FEWEST: usize = 100;
/// About the number of values that all samples together have.
const VALUES: usize = 20_000_000;

/// Numbers that only look random: an answer is the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Returns the limits between which a figure of `count` values is in 95 % of the samples. `figure` gets the places of a
/// sample. `shares`: the number of figures that together have as many values as one otherwise would.
pub(super) fn interval(
    count: usize,
    shares: usize,
    mut figure: impl FnMut(&[usize]) -> f64,
) -> (f64, f64) {
    if count == 0 {
        return (0.0, 0.0);
    }
    let block = (count as f64).cbrt().ceil() as usize;
    let samples = (VALUES / shares.max(1) / count).clamp(FEWEST, SAMPLES);
    let mut random = Random(1);
    let mut sample = Vec::with_capacity(count + block);
    let mut figures: Vec<f64> = (0..samples)
        .map(|_| {
            sample.clear();
            while sample.len() < count {
                let first = random.below(count);
                sample.extend((first..first + block).map(|at| at % count));
            }
            figure(&sample[..count])
        })
        .collect();
    figures.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| figures[((samples - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_as_wide_as_theory_says() {
        let mut random = Random(7);
        let values: Vec<f64> = (0..1_000).map(|_| random.below(1_000) as f64).collect();
        let mean = |places: &[usize]| {
            let sum: f64 = places.iter().map(|&place| values[place]).sum();
            sum / places.len() as f64
        };
        let all: Vec<usize> = (0..values.len()).collect();
        let (low, high) = interval(values.len(), 1, mean);
        assert!(low < mean(&all) && mean(&all) < high);
        // 1.96 standard errors of a uniform distribution to each side.
        let expected = 2.0 * 1.96 * 1_000.0 / 12_f64.sqrt() / 1_000_f64.sqrt();
        assert!(
            (0.7..1.3).contains(&((high - low) / expected)),
            "{low} {high}"
        );
    }

    #[test]
    fn few_values_have_an_interval_too() {
        assert_eq!(interval(0, 1, |_| 1.0), (0.0, 0.0));
        assert_eq!(interval(1, 3, |places| places[0] as f64), (0.0, 0.0));
    }
}
