//! `Notify`.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Instant;

use blitz_io_observe::Wait;
use blitz_io_sync::task::Notify;
use blitz_io_testing::{
    Runtime, Wakings, everywhere, ms, poll_once, reentrant_waker, shouting_waker,
};

fn poll<F: Future>(future: Pin<&mut F>) -> bool {
    poll_once(future, Waker::noop()).is_ready()
}

fn is_stored(notify: &Notify) -> bool {
    pin!(notify.notified()).enable()
}

/// A future that fails if it takes far too long.
async fn soon<R: Runtime, F: Future<Output: Send> + Send>(rt: R, future: F) -> F::Output {
    let result = rt.timeout(ms(900_000), future).await;
    result.expect("a lost notification")
}

everywhere! {
    async fn a_notification_wakes_one(rt) {
        let notify = Arc::new(Notify::new());
        let waiter = rt.spawn({
            let notify = notify.clone();
            async move { notify.notified().await }
        });
        rt.sleep(ms(2)).await;
        notify.notify_one();
        soon(rt, waiter).await;
        assert!(!is_stored(&notify));
    }

    async fn a_notification_is_stored(rt) {
        let notify = Notify::const_new();
        notify.notify_one();
        notify.notify_one();
        soon(rt, notify.notified()).await;
        assert!(rt.timeout(ms(5), notify.notified()).await.is_none());
    }

    async fn everybody_is_notified(rt) {
        let notify = Arc::new(Notify::new());
        let ready = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..100).map(|_| {
            let (notify, ready) = (notify.clone(), ready.clone());
            rt.spawn(async move {
                let mut notified = pin!(notify.notified());
                notified.as_mut().enable();
                ready.fetch_add(1, Ordering::SeqCst);
                notified.await;
            })
        }).collect();
        while ready.load(Ordering::SeqCst) < 100 {
            rt.sleep(ms(1)).await;
        }
        notify.notify_waiters();
        for waiter in waiters {
            soon(rt, waiter).await;
        }
        assert!(!is_stored(&notify));
    }

    async fn what_is_given_up_is_passed_on(rt) {
        let notify = Arc::new(Notify::new());
        for _ in 0..20 {
            let impatient = rt.timeout(ms(1), notify.notified());
            let notifier = rt.spawn({
                let notify = notify.clone();
                async move {
                    rt.sleep(ms(1)).await;
                    notify.notify_one();
                }
            });
            let taken = impatient.await.is_some();
            notifier.await;
            assert_eq!(is_stored(&notify), !taken);
        }
    }

    async fn a_queue_of_one_consumer_loses_nothing(rt) {
        const VALUES: usize = 2_000;
        let notify = Arc::new(Notify::new());
        let values = Arc::new(Mutex::new(VecDeque::new()));
        let producers: Vec<_> = (0..4).map(|_| {
            let (notify, values) = (notify.clone(), values.clone());
            rt.spawn(async move {
                for value in 0..VALUES {
                    values.lock().unwrap().push_back(value);
                    notify.notify_one();
                }
            })
        }).collect();
        let sum = soon(rt, async {
            let (mut sum, mut count) = (0, 0);
            while count < 4 * VALUES {
                let next = values.lock().unwrap().pop_front();
                match next {
                    Some(value) => {
                        count += 1;
                        sum += value;
                    }
                    None => notify.notified().await,
                }
            }
            sum
        }).await;
        assert_eq!(sum, 4 * VALUES * (VALUES - 1) / 2);
        for producer in producers {
            producer.await;
        }
    }

    async fn an_owned_future_keeps_it_alive(rt) {
        let notify = Arc::new(Notify::new());
        let notified = notify.clone().notified_owned();
        let waiter = rt.spawn(notified);
        rt.sleep(ms(2)).await;
        notify.notify_waiters();
        drop(notify);
        soon(rt, waiter).await;
    }

    async fn a_thread_and_a_task_take_turns(rt) {
        const TURNS: usize = 200;
        let [ping, pong] = [(); 2].map(|()| Arc::new(Notify::new()));
        let thread = thread::spawn({
            let (ping, pong) = (ping.clone(), pong.clone());
            move || for turn in 0..TURNS {
                match turn % 2 {
                    0 => ping.notified().blocking_wait(),
                    _ => ping.clone().notified_owned().blocking_wait(),
                }
                pong.notify_one();
            }
        });
        for _ in 0..TURNS {
            ping.notify_one();
            soon(rt, pong.notified()).await;
        }
        thread.join().unwrap();
        assert!(!is_stored(&ping) && !is_stored(&pong));
    }
}

#[test]
fn the_first_is_notified_first_and_the_last_on_request() {
    let notify = Notify::new();
    let mut futures: Vec<_> = (0..5).map(|_| Box::pin(notify.notified())).collect();
    for future in &mut futures {
        assert!(!poll(future.as_mut()));
    }
    let mut order = Vec::new();
    for last in [false, true, true, false, false] {
        if last {
            notify.notify_last();
        } else {
            notify.notify_one();
        }
        let done = (0..5).find(|&i| !order.contains(&i) && poll(futures[i].as_mut()));
        order.extend(done);
    }
    assert_eq!(order, [0, 4, 3, 1, 2]);
}

#[test]
fn a_dropped_future_passes_on_in_the_order_it_was_chosen_in() {
    let notify = Notify::new();
    let mut futures: Vec<_> = (0..4).map(|_| Box::pin(notify.notified())).collect();
    for future in &mut futures {
        assert!(!poll(future.as_mut()));
    }
    notify.notify_last();
    futures.pop();
    assert!(!poll(futures[0].as_mut()) && poll(futures[2].as_mut()));
    notify.notify_one();
    drop(futures.remove(0));
    assert!(poll(futures[0].as_mut()));
}

#[test]
fn a_future_notified_with_everybody_passes_nothing_on() {
    let notify = Notify::new();
    let mut first = Box::pin(notify.notified());
    assert!(!poll(first.as_mut()));
    notify.notify_waiters();
    let mut second = Box::pin(notify.notified());
    assert!(!poll(second.as_mut()));
    drop(first);
    assert!(!poll(second.as_mut()) && !is_stored(&notify));
}

#[test]
fn a_future_that_was_never_polled_is_covered() {
    let notify = Arc::new(Notify::new());
    let early = notify.notified();
    let early_owned = notify.clone().notified_owned();
    notify.notify_one();
    notify.notify_waiters();
    let late = notify.notified();
    assert!(poll(pin!(early)) && poll(pin!(early_owned)));
    // They did not take the stored notification.
    assert!(poll(pin!(late)) && !is_stored(&notify));
}

#[test]
fn who_is_done_stays_done() {
    let notify = Notify::new();
    notify.notify_one();
    let mut notified = pin!(notify.notified());
    assert!(notified.as_mut().enable() && poll(notified.as_mut()) && poll(notified.as_mut()));
}

#[test]
fn an_enabled_future_gets_a_waker_later() {
    let notify = Notify::new();
    let mut notified = pin!(notify.notified());
    let (wakings, waker) = Wakings::new();
    assert!(!notified.as_mut().enable());
    assert!(poll_once(notified.as_mut(), &waker).is_pending());
    notify.notify_one();
    assert_eq!(wakings.count(), 1);
    assert!(notified.enable());
}

#[test]
fn the_newest_waker_is_woken() {
    let notify = Notify::new();
    let mut notified = pin!(notify.notified());
    let wakers = [(); 3].map(|()| Wakings::new());
    for (_, waker) in &wakers {
        assert!(poll_once(notified.as_mut(), waker).is_pending());
        assert!(poll_once(notified.as_mut(), waker).is_pending());
    }
    notify.notify_one();
    assert_eq!(wakers.map(|(wakings, _)| wakings.count()), [0, 0, 1]);
}

#[test]
fn a_waker_may_use_the_notify() {
    let notify = Arc::new(Notify::new());
    let waker = {
        let notify = notify.clone();
        reentrant_waker(move || {
            notify.notify_waiters();
            notify.notify_one();
            assert!(is_stored(&notify));
            notify.notify_one();
        })
    };
    for all in [false, true] {
        let mut notified = pin!(notify.notified());
        assert!(poll_once(notified.as_mut(), &waker).is_pending());
        if all {
            notify.notify_waiters();
        } else {
            notify.notify_one();
        }
        assert!(poll(notified) && is_stored(&notify));
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_asleep() {
    let notify = Notify::new();
    let mut futures: Vec<_> = (0..150).map(|_| Box::pin(notify.notified())).collect();
    let (wakings, waker) = Wakings::new();
    for (i, future) in futures.iter_mut().enumerate() {
        let shouts = [0, 31, 32, 77, 149].contains(&i);
        let waker = if shouts { &shouting_waker() } else { &waker };
        assert!(poll_once(future.as_mut(), waker).is_pending());
    }
    catch_unwind(AssertUnwindSafe(|| notify.notify_waiters())).unwrap_err();
    assert_eq!(wakings.count(), 145);
    assert!(futures.iter_mut().all(|future| poll(future.as_mut())));
    notify.notify_one();
    assert!(is_stored(&notify));
}

#[test]
fn the_panic_of_one_waker_costs_its_own_task_only() {
    let notify = Notify::new();
    let mut futures = [(); 2].map(|()| Box::pin(notify.notified()));
    assert!(poll_once(futures[0].as_mut(), &shouting_waker()).is_pending());
    assert!(!poll(futures[1].as_mut()));
    catch_unwind(AssertUnwindSafe(|| notify.notify_one())).unwrap_err();
    assert!(poll(futures[0].as_mut()) && !poll(futures[1].as_mut()));
    notify.notify_one();
    assert!(poll(futures[1].as_mut()));
}

#[test]
fn a_thread_gives_up_when_its_time_is_up() {
    let notify = Arc::new(Notify::new());
    let start = Instant::now();
    assert!(!notify.notified().blocking_wait_timeout(ms(5)));
    assert!(start.elapsed() >= ms(5));
    let owned = notify.clone().notified_owned();
    assert!(!owned.blocking_wait_timeout(ms(1)));
    // It has left the queue, so this is stored.
    notify.notify_one();
    assert!(notify.notified().blocking_wait_timeout(ms(0)));
    assert!(!is_stored(&notify));
    assert!(!notify.blocking_notified_timeout(ms(1)));
    assert!(!notify.blocking_notified_deadline(start));
    notify.notify_one();
    assert!(notify.blocking_notified_deadline(start));
    let call = notify.notified();
    let owned = notify.clone().notified_owned();
    notify.notify_waiters();
    assert!(call.blocking_wait_deadline(start) && owned.blocking_wait_deadline(start));
    assert!(!is_stored(&notify));
}

/// Tokens go round among more threads than there are processors, some of which
/// give up now and then; none is lost, and none is made.
#[test]
fn notifications_are_neither_lost_nor_made() {
    const TURNS: usize = 300;
    let notify = Notify::new();
    let taken = AtomicUsize::new(0);
    let given = AtomicUsize::new(0);
    let stop = AtomicUsize::new(0);
    thread::scope(|scope| {
        for i in 0..6 {
            let (notify, taken, stop) = (&notify, &taken, &stop);
            scope.spawn(move || {
                while stop.load(Ordering::SeqCst) == 0 {
                    if i % 2 == 0 {
                        if notify.notified().blocking_wait_timeout(ms(i as u64)) {
                            taken.fetch_add(1, Ordering::SeqCst);
                        }
                    } else {
                        // Polled now and then, and then dropped.
                        let mut notified = pin!(notify.notified());
                        for _ in 0..50 {
                            if poll(notified.as_mut()) {
                                taken.fetch_add(1, Ordering::SeqCst);
                                break;
                            }
                            thread::yield_now();
                        }
                    }
                }
            });
        }
        for _ in 0..TURNS {
            let deadline = Instant::now() + ms(900_000);
            given.fetch_add(1, Ordering::SeqCst);
            notify.notify_one();
            while taken.load(Ordering::SeqCst) < given.load(Ordering::SeqCst) {
                if Instant::now() > deadline {
                    stop.store(1, Ordering::SeqCst);
                    panic!("a notification was lost");
                }
                thread::yield_now();
            }
        }
        stop.store(1, Ordering::SeqCst);
    });
    assert_eq!(taken.into_inner(), TURNS);
    assert!(!is_stored(&notify));
}

/// The waker changes between polls while another thread notifies. Either a poll returns ready, or
/// the newest waker is woken.
#[test]
fn a_waker_that_has_just_come_is_woken() {
    const TURNS: usize = 1_000;
    let notify = Notify::new();
    let turn = AtomicUsize::new(0);
    let stop = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for next in 1..=TURNS {
                while turn.load(Ordering::SeqCst) != next {
                    if stop.load(Ordering::SeqCst) != 0 {
                        return;
                    }
                    thread::yield_now();
                }
                match next % 3 {
                    0 => notify.notify_waiters(),
                    1 => notify.notify_one(),
                    _ => notify.notify_last(),
                }
            }
        });
        let wakers = [(); 2].map(|()| Wakings::new());
        for next in 1..=TURNS {
            let mut notified = pin!(notify.notified());
            turn.store(next, Ordering::SeqCst);
            let deadline = Instant::now() + ms(900_000);
            let mut poll = 0;
            while poll < next % 50 + 1 {
                poll += 1;
                if poll_once(notified.as_mut(), &wakers[poll % 2].1).is_ready() {
                    break;
                }
            }
            // With the newest waker only.
            let (wakings, waker) = &wakers[poll % 2];
            let mut before = wakings.count();
            while poll_once(notified.as_mut(), waker).is_pending() {
                while wakings.count() == before {
                    if Instant::now() > deadline {
                        stop.store(1, Ordering::SeqCst);
                        panic!("a lost wake-up");
                    }
                    thread::yield_now();
                }
                before = wakings.count();
            }
        }
    });
}

#[test]
fn it_shows_what_it_is() {
    let notify = Notify::default();
    notify.notify_one();
    assert!(format!("{notify:?}").starts_with("Notify { notified: true, waiters: 0"));
    let notified = notify.notified();
    assert!(format!("{notified:?}").contains("state: New"));
    assert!(matches!(
        poll_once(pin!(notified), Waker::noop()),
        Poll::Ready(())
    ));
}

#[test]
fn it_is_small() {
    // Some fields have 64 bits on every system.
    let word = size_of::<u64>();
    assert!(size_of::<Notify>() <= 8 * word);
    // With the feature `inspect` a future also has its record.
    let with_record = 10 * word + size_of::<Wait>();
    assert!(size_of_val(&Notify::new().notified()) <= with_record);
}
