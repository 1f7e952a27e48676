//! `#[main]` and `#[test]` on functions with generics, qualifiers and attributes.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Wrapped<T>(T);

impl<T: Copy + 'static> Wrapped<T> {
    /// A method with a lifetime and a parameter that has the name of the attribute's own
    /// variable.
    #[blitz_io::main(flavor = "current_thread")]
    async fn either<'a>(&'a self, body: &'a T, this: bool) -> &'a T {
        blitz_io::task::yield_now().await;
        if this { &self.0 } else { body }
    }

    #[blitz_io::main(flavor = "current_thread")]
    pub(crate) async fn apart(self) -> (T, impl Into<u64>) {
        (self.0, 5_u8)
    }
}

#[test]
fn methods_and_generics() {
    let wrapped = Wrapped(3);
    assert_eq!(*wrapped.either(&4, true), 3);
    assert_eq!(*wrapped.either(&4, false), 4);
    let (three, five) = wrapped.apart();
    assert_eq!((three, five.into()), (3, 5));
}

#[blitz_io::main]
async fn never() -> ! {
    blitz_io::task::yield_now().await;
    panic!("never returns")
}

#[test]
#[should_panic(expected = "never returns")]
fn a_body_without_end() {
    never()
}

#[blitz_io::main(flavor = "current_thread")]
#[must_use]
async unsafe fn unsound<const N: usize>(_: PhantomData<[(); N]>) -> usize {
    #![allow(unused_variables)]
    let unused = 1;
    return N;
}

#[test]
fn qualifiers_and_attributes_stay() {
    // SAFETY: the function has no requirements.
    assert_eq!(unsafe { unsound(PhantomData::<[(); 4]>) }, 4);
}

macro_rules! double {
    ($name:ident, $runtime:ident) => {
        #[$runtime::main(flavor = "current_thread")]
        async fn $name(number: u32) -> u32 {
            let body = async move { number };
            body.await * 2
        }
    };
}

double!(double, blitz_io);

#[test]
fn a_function_that_a_macro_makes() {
    assert_eq!(double(4), 8);
}

mod elsewhere {
    pub(super) mod waiting {
        pub(crate) use blitz_io::runtime;
    }
}

#[blitz_io::test(crate = "elsewhere::waiting", start_paused = true)]
async fn under_another_name() {
    blitz_io::time::sleep(blitz_io::time::Duration::from_secs(1000)).await;
}

#[blitz_io::test(flavor = "current_thread", unhandled_panic = "ignore", name = "quiet")]
async fn a_panic_in_a_task_is_ignored() {
    let task = blitz_io::spawn(async { panic!("in a task") });
    assert!(task.await.unwrap_err().is_panic());
}

#[blitz_io::test(unhandled_panic = "shutdown_runtime")]
#[should_panic]
async fn a_panic_in_a_task_ends_the_runtime() {
    drop(blitz_io::spawn(async { panic!("in a task") }));
    std::future::pending::<()>().await;
}

/// Counts how often the body below has run: the attribute generates code around it, and it
/// must run once.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

#[blitz_io::test]
#[cfg_attr(all(), allow(clippy::unused_unit))]
async fn a_result_is_a_tests_verdict() -> Result<(), Box<dyn std::error::Error>> {
    assert_eq!(ENTERED.fetch_add(1, Ordering::Relaxed), 0);
    let number: u8 = "3".parse()?;
    assert_eq!(number, 3);
    Ok(())
}
