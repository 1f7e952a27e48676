//! Properties that depend on the clock or on the scheduler: they are recorded, not asserted.

use std::fmt::Display;

/// Reports one value of an observed property, and the bound that it should not exceed.
///
/// A machine with other work to do makes a single value worthless. So an observing test
/// never fails because of one: `.ci/observe` runs it several times and compares the median of
/// its values with the bound.
///
/// Such tests stand in the program `observing` of their crate, and are ignored unless asked
/// for, so that they do not gate a change.
///
/// ```
/// blitz_io_testing::observe("turns of others while one waits", 12, 60);
/// ```
pub fn observe(property: &str, value: impl Display, at_most: impl Display) {
    println!("observed\t{property}\t{value}\t{at_most}");
}
