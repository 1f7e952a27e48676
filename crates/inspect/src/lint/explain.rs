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

Not seen
  Semaphores, and locks of other libraries. The guards of `RwLock::read_owned`. Locks that different futures
  of one task hold, if these futures are pending at the same time (`join!`).";

pub(super) const GUARD_ACROSS_AWAIT: &str = "\
guard-across-await: a task is suspended with the guard of a thread lock

  The task took a lock of `blitz_io::thread`, which blocks the thread of each one that waits for it, and
  then returned from its poll with the guard. Until the task is polled again, each thread that wants the
  lock stands still. If it is the thread that has to poll the task, it is a deadlock.

      let guard = table.lock();              // thread::Mutex
      socket.read(&mut buffer).await?;       // suspended, and the guard is alive

What to change
  - Drop the guard before the await: end its block, or call `drop(guard)`.
  - Copy what you need out of the value first.
  - If the lock must be held: use `blitz_io::sync::Mutex`, whose waiters are suspended.";

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
