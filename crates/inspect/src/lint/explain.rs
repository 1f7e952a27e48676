//! The pages of `blitz lint --explain`.

pub(super) const LOCK_ORDER: &str = "\
lock-order: two or more locks are taken in a circle

  One task takes lock A and then, while it holds A, lock B. Another one takes B and then A. If each has
  its first lock, both wait for ever. This run ended, as they did not meet there. Another run hangs.

      let a = accounts.lock().await;         let b = audit.lock().await;
      let b = audit.lock().await;            let a = accounts.lock().await;

What to change
  - Take the locks in the same order everywhere, and write that order down where they are created.
  - Drop the first guard before the second lock is taken.
  - Make one lock of both, if they are always needed together.
  - Try the second lock (`try_lock`), and give the first one up if that fails.
  - Two locks of the same kind (two accounts): take the one with the smaller number first.

What counts
  Tasks and threads count alike, in any mixture. A lock counts as the one it is; and locks of tasks also as
  all that were created at the same line, which is `probable`: it is no fault if these locks never meet. Two
  locks from the same line are told apart. Readers do not keep each other out. A lock that is tried, or
  waited for with a deadline, is taken after nothing, as that wait ends. If all owners hold a further lock,
  only one of them is in the circle at a time, and there is no finding. A cycle of one task or thread is
  `probable`: it is a fault as soon as two tasks do what this one did.

  A lock that one owner reads twice is a circle of one lock, if another owner writes: the writer waits for the
  first guard, and the second read waits behind the writer. Read it once, or use `thread::RwLock::read_recursive`.

  The task of a connection (hyper, axum, tonic) waits for its socket beside the handler, and often for a timer or
  an event. If the handler waits for something without a record between its locks, the other futures could hold one of
  them, so a circle of such tasks is `probable`.

Not seen
  Semaphores, and locks of other libraries. The guards of `RwLock::read_owned`. Two locks of a task that has
  another future, if it is not known which one has the first lock (`join!`). The report counts them.";

pub(super) const GUARD_ACROSS_AWAIT: &str = "\
guard-across-await: a task is suspended with a guard that others need

  The task took a lock of `blitz_io::thread`, which blocks the thread of each one that waits for it, and
  then returned from its poll with the guard. Until the task is polled again, each thread that wants the
  lock stands still. If it is the thread that has to poll the task, it is a deadlock.

      let guard = table.lock();              // thread::Mutex
      socket.read(&mut buffer).await?;       // suspended, and the guard is alive

What to change
  - Drop the guard before the await: end its block, or call `drop(guard)`.
  - Copy what you need out of the value first.
  - If the lock must be held: use `blitz_io::sync::Mutex`, whose waiters are suspended.

The guard of a lock of tasks may be kept over an await. It is a finding, too, if the task was suspended with it for
a second or more in all, and another task waits for it when it is released: all who want the lock wait for what the
task awaits, such as a peer that does not answer. Await that before the lock is taken, or with a deadline.

Not seen
  Guards that a task keeps for ever: `blitz why` shows them. Guards of `RwLock::read_owned`.";

pub(super) const BLOCKING_IN_POLL: &str = "\
blocking-in-poll: the poll of a task keeps its worker

  Other tasks of the worker wait as long as a poll takes. The poll waited for a lock of threads for a
  millisecond or more, or slept in another primitive of threads, or took ten milliseconds or more: of
  processor time, or as it slept in a call of the system. A poll that was late because the system gave its
  processor to another thread is no finding.

What to change
  - A lock: hold it for less time (the line of the holder is in the finding), or use `blitz_io::sync`.
  - A wait: use the primitive of `blitz_io::sync` with the same name, and await it.
  - Files, processes, names of hosts: use `blitz_io::fs`, `process` and `net`.
  - A computation, or a library that blocks: `task::spawn_blocking`, `task::block_in_place`, or a pool
    (`blitz_io::pool`).
  - A long loop: `task::yield_now().await` between its parts.

What counts
  Tasks of a runtime on its workers. Not: closures on threads for blocking work, code within
  `block_in_place`, and the future of `block_on`.";

pub(super) const FUTURELOCK_RISK: &str = "\
futurelock-risk: a future has got a lock, and its task awaits something else

  A future waited in the queue of a lock and was not dropped. The lock was handed to it, and its task was woken,
  but the task polled another future. The lock belongs to a future that is not polled: each other task that wants
  the lock waits, and if this task itself wants it, it waits for ever.

      let mut first = pin!(lock.lock());
      select! {
          guard = &mut first => use_it(guard),
          () = sleep(second) => {
              // `first` is still in the queue, and is not polled in here.
              refresh(&lock).await;
          }
      }

What to change
  - Give the future itself to `select!` and not `&mut future`: then it is dropped before the branch runs.
  - Spawn the work of the branch, and go on with the `select!`.
  - In a loop over `FuturesUnordered` or a stream: do not await the lock in the body of the loop.

What counts
  The lock was handed over before a poll of the task began, and the poll ended without the future: it was neither
  polled nor dropped. A task that wakes itself in that poll does not count. With --pedantic, a permit of a semaphore,
  a place in a channel and a notification, too; a program may leave these for later.

Not seen
  Futures in a combinator that has wakers of its own, such as `FuturesUnordered`. A run in which the lock
  was free.";

pub(super) const LEAKED_TASK: &str = "\
leaked-task: a runtime ends, and a task is left that nothing could have woken

  When the runtime ended, these tasks waited for each other, or one for itself. The program ended well, as it
  did not await them. In a service that goes on, they stay for ever, with all that they own.

      tokio::spawn(async move {
          let _guard = lock.lock().await;
          child.await;                       // the child wants the lock
      });

What to change
  - `blitz why` explains such a circle at the moment in which it is there.
  - Await the tasks (`JoinSet`, `task::scope`), so that a test hangs when they do, or give them a deadline.
  - Drop what others wait for: the last sender, the guard, the handle.

What counts
  The circles of which `blitz why` is certain, in two snapshots at the end of a runtime. With --pedantic, also a
  task that is idle and has neither a recorded wait nor a waker: only its `JoinHandle` could abort it.

Not seen
  Tasks whose senders and handles are reachable from nowhere but themselves: no record says who has a sender.";

pub(super) const UNBOUNDED_GROWTH: &str = "\
unbounded-growth: a channel without a limit only gets longer

  Values were sent faster than the receiver took them, from the first look to the last one. In a program that
  goes on, the channel has all memory in the end, and each value waits longer than the one before.

What to change
  - A channel with a limit (`mpsc::channel(n)`): the sender waits, and so do those who give it work.
  - Drop what is old: `broadcast`, or `watch` for a state.
  - Take many at once (`recv_many`), or let several tasks work.

What counts
  A thread looks at a channel with each 1,024th value that it sends. The channel was longer at 16 looks or more and
  never shorter, has at least 8,192 values at the last one, and a task has received from it. The receiver looks when
  it is dropped, so a channel that is emptied in the end is no finding.

Not seen
  Channels other than `mpsc`; those of threads that send fewer values.";

pub(super) const LOST_PERMIT: &str = "\
lost-permit: a permit was forgotten, and the semaphore goes on with fewer

  The program called `forget` on a permit, no permit was ever added to the semaphore, and after the first such call
  others took a permit, or waited for one. Each such call makes the limit smaller. When the last permit is forgotten,
  all wait for ever. That the others' permits are forgotten as well makes it no better: this is found, too.

What to change
  - Drop the permit, also in the branch that fails.
  - Give permits back with `add_permits`, if they are a budget and no limit.
  - A limit that gets smaller as was meant: `forget_permits`, which says so and is no finding.

Not seen
  Permits that `mem::forget` or a reference cycle keeps. Permits that return, but too late.";

pub(super) const NO_DEADLINE: &str = "\
no-deadline: a request waits for a socket without a timer (--pedantic)

  The peer may be gone without a word: then the wait has no end, and the request keeps its memory, its permit and
  its place in the pool. Half-open connections are the rule in networks with firewalls.

What to change
  - `timeout(limit, socket.read(&mut buffer)).await`, or one for the whole request.
  - The timeouts of the library: `reqwest::Client::builder().timeout(..)`, `tower::timeout`.

What counts
  A wait of a task in a request that the program has marked (`trace::request`, `Request::instrument`), if no
  timer of this task is pending at the end of the poll.

Not seen
  Deadlines elsewhere: of a task that aborts this one, and of the system (`SO_RCVTIMEO`, keepalive). So this lint
  is for those who ask for it.";

pub(super) const WAKE_STORM: &str = "\
wake-storm: an event wakes many tasks, and one has something to do (--pedantic)

  `notify_waiters` wakes all. One of them finds work, and the others wait again: n tasks run for one value, and the
  processors are busy with nothing.

What to change
  - `notify_one`, which wakes one, once for each value.
  - A channel (`mpmc`): each value wakes one receiver.
  - A `watch` channel, or a `Notify` for each condition, if they wait for different things.

What counts
  At least eight tasks wait for the event at one line, and wait again in the same poll a thousand times or more,
  four times or more for each time that one does something that takes another wait.

Not seen
  Work without a wait looks like none, so a broadcast to tasks that only compute may be reported. So this lint is for
  those who ask for it.";
