//! What must hold in a run: always, at last, or in some of the runs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::failure::Cause;
use crate::time::Instant;

type Name = Cow<'static, str>;
type Predicate = Box<dyn Fn() -> bool>;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Properties>>> = const { RefCell::new(None) };
}

/// Requires that `predicate` holds after each step, from the end of this one until the end of the run.
///
/// A step is the code of a task between two points. The run fails after the first step after which the predicate is
/// `false`. The predicate must not wait.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// use blitz_io::{sim, task};
///
/// sim::Builder::new().seeds(20).run(|| async {
///     let inside = Rc::new(Cell::new(0));
///     let seen = inside.clone();
///     sim::always("one task is inside", move || seen.get() <= 1);
///     for _ in 0..2 {
///         let inside = inside.clone();
///         task::spawn_local(async move {
///             inside.set(inside.get() + 1);
///             inside.set(inside.get() - 1);
///             task::yield_now().await;
///         });
///     }
/// });
/// ```
#[track_caller]
pub fn always(name: impl Into<Cow<'static, str>>, predicate: impl Fn() -> bool + 'static) {
    with_current(|current| current.add(Must::Always, name.into(), Box::new(predicate)));
}

/// Requires that `predicate` holds after one of the steps within this simulated time, from now on.
///
/// The run fails if the time has passed before, and if the run ends before.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use std::time::Duration;
///
/// use blitz_io::{sim, time};
///
/// sim::Builder::new().seeds(20).run(|| async {
///     let done = Rc::new(Cell::new(false));
///     let seen = done.clone();
///     sim::eventually("it is done", Duration::from_secs(5), move || seen.get());
///     time::sleep(Duration::from_secs(4)).await;
///     done.set(true);
/// });
/// ```
#[track_caller]
pub fn eventually(
    name: impl Into<Cow<'static, str>>,
    within: Duration,
    predicate: impl Fn() -> bool + 'static,
) {
    let must = Must::Within(within, Instant::now() + within);
    with_current(|current| current.add(must, name.into(), Box::new(predicate)));
}

/// Records whether something has happened that should happen in some of the runs.
///
/// [`Report::never`](super::Report::never) returns the names that no run has reached with `true`: then the
/// simulation does not test what it should.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Examples
///
/// ```
/// use blitz_io::{sim, task};
///
/// let report = sim::Builder::new().seeds(50).run(|| async {
///     let other = task::spawn(async {});
///     task::yield_now().await;
///     sim::sometimes("the other task was first", other.is_finished());
///     sim::sometimes("it was two days", false);
/// });
/// assert_eq!(report.never(), ["it was two days"]);
/// ```
#[track_caller]
pub fn sometimes(name: impl Into<Cow<'static, str>>, happened: bool) {
    with_current(|current| {
        let mut sometimes = current.sometimes.borrow_mut();
        *sometimes.entry(name.into()).or_default() += u64::from(happened);
    });
}

#[track_caller]
fn with_current<R>(with: impl FnOnce(&Properties) -> R) -> R {
    let current = CURRENT.with_borrow(Clone::clone);
    with(&current.expect("this is no simulation: use `blitz_io::sim::Builder`"))
}

/// The moments at which a predicate must hold.
#[derive(Clone, Copy, Debug)]
enum Must {
    Always,
    /// At one moment until the deadline.
    Within(Duration, Instant),
}

struct Property {
    must: Must,
    name: Name,
    predicate: Predicate,
}

/// The properties of a run.
#[derive(Default)]
pub(super) struct Properties {
    properties: RefCell<Vec<Property>>,
    is_any: Cell<bool>,
    /// Number of times that each name was reached with `true`.
    pub(super) sometimes: RefCell<BTreeMap<Name, u64>>,
}

/// Restores the properties of an outer run, if there is one, when it is dropped.
pub(super) struct Entered(Option<Rc<Properties>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Properties {
    /// Makes these the properties of this thread's run until the guard is dropped.
    pub(super) fn enter(self: &Rc<Self>) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Returns `true` if this thread runs a simulation.
    pub(super) fn is_entered() -> bool {
        CURRENT.with_borrow(Option::is_some)
    }

    fn add(&self, must: Must, name: Name, predicate: Predicate) {
        self.is_any.set(true);
        self.properties.borrow_mut().push(Property {
            must,
            name,
            predicate,
        });
    }

    /// Returns `true` if there is a property to check.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_any.get()
    }

    /// Checks all properties, after a step.
    pub(super) fn check(&self) -> Result<(), Cause> {
        // The predicates may add properties.
        let mut properties = self.properties.take();
        let checked = Self::check_each(&mut properties);
        let mut added = self.properties.borrow_mut();
        properties.append(&mut added);
        self.is_any.set(!properties.is_empty());
        *added = properties;
        checked
    }

    fn check_each(properties: &mut Vec<Property>) -> Result<(), Cause> {
        let mut failed = None;
        properties.retain(|property| match property.must {
            Must::Always => {
                if failed.is_none() && !(property.predicate)() {
                    failed = Some(Cause::Always(property.name.to_string()));
                }
                true
            }
            Must::Within(within, deadline) => {
                // A step after the deadline comes too late, whatever it does.
                let is_late = Instant::now() > deadline;
                if failed.is_none() && is_late {
                    failed = Some(Cause::Eventually(property.name.to_string(), Some(within)));
                }
                is_late || !(property.predicate)()
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Drops all predicates, as the run has ended.
    pub(super) fn end(&self) {
        // Their destructors run without the borrow.
        drop(self.properties.take());
    }

    /// Returns the first property that should have held before the end of the run, and has not.
    pub(super) fn missing(&self) -> Option<Cause> {
        let properties = self.properties.borrow();
        let mut missing = properties.iter().filter(|property| match property.must {
            Must::Always => false,
            Must::Within(..) => !(property.predicate)(),
        });
        let missing = missing.next()?;
        Some(Cause::Eventually(missing.name.to_string(), None))
    }
}
