//! Where workers sleep, which were called, and which is the monitor: the part of `idle.rs` that is
//! under its lock.

/// A sleeper, or the place where some sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The worker with this number, which is parked.
    Parked(usize),
    /// Any of the workers that wait in the driver with this number.
    Driver(usize),
}

/// The workers that wait in one driver. As many threads wait there as the two counts say.
#[derive(Clone, Copy, Default)]
struct Waiting {
    /// Number of workers that wait and were not called.
    waiting: usize,
    /// Number of calls that no worker has taken.
    called: usize,
    /// The one thread that waits there has pinned tasks, so no other may join it.
    is_exclusive: bool,
}

impl Waiting {
    /// Returns `true` if a worker that goes to sleep should come here first.
    fn is_empty(&self, exclusive: bool) -> bool {
        self.waiting == 0 && !self.is_exclusive && !(exclusive && self.called > 0)
    }
}

/// The sleeping workers; see the module documentation.
pub struct Sleepers {
    /// The parked workers that were not called. The last one has been asleep the shortest. A
    /// parked monitor is the first.
    parked: Vec<usize>,
    drivers: Box<[Waiting]>,
    /// Workers wait in drivers.
    pub uses_drivers: bool,
    pub monitor: Option<Place>,
}

impl Sleepers {
    /// Creates the state in which no worker sleeps.
    pub fn new(workers: usize, drivers: usize) -> Self {
        Self {
            parked: Vec::with_capacity(workers),
            drivers: vec![Waiting::default(); drivers].into(),
            uses_drivers: false,
            monitor: None,
        }
    }

    /// Returns the place where the worker `index`, whose driver is `own`, goes to sleep. It joins
    /// others in its driver if they are fewer than `most_waiting`.
    pub fn place(&self, index: usize, own: usize, exclusive: bool, most_waiting: usize) -> Place {
        let is_empty = |&driver: &usize| self.drivers[driver].is_empty(exclusive);
        let may_join = !exclusive && !self.drivers[own].is_exclusive;
        let count = self.drivers.len();
        let mut others = (own..own + count).map(|driver| driver % count);
        if !self.uses_drivers {
            Place::Parked(index)
        } else if let Some(driver) = others.find(is_empty) {
            Place::Driver(driver)
        } else if may_join && self.drivers[own].waiting < most_waiting {
            Place::Driver(own)
        } else {
            Place::Parked(index)
        }
    }

    /// Adds a worker that goes to sleep at `place`.
    pub fn add(&mut self, place: Place, exclusive: bool, is_monitor: bool) {
        match place {
            Place::Parked(index) if is_monitor => self.parked.insert(0, index),
            Place::Parked(index) => self.parked.push(index),
            Place::Driver(driver) => {
                self.drivers[driver].waiting += 1;
                self.drivers[driver].is_exclusive = exclusive;
            }
        }
        if is_monitor {
            self.monitor = Some(place);
        }
    }

    /// Returns `true` if a worker that was not called sleeps at `place`.
    pub fn has(&self, place: Place) -> bool {
        match place {
            Place::Parked(index) => self.parked.contains(&index),
            Place::Driver(driver) => self.drivers[driver].waiting > 0,
        }
    }

    /// Removes a worker at `place`, which was not called and gets up.
    pub fn remove(&mut self, place: Place) {
        match place {
            Place::Parked(index) => self.parked.retain(|&other| other != index),
            Place::Driver(driver) => {
                self.drivers[driver].waiting -= 1;
                self.drivers[driver].is_exclusive = false;
            }
        }
    }

    /// Calls a worker that waits; if there is none, the parked worker that has been asleep the
    /// shortest; a parked monitor last.
    pub fn call(&mut self) -> Option<Place> {
        if let Some(driver) = self.fullest() {
            self.drivers[driver].waiting -= 1;
            self.drivers[driver].called += 1;
            return Some(Place::Driver(driver));
        }
        self.parked.pop().map(Place::Parked)
    }

    /// Takes a call for a worker at `place`. Returns whether there are more; `None` if there is none.
    pub fn take_call(&mut self, place: Place) -> Option<bool> {
        let Place::Driver(driver) = place else {
            return (!self.has(place)).then_some(false);
        };
        let driver = &mut self.drivers[driver];
        driver.called = driver.called.checked_sub(1)?;
        driver.is_exclusive = false;
        Some(driver.called > 0)
    }

    /// Returns `true` if any thread waits in this driver, also if it was called.
    pub fn has_threads(&self, driver: usize) -> bool {
        self.drivers[driver].waiting + self.drivers[driver].called > 0
    }

    /// Returns the place of the next monitor: the parked worker that has been asleep the longest, or else the
    /// workers that wait in a driver.
    pub fn next_monitor(&self) -> Option<Place> {
        let parked = self.parked.first().copied().map(Place::Parked);
        parked.or_else(|| self.fullest().map(Place::Driver))
    }

    /// Returns the driver in which most workers wait, if any do.
    fn fullest(&self) -> Option<usize> {
        let count = |&driver: &usize| self.drivers[driver].waiting;
        let fullest = (0..self.drivers.len()).max_by_key(count)?;
        (self.drivers[fullest].waiting > 0).then_some(fullest)
    }
}

/// For the inspector.
#[cfg(feature = "inspect")]
impl Sleepers {
    /// Returns the parked workers that were not called.
    pub fn parked(&self) -> &[usize] {
        &self.parked
    }

    /// Returns for each driver the workers that wait and were not called, and the calls that none has taken.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, usize)> {
        self.drivers
            .iter()
            .map(|driver| (driver.waiting, driver.called))
    }
}
