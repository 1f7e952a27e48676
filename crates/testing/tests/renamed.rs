//! The macros in a package that has renamed `blitz-io`.

use renamed::time::{Duration, sleep};

#[renamed::main(flavor = "current_thread")]
async fn both() -> (u32, Result<u32, ()>) {
    let (one, two) = renamed::join!(async { 1 }, async { 2 });
    let sum = renamed::try_join!(async { Ok(one) }, async { Ok(two) });
    (one, sum.map(|(one, two)| one + two))
}

#[renamed::test]
async fn the_attributes_and_macros_find_it() {
    renamed::select! {
        () = std::future::ready(()) => {}
        () = sleep(Duration::from_secs(60)) => panic!("the other one is ready"),
    }
}

#[test]
fn main_does() {
    assert_eq!(both(), (1, Ok(3)));
}
