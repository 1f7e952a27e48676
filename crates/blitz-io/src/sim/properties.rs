//! What must hold in a run: always, at last, or in some of the runs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

use blitz_io_runtime::internals::simulated_now;

use super::failure::Cause;
use super::outcome::Never;

type Name = Cow<'static, str>;
type Predicate = Box<dyn Fn() -> Option<Violation>>;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Properties>>> = const { RefCell::new(None) };
}

/// Requires that `predicate` holds after each step, from the end of this one until the end of the run.
///
/// A step is the code of a task between two points. The run fails after the first step after which the predicate is
/// `false`, or an error: then the text of the failure has that. The predicate must not wait.
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
///
/// With a value in the text:
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// use blitz_io::{sim, task};
///
/// let failure = sim::Builder::new().check(|| async {
///     let leaders = Rc::new(Cell::new(0));
///     let seen = leaders.clone();
///     sim::always("at most one leader", move || match seen.get() {
///         0 | 1 => Ok(()),
///         leaders => Err(format!("there are {leaders}")),
///     });
///     leaders.set(2);
///     task::yield_now().await;
/// });
/// let text = failure.unwrap_err().cause().to_string();
/// assert_eq!(text, "`at most one leader` does not always hold: there are 2");
/// ```
#[track_caller]
pub fn always<H: Holds>(name: impl Into<Cow<'static, str>>, predicate: impl Fn() -> H + 'static) {
    let predicate = move || predicate().violation();
    with_current(|current| current.add(Must::Always, name.into(), Box::new(predicate)));
}

/// Requires that `predicate` holds after one of the steps within this simulated time, from now on.
///
/// The run fails if the time has passed before, and if the run ends before. It fails at that time: before a later step, which
/// may fail for another reason. The predicate may return an error instead of `false`, as that of [`always`] may.
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
pub fn eventually<H: Holds>(
    name: impl Into<Cow<'static, str>>,
    within: Duration,
    predicate: impl Fn() -> H + 'static,
) {
    // A host's clock may show another time.
    let must = Must::Within(within, simulated_now() + within);
    let predicate = move || predicate().violation();
    with_current(|current| current.add(must, name.into(), Box::new(predicate)));
}

/// Why a predicate does not hold, if it has said that.
pub type Violation = Option<String>;

/// The result of a predicate of [`always`] or [`eventually`]: `bool`, or a `Result` whose error becomes part of the failure's
/// text.
pub trait Holds {
    /// Returns `None` if the predicate holds.
    #[doc(hidden)]
    fn violation(self) -> Option<Violation>;
}

impl Holds for bool {
    fn violation(self) -> Option<Violation> {
        (!self).then_some(None)
    }
}

impl<E: Display> Holds for Result<(), E> {
    fn violation(self) -> Option<Violation> {
        self.err().map(|error| Some(error.to_string()))
    }
}

/// A predicate that only panics.
impl Holds for Never {
    fn violation(self) -> Option<Violation> {
        self
    }
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
    with(&current.expect(
        "this is no simulation: use the attribute `#[blitz_io::sim]`, or `blitz_io::sim::Builder`",
    ))
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

impl Property {
    fn name(&self) -> String {
        self.name.to_string()
    }

    /// Returns the failure of a property whose deadline has passed.
    fn late(&self, within: Duration, why: Violation) -> Cause {
        Cause::Eventually {
            name: self.name(),
            within: Some(within),
            ended: None,
            why,
        }
    }
}

/// The properties of a run.
#[derive(Default)]
pub(super) struct Properties {
    properties: RefCell<Vec<Property>>,
    is_any: Cell<bool>,
    /// The moment at which the run has begun.
    began: Cell<Option<Instant>>,
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

    /// The run begins, at this moment of the simulated clock.
    pub(super) fn begin(&self) {
        self.began.set(Some(simulated_now()));
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
        self.retain(|property| match property.must {
            Must::Always => (property.predicate)().map_or(Ok(true), |why| {
                let name = property.name();
                Err(Cause::Always { name, why })
            }),
            // A step after the deadline comes too late, whatever it does.
            Must::Within(within, deadline) if simulated_now() > deadline => {
                Err(property.late(within, None))
            }
            Must::Within(..) => Ok((property.predicate)().is_some()),
        })
    }

    /// Checks the properties whose deadline is now, as the clock is about to move: no step before the deadline is left.
    /// Returns the time until the next deadline.
    pub(super) fn judge_deadlines(&self) -> Result<Option<Duration>, Cause> {
        let now = simulated_now();
        let mut next: Option<Instant> = None;
        self.retain(|property| match property.must {
            Must::Within(within, deadline) if now >= deadline => {
                (property.predicate)().map_or(Ok(false), |why| Err(property.late(within, why)))
            }
            Must::Within(_, deadline) => {
                next = Some(next.map_or(deadline, |next| next.min(deadline)));
                Ok(true)
            }
            Must::Always => Ok(true),
        })?;
        Ok(next.map(|deadline| deadline - now))
    }

    /// Keeps the properties for which `keeps` returns `true`, until it returns an error.
    fn retain(&self, mut keeps: impl FnMut(&Property) -> Result<bool, Cause>) -> Result<(), Cause> {
        // The predicates may add properties.
        let mut properties = self.properties.take();
        let mut kept = Ok(());
        properties.retain(|property| {
            if kept.is_err() {
                return true;
            }
            keeps(property).unwrap_or_else(|cause| {
                kept = Err(cause);
                true
            })
        });
        let mut added = self.properties.borrow_mut();
        properties.append(&mut added);
        self.is_any.set(!properties.is_empty());
        *added = properties;
        kept
    }

    /// Drops all predicates, as the run has ended.
    pub(super) fn end(&self) {
        // Their destructors run without the borrow.
        drop(self.properties.take());
    }

    /// Returns the first property that should have held before the end of the run, and has not.
    /// `end`: the simulated time of that end, from the beginning of the run.
    pub(super) fn missing(&self, end: Duration) -> Option<Cause> {
        let began = self.began.get();
        let properties = self.properties.borrow();
        properties.iter().find_map(|property| match property.must {
            Must::Always => None,
            Must::Within(_, deadline) => (property.predicate)().map(|why| Cause::Eventually {
                name: property.name(),
                within: None,
                ended: began.map(|began| (end, deadline - began)),
                why,
            }),
        })
    }
}
