//! The places and the items of a queue's importers, whatever they say and in whatever order.

use std::time::Duration;

use blitz_io_gateway::importers::{Held, IN_FLIGHT, Importers};
use blitz_io_gateway::wire::{Credit, JobId};
use proptest::collection::vec;
use proptest::prelude::*;

const TICK: Duration = Duration::from_millis(100);

fn id(position: u64) -> JobId {
    JobId {
        origin: 1,
        epoch: 2,
        position,
    }
}

fn credit(importers: &mut Importers, host: &str, run: u64, items: u32) {
    importers.credit(host, &Credit { run, items }, 4);
}

fn give(importers: &mut Importers, position: u64) -> Option<String> {
    assert!(importers.reserve(), "no place for {position}");
    importers.give(id(position))
}

/// Two gateways with one name, or a stranger that takes the name of another host.
#[test]
fn a_run_that_comes_back_does_not_hold_less_than_nothing() {
    let mut importers = Importers::default();
    credit(&mut importers, "two", 7, 1);
    assert_eq!(give(&mut importers, 1).as_deref(), Some("two"));
    assert!(!importers.reserve());
    credit(&mut importers, "two", 8, 1);
    credit(&mut importers, "two", 7, 1);
    // Another host may have it by now.
    assert_eq!(importers.look(id(1)), Held::Lost);
    importers.done("two", id(1));
    assert_eq!(importers.look(id(1)), Held::Done);
    importers.take_back(id(1));
    assert_eq!(give(&mut importers, 2).as_deref(), Some("two"));
    assert!(!importers.reserve());
}

/// A partition that lasts as long as `lost-after-ms`, and ends before the worker of the item runs again.
#[test]
fn an_importer_that_was_given_up_comes_back_without_its_items() {
    let mut importers = Importers::default();
    credit(&mut importers, "two", 7, 1);
    assert_eq!(give(&mut importers, 1).as_deref(), Some("two"));
    assert!(importers.expire(TICK, TICK));
    credit(&mut importers, "two", 7, 1);
    assert_eq!(importers.look(id(1)), Held::Lost);
    importers.take_back(id(1));
    assert_eq!(give(&mut importers, 2).as_deref(), Some("two"));
    assert_eq!((importers.reserve(), importers.unconfirmed()), (false, 1));
}

#[test]
fn only_the_host_that_has_an_item_is_done_with_it() {
    let mut importers = Importers::default();
    credit(&mut importers, "two", 7, 1);
    assert_eq!(give(&mut importers, 1).as_deref(), Some("two"));
    credit(&mut importers, "three", 9, 1);
    importers.done("three", id(1));
    importers.done("stranger", id(1));
    assert_eq!(importers.look(id(1)), Held::Yes);
    importers.done("two", id(1));
    assert_eq!(importers.look(id(1)), Held::Done);
}

#[test]
fn a_place_is_reserved_once() {
    let mut importers = Importers::default();
    assert!(!importers.reserve());
    credit(&mut importers, "two", 7, 1);
    credit(&mut importers, "three", 7, 2);
    assert_eq!(
        [(); 5].map(|()| importers.reserve()),
        [true, true, true, false, false]
    );
    assert!(!importers.withdraw());
    // The host with more room gets the first.
    assert_eq!(importers.give(id(1)).as_deref(), Some("three"));
    assert!(!importers.reserve() && !importers.withdraw());
    // Two workers wait for items, and one place is left.
    credit(&mut importers, "two", 7, 0);
    assert!(importers.withdraw() && !importers.withdraw());
    assert_eq!(importers.give(id(2)).as_deref(), Some("three"));
    // A worker took an item just before the last place vanished.
    credit(&mut importers, "two", 7, 1);
    assert!(importers.reserve());
    credit(&mut importers, "two", 7, 0);
    assert_eq!(importers.give(id(3)), None);
    assert!(!importers.withdraw() && !importers.reserve());
    credit(&mut importers, "two", 7, u32::MAX);
    assert_eq!((0..100).filter(|_| importers.reserve()).count(), IN_FLIGHT);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Credit { host: usize, run: u64, items: u32 },
    Done { host: usize, position: u64 },
    Expire,
    Reserve,
    Withdraw,
    Give,
    Look { position: u64 },
}

const HOSTS: [&str; 3] = ["two", "three", "four"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => (0..3_usize, 1..3_u64, 0..4_u32)
            .prop_map(|(host, run, items)| Step::Credit { host, run, items }),
        1 => (0..3_usize, 0..20_u64).prop_map(|(host, position)| Step::Done { host, position }),
        1 => Just(Step::Expire),
        3 => Just(Step::Reserve),
        1 => Just(Step::Withdraw),
        2 => Just(Step::Give),
        2 => (0..20_u64).prop_map(|position| Step::Look { position }),
    ];
    vec(step, 1..200)
}

proptest! {
    /// No host gets more than it has room for, and each reservation ends once.
    #[test]
    fn places_are_kept_whatever_happens(steps in steps()) {
        let mut importers = Importers::default();
        let (mut reserved, mut next, mut open) = (0_usize, 0, Vec::new());
        for step in steps {
            match step {
                Step::Credit { host, run, items } => credit(&mut importers, HOSTS[host], run, items),
                Step::Done { host, position } => importers.done(HOSTS[host], id(position)),
                Step::Expire => _ = importers.expire(TICK, 3 * TICK),
                Step::Reserve => reserved += usize::from(importers.reserve()),
                Step::Withdraw => reserved -= usize::from(importers.withdraw()),
                Step::Give if reserved > 0 => {
                    reserved -= 1;
                    if importers.give(id(next)).is_some() {
                        prop_assert_eq!(importers.look(id(next)), Held::Yes);
                        open.push(next);
                    }
                    next += 1;
                }
                Step::Give => {}
                Step::Look { position } => {
                    if importers.look(id(position)) != Held::Yes {
                        importers.take_back(id(position));
                        open.retain(|&other| other != position);
                    }
                }
            }
            prop_assert_eq!(importers.unconfirmed(), open.len());
        }
        // With every item taken back and every reservation withdrawn, all places are free.
        for position in open {
            importers.take_back(id(position));
        }
        for host in HOSTS {
            credit(&mut importers, host, 5, 0);
        }
        while importers.withdraw() {
            reserved -= 1;
        }
        prop_assert_eq!(reserved, 0);
        credit(&mut importers, HOSTS[0], 5, 3);
        prop_assert_eq!((0..9).filter(|_| importers.reserve()).count(), 3);
    }
}
