// The locks with a sequence of steps that dice decide. See `locks.rs`.

/// A waiter, with two wakers between which it changes.
struct Waiter<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    wakings: [(Arc<Wakings>, Waker); 2],
}

impl<T> Waiter<T> {
    fn new(future: impl Future<Output = T> + 'static) -> Self {
        Self {
            future: Box::pin(future),
            wakings: [Wakings::new(), Wakings::new()],
        }
    }

    fn poll(&mut self, waker: usize) -> Option<T> {
        // This does not compare budgets of tasks on a foreign runtime.
        let poll = || poll_once(self.future.as_mut(), &self.wakings[waker].1);
        match blitz_io_core::coop::unconstrained(poll) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }

    fn woken(&self) -> [usize; 2] {
        [self.wakings[0].0.count(), self.wakings[1].0.count()]
    }
}

/// Picks the next operations on a semaphore at random.
pub fn random_semaphore(seed: u64) -> Log {
    let mut log = Log::new();
    let mut dice = Dice(seed);
    let semaphore = Arc::new(Semaphore::new(dice.below(4)));
    let mut waiters: Vec<Waiter<Result<OwnedSemaphorePermit, AcquireError>>> = Vec::new();
    let mut permits = Vec::new();
    for turn in 0..400 {
        let what = dice.below(100);
        match what {
            0..20 => {
                let n = dice.below(5) as u32;
                waiters.push(Waiter::new(semaphore.clone().acquire_many_owned(n)));
            }
            20..55 if !waiters.is_empty() => {
                let which = dice.below(waiters.len());
                if let Some(result) = waiters[which].poll(dice.below(2)) {
                    log!(
                        log,
                        turn,
                        which,
                        result.as_ref().map(|permit| permit.num_permits()).ok()
                    );
                    permits.extend(result.ok());
                    drop(waiters.remove(which));
                }
            }
            55..63 if !waiters.is_empty() => drop(waiters.remove(dice.below(waiters.len()))),
            63..80 if !permits.is_empty() => drop(permits.remove(dice.below(permits.len()))),
            80..85 => {
                let result = semaphore
                    .clone()
                    .try_acquire_many_owned(dice.below(3) as u32);
                log!(
                    log,
                    turn,
                    result.as_ref().map(|permit| permit.num_permits())
                );
                permits.extend(result.ok());
            }
            85..90 => semaphore.add_permits(dice.below(4)),
            90..94 => log!(log, turn, semaphore.forget_permits(dice.below(3))),
            94..96 if permits.len() > 1 => {
                let other = permits.pop().unwrap();
                permits[0].merge(other);
            }
            96..98 if !permits.is_empty() => {
                let n = dice.below(3);
                if let Some(permit) = permits[0].split(n) {
                    permits.push(permit);
                }
            }
            _ => {}
        }
        if turn == 350 {
            semaphore.close();
            // Tokio returns a waiter's assigned permits when it is dropped, we return them at
            // once.
            for mut waiter in waiters.drain(..) {
                log!(
                    log,
                    turn,
                    waiter.woken(),
                    waiter.poll(0).map(|result| result.is_ok())
                );
            }
        }
        let woken: Vec<_> = waiters.iter().map(Waiter::woken).collect();
        log!(
            log,
            turn,
            what,
            semaphore.available_permits(),
            semaphore.is_closed(),
            woken
        );
    }
    log
}

/// Does random operations on a lock.
pub fn random_rwlock(seed: u64) -> Log {
    enum Guard {
        Read(OwnedRwLockReadGuard<usize>),
        Write(OwnedRwLockWriteGuard<usize>),
    }

    let mut log = Log::new();
    let mut dice = Dice(seed);
    let lock = match dice.below(2) {
        0 => Arc::new(RwLock::new(0)),
        _ => Arc::new(RwLock::with_max_readers(0, 1 + dice.below(3) as u32)),
    };
    let mut waiters: Vec<Waiter<Guard>> = Vec::new();
    let mut guards = Vec::new();
    for turn in 0..400 {
        let what = dice.below(100);
        match what {
            0..15 => {
                let lock = lock.clone();
                waiters.push(Waiter::new(async { Guard::Read(lock.read_owned().await) }));
            }
            15..25 => {
                let lock = lock.clone();
                waiters.push(Waiter::new(async {
                    Guard::Write(lock.write_owned().await)
                }));
            }
            25..60 if !waiters.is_empty() => {
                let which = dice.below(waiters.len());
                if let Some(guard) = waiters[which].poll(dice.below(2)) {
                    drop(waiters.remove(which));
                    guards.push(guard);
                }
            }
            60..65 if !waiters.is_empty() => drop(waiters.remove(dice.below(waiters.len()))),
            65..90 if !guards.is_empty() => match guards.remove(dice.below(guards.len())) {
                Guard::Write(mut guard) => {
                    *guard += 1;
                    if dice.below(2) == 0 {
                        guards.push(Guard::Read(guard.downgrade()));
                    }
                }
                Guard::Read(guard) => log!(log, turn, *guard),
            },
            90..93 => {
                let guard = lock.clone().try_read_owned();
                log!(log, turn, guard.is_ok());
                guards.extend(guard.ok().map(Guard::Read));
            }
            93..96 => {
                let guard = lock.clone().try_write_owned();
                log!(log, turn, guard.is_ok());
                guards.extend(guard.ok().map(Guard::Write));
            }
            _ => log!(log, turn, &lock),
        }
        let woken: Vec<_> = waiters.iter().map(Waiter::woken).collect();
        log!(log, turn, what, woken);
    }
    log
}

/// Does random operations on a mutex.
pub fn random_mutex(seed: u64) -> Log {
    let mut log = Log::new();
    let mut dice = Dice(seed);
    let mutex = Arc::new(Mutex::new(0));
    let mut waiters: Vec<Waiter<OwnedMutexGuard<usize>>> = Vec::new();
    let mut held = None;
    for turn in 0..400 {
        let what = dice.below(100);
        match what {
            0..25 => waiters.push(Waiter::new(mutex.clone().lock_owned())),
            25..60 if !waiters.is_empty() => {
                let which = dice.below(waiters.len());
                if let Some(guard) = waiters[which].poll(dice.below(2)) {
                    drop(waiters.remove(which));
                    assert!(held.replace(guard).is_none());
                }
            }
            60..68 if !waiters.is_empty() => drop(waiters.remove(dice.below(waiters.len()))),
            68..90 => {
                if let Some(mut guard) = held.take() {
                    *guard += 1;
                    log!(log, turn, *guard);
                }
            }
            90..95 => match mutex.clone().try_lock_owned() {
                Ok(guard) => assert!(held.replace(guard).is_none()),
                Err(error) => log!(log, turn, error),
            },
            _ => log!(log, turn, &mutex),
        }
        let woken: Vec<_> = waiters.iter().map(Waiter::woken).collect();
        log!(log, turn, what, woken);
    }
    log
}
