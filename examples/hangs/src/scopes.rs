//! Hangs of the children of scopes.

use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::{Barrier, Mutex, mpsc, oneshot};
use blitz_io::{task, time};

use crate::{meeting, spawn};

/// A time that no test waits for.
const LONG: Duration = Duration::from_secs(3_600);

/// Two mutexes, and where those meet that take them.
struct Both {
    accounts: Mutex<()>,
    audit: Mutex<()>,
    meet: Barrier,
}

impl Both {
    fn new() -> Self {
        Self {
            accounts: Mutex::new(()).named("accounts"),
            audit: Mutex::new(()).named("audit"),
            meet: Barrier::new(meeting(2)),
        }
    }

    async fn transfer(&self) {
        let _accounts = self.accounts.lock().await;
        self.meet.wait().await;
        let _audit = self.audit.lock().await;
    }

    async fn report(&self) {
        let _audit = self.audit.lock().await;
        self.meet.wait().await;
        let _accounts = self.accounts.lock().await;
    }
}

/// Two children of one task take two mutexes in two orders.
pub async fn two_mutexes() {
    _ = spawn("owner", async {
        let both = Both::new();
        let both = &both;
        task::scope(|scope| async move {
            scope.spawn(both.transfer());
            scope.spawn(both.report());
        })
        .await;
    })
    .await;
}

/// The same beside a child that ticks for ever, so that their task is polled again and again.
pub async fn two_mutexes_beside_ticks() {
    _ = spawn("owner", async {
        let both = Both::new();
        let both = &both;
        task::scope(|scope| async move {
            scope.spawn(both.transfer());
            scope.spawn(both.report());
            scope.spawn(async {
                loop {
                    time::sleep(Duration::from_millis(20)).await;
                }
            });
        })
        .await;
    })
    .await;
}

/// Two children of a child take two mutexes in two orders.
pub async fn two_mutexes_within() {
    _ = spawn("owner", async {
        let both = Both::new();
        let both = &both;
        task::scope(|outer| async move {
            outer.spawn(task::scope(move |inner| async move {
                inner.spawn(both.transfer());
                inner.spawn(both.report());
            }));
        })
        .await;
    })
    .await;
}

/// A child has a lock and awaits its sibling, which wants it.
pub async fn sibling_holds_lock() {
    _ = spawn("owner", async {
        let total = Mutex::new(0).named("total");
        let total = &total;
        task::scope(|scope| async move {
            let siblings = scope.clone();
            scope.spawn(async move {
                let held = total.lock().await;
                _ = siblings.spawn(async { *total.lock().await += 1 }).await;
                drop(held);
            });
        })
        .await;
    })
    .await;
}

/// The body of a scope awaits a child which wants a lock that the body has.
pub async fn body_holds_lock() {
    _ = spawn("owner", async {
        let total = Mutex::new(0).named("total");
        let total = &total;
        task::scope(|scope| async move {
            let held = total.lock().await;
            _ = scope.spawn(async { *total.lock().await += 1 }).await;
            drop(held);
        })
        .await;
    })
    .await;
}

/// Each of two children has sent its sibling a message, and waits for the next one.
pub async fn crossed_queues() {
    _ = spawn("owner", async {
        let (to_one, mut of_one) = mpsc::channel::<u32>(4);
        let (to_two, mut of_two) = mpsc::channel::<u32>(4);
        task::scope(|scope| async move {
            scope.spawn(async move {
                _ = to_two.send(1).await;
                while of_one.recv().await.is_some() {}
                drop(to_two);
            });
            scope.spawn(async move {
                _ = to_one.send(2).await;
                while of_two.recv().await.is_some() {}
                drop(to_one);
            });
        })
        .await;
    })
    .await;
}

/// Two children of a scope that blocks its thread take two mutexes in two orders.
pub async fn blocking_two_mutexes() {
    _ = spawn("owner", async {
        let both = Both::new();
        task::blocking_scope(|scope| {
            scope.spawn(both.transfer());
            scope.spawn(both.report());
        });
    })
    .await;
}

/// Two children in parallel take two mutexes in two orders, and eight others wait for one of these.
pub async fn parallel_two_mutexes() {
    _ = spawn("owner", async {
        let both = Arc::new(Both::new());
        task::parallel_scope(|scope| async move {
            for is_transfer in [true, false] {
                let both = both.clone();
                scope.spawn(async move {
                    if is_transfer {
                        both.transfer().await;
                    } else {
                        both.report().await;
                    }
                });
            }
            for _ in 0..8 {
                let both = both.clone();
                scope.spawn(async move { drop(both.audit.lock().await) });
            }
        })
        .await;
    })
    .await;
}

/// A child has the guard that its task has taken, and sleeps; its sibling waits for the lock.
pub async fn guard_is_given() {
    _ = spawn("owner", async {
        let state = Mutex::new(()).named("state");
        let (state, guard) = (&state, state.lock().await);
        task::scope(|scope| async move {
            scope.spawn(async move {
                time::sleep(LONG).await;
                drop(guard);
            });
            scope.spawn(async { drop(state.lock().await) });
        })
        .await;
    })
    .await;
}

/// A child gives the guard that it has taken to a sibling, which sleeps. It waits for the lock then, and so does the task.
pub async fn guard_is_sent() {
    _ = spawn("owner", async {
        let state = Mutex::new(()).named("state");
        let state = &state;
        let (give, take) = oneshot::channel();
        task::scope(|scope| async move {
            scope.spawn(async move {
                let guard = state.lock().await;
                _ = give.send(guard);
                drop(state.lock().await);
            });
            scope.spawn(async move {
                let guard = take.await;
                time::sleep(LONG).await;
                drop(guard);
            });
        })
        .await;
    })
    .await;
}

/// The result of a child is a guard. Its task keeps it, and another one waits for the lock.
pub async fn guard_is_returned() {
    let state = Arc::new(Mutex::new(()).named("state"));
    let wanted = state.clone();
    let (taken, is_taken) = oneshot::channel();
    let owner = spawn("owner", async move {
        let guard = task::scope(|scope| {
            let child = scope.spawn(state.lock());
            async move { child.await.expect("it does not panic") }
        });
        let guard = guard.await;
        _ = taken.send(());
        time::sleep(LONG).await;
        drop(guard);
    });
    _ = is_taken.await;
    _ = spawn("wants", async move { drop(wanted.lock().await) }).await;
    _ = owner.await;
}

/// Children that wait for each other, for an hour at most.
pub async fn in_a_timeout() {
    _ = spawn("owner", async {
        let both = Both::new();
        let both = &both;
        let waits = task::scope(|scope| async move {
            scope.spawn(both.transfer());
            scope.spawn(both.report());
        });
        _ = time::timeout(LONG, waits).await;
    })
    .await;
}

/// Children in parallel that wait for each other, beside one that may fail, which ends them.
pub async fn parallel_beside_a_sleeper() {
    _ = spawn("owner", async {
        let both = Arc::new(Both::new());
        task::parallel_scope(|scope| async move {
            let (one, two) = (both.clone(), both);
            scope.spawn(async move { one.transfer().await });
            scope.spawn(async move { two.report().await });
            scope.spawn(time::sleep(LONG));
        })
        .await;
    })
    .await;
}
