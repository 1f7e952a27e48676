//! Small programs with the faults of published crates. Each is of the same shape as the fault that it is named
//! after, and none has code of that crate.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::system::Monitor;
use super::system::atomic::{AtomicBool, AtomicU32, Ordering};
use super::system::thread::{self, Thread};
use super::system::{mpsc, spawn_background};

/// A program with a fault.
pub struct Bug {
    /// Its name here.
    pub name: &'static str,
    /// Where it was.
    pub origin: &'static str,
    /// Families of faults that it needs.
    pub faults: &'static str,
    /// The program: it returns, panics, or never ends.
    pub run: fn(),
}

/// All of them.
pub const BUGS: [Bug; 12] = [
    bug("blocking-pool", "tokio#8056", "none", blocking_pool),
    bug("reserve-many", "tokio#8260", "none", reserve_many),
    bug("driver", "tokio#8222", "none", driver),
    bug("cancelled-get", "bb8#67", "stall", cancelled_get),
    bug("listener", "event-listener#9", "none", listener),
    bug("selector", "flume#44", "none", selector),
    bug("two-flags", "crossfire#22", "none", two_flags),
    bug("buffer", "tower#480", "none", buffer),
    bug("late-answer", "openraft#1220", "loss,reorder", late_answer),
    bug("ready-queue", "futures-rs#2304", "none", ready_queue),
    bug("late-connection", "sqlx#3132", "latency", late_connection),
    bug("own-shard", "dashmap#304", "none", own_shard),
];

const fn bug(name: &'static str, origin: &'static str, faults: &'static str, run: fn()) -> Bug {
    Bug {
        name,
        origin,
        faults,
        run,
    }
}

/// A pool hands a job to an idle thread, or leaves it to the busy ones. A thread that has found no job, and
/// is not idle yet, is neither.
fn blocking_pool() {
    struct Pool {
        jobs: Monitor<VecDeque<mpsc::Sender<()>>>,
        idle: Monitor<(u32, u32)>,
    }
    let pool = Arc::new(Pool {
        jobs: Monitor::new(VecDeque::new()),
        idle: Monitor::new((0, 0)),
    });
    let of_thread = pool.clone();
    spawn_background(move || {
        loop {
            while let Some(done) = of_thread.jobs.with(VecDeque::pop_front) {
                let _ = done.send(());
            }
            of_thread.idle.with(|(idle, _)| *idle += 1);
            of_thread.idle.wait(|(_, calls)| {
                let called = *calls > 0;
                *calls -= u32::from(called);
                called.then_some(())
            });
        }
    });
    for _ in 0..3 {
        let (done, result) = mpsc::channel();
        pool.jobs.with(|jobs| jobs.push_back(done));
        let calls = pool.idle.with(|(idle, calls)| {
            let calls_one = *idle > 0;
            *idle -= u32::from(calls_one);
            *calls += u32::from(calls_one);
            calls_one
        });
        if calls {
            pool.idle.notify_one();
        }
        result.recv().unwrap();
    }
}

/// A reservation of several places takes those that are free and waits for the rest. When the channel is
/// closed it gives them back, and does not tell the receiver, which waits for all places.
fn reserve_many() {
    const PLACES: u32 = 2;
    struct State {
        free: u32,
        closed: bool,
    }
    let channel = Arc::new(Monitor::new(State {
        free: PLACES,
        closed: false,
    }));
    let receiver = Arc::new(Monitor::new(()));
    let (one, of_one) = (channel.clone(), receiver.clone());
    let single = thread::spawn(move || {
        let reserved = one.with(|state| {
            let can = !state.closed && state.free > 0;
            state.free -= u32::from(can);
            can
        });
        if reserved {
            one.with(|state| state.free += 1);
            one.notify_all();
            of_one.notify_all();
        }
    });
    let many = channel.clone();
    let several = thread::spawn(move || {
        let mut mine = 0;
        many.wait(|state| {
            let taken = state.free.min(PLACES - mine);
            state.free -= taken;
            mine += taken;
            (mine == PLACES || state.closed).then_some(())
        });
        many.with(|state| state.free += mine);
        many.notify_all();
    });
    channel.with(|state| state.closed = true);
    channel.notify_all();
    // The wait of the receiver has its own wake-up.
    let is_idle = || channel.with(|state| state.free == PLACES);
    receiver.wait(|()| is_idle().then_some(()));
    single.join().unwrap();
    several.join().unwrap();
}

/// A loop does not look at its timers if there is work after its hook. The hook asks another thread for some,
/// and if that is always fast enough, no timer expires.
fn driver() {
    let work = Arc::new(Monitor::new(0u32));
    let asked = Arc::new(Monitor::new(0u32));
    let (of_helper, for_helper) = (work.clone(), asked.clone());
    spawn_background(move || {
        loop {
            for_helper.wait(|asked| {
                let any = *asked > 0;
                *asked -= u32::from(any);
                any.then_some(())
            });
            of_helper.with(|work| *work += 1);
        }
    });
    let mut skipped = 0;
    for _ in 0..20 {
        asked.with(|asked| *asked += 1);
        asked.notify_one();
        let has_work = work.with(|work| {
            let any = *work > 0;
            *work -= u32::from(any);
            any
        });
        if has_work {
            skipped += 1;
        } else {
            // Here the timers are looked at.
            skipped = 0;
        }
        assert!(skipped < 6, "no timer expires");
    }
}

/// A pool hands a connection to the task that has waited longest. If that task is cancelled in this moment, the
/// connection stays in a channel without a reader.
fn cancelled_get() {
    type Waiters = Monitor<(Vec<u32>, VecDeque<mpsc::Sender<u32>>)>;
    fn get(pool: &Waiters, limit: Option<Duration>) -> Option<u32> {
        let (sender, receiver) = mpsc::channel();
        let idle = pool.with(|(idle, waiters)| {
            let found = idle.pop();
            if found.is_none() {
                waiters.push_back(sender);
            }
            found
        });
        if idle.is_some() {
            return idle;
        }
        match limit {
            None => receiver.recv().ok(),
            Some(limit) => {
                let found = receiver.recv_timeout(limit).ok();
                if found.is_none() {
                    // As a task does that is cancelled: it ends in its own time.
                    for _ in 0..4 {
                        thread::yield_now();
                    }
                }
                found
            }
        }
    }
    fn put(pool: &Waiters, connection: u32) {
        pool.with(|(idle, waiters)| {
            while let Some(waiter) = waiters.pop_front() {
                if waiter.send(connection).is_ok() {
                    return;
                }
            }
            idle.push(connection);
        });
    }
    let pool: Arc<Waiters> = Arc::new(Monitor::new((vec![7], VecDeque::new())));
    let connection = get(&pool, None).unwrap();
    let other = pool.clone();
    let impatient = thread::spawn(move || {
        if let Some(connection) = get(&other, Some(Duration::from_millis(1))) {
            put(&other, connection);
        }
    });
    thread::sleep(Duration::from_millis(1));
    put(&pool, connection);
    impatient.join().unwrap();
    assert_eq!(get(&pool, None), Some(7));
}

/// A sender notifies one listener of its item. A listener that is notified, but finds an item before it waits,
/// does not pass the notification on, and another listener sleeps beside the next item.
fn listener() {
    struct Listener {
        told: AtomicBool,
        thread: Thread,
    }
    #[derive(Default)]
    struct Queue {
        items: VecDeque<u32>,
        listeners: Vec<Arc<Listener>>,
    }
    impl Queue {
        fn tell_one(&mut self) {
            let is_told = |listener: &&Arc<Listener>| listener.told.load(Ordering::SeqCst);
            if self.listeners.iter().any(|listener| is_told(&listener)) {
                return;
            }
            if let Some(first) = self.listeners.first() {
                first.told.store(true, Ordering::SeqCst);
                first.thread.unpark();
            }
        }
    }
    fn receive(queue: &Monitor<Queue>) -> u32 {
        loop {
            if let Some(item) = queue.with(|queue| queue.items.pop_front()) {
                return item;
            }
            let me = Arc::new(Listener {
                told: AtomicBool::new(false),
                thread: thread::current(),
            });
            let leave = |queue: &mut Queue| {
                let others = |other: &Arc<Listener>| !Arc::ptr_eq(other, &me);
                queue.listeners.retain(others);
            };
            queue.with(|queue| queue.listeners.push(me.clone()));
            if let Some(item) = queue.with(|queue| queue.items.pop_front()) {
                queue.with(leave);
                return item;
            }
            while !me.told.load(Ordering::SeqCst) {
                thread::park();
            }
            queue.with(|queue| {
                leave(queue);
                if queue.items.len() > 1 {
                    queue.tell_one();
                }
            });
        }
    }
    let queue: Arc<Monitor<Queue>> = Arc::default();
    let receivers: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || receive(&queue))
        })
        .collect();
    for item in 0..2 {
        queue.with(|queue| {
            queue.items.push_back(item);
            queue.tell_one();
        });
    }
    for receiver in receivers {
        receiver.join().unwrap();
    }
}

impl<T: Default> Default for Monitor<T> {
    fn default() -> Monitor<T> {
        Monitor::new(T::default())
    }
}

/// A selection leaves its hooks in the channels that had nothing. The next item wakes the old hook.
fn selector() {
    type Hook = Arc<Monitor<bool>>;
    type Channel = Monitor<(VecDeque<u32>, VecDeque<Hook>)>;
    fn select(channels: &[Arc<Channel>; 2]) -> u32 {
        let hook: Hook = Arc::default();
        for channel in channels {
            let found = channel.with(|(items, hooks)| {
                let found = items.pop_front();
                if found.is_none() {
                    hooks.push_back(hook.clone());
                }
                found
            });
            if let Some(found) = found {
                return found;
            }
        }
        loop {
            hook.wait(|woken| core::mem::take(woken).then_some(()));
            for channel in channels {
                if let Some(found) = channel.with(|(items, _)| items.pop_front()) {
                    return found;
                }
            }
        }
    }
    fn send(channel: &Channel, item: u32) {
        let hook = channel.with(|(items, hooks)| {
            items.push_back(item);
            hooks.pop_front()
        });
        if let Some(hook) = hook {
            hook.with(|woken| *woken = true);
            hook.notify_one();
        }
    }
    let channels: [Arc<Channel>; 2] = Default::default();
    let senders: Vec<_> = channels.clone().into_iter().collect();
    let threads: Vec<_> = senders
        .into_iter()
        .map(|channel| thread::spawn(move || send(&channel, 1)))
        .collect();
    assert_eq!(select(&channels) + select(&channels), 2);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// The receiver says that it sleeps after it has looked, and the sender looks before that.
fn two_flags() {
    let items = Arc::new(Monitor::new(VecDeque::new()));
    let sleeps = Arc::new(Monitor::new(false));
    let (to, sleeper) = (items.clone(), sleeps.clone());
    let receiver = thread::current();
    let sender = thread::spawn(move || {
        for item in 0..3 {
            to.with(|items| items.push_back(item));
            if sleeper.with(core::mem::take) {
                receiver.unpark();
            }
        }
    });
    for item in 0..3 {
        loop {
            if let Some(found) = items.with(VecDeque::pop_front) {
                assert_eq!(found, item);
                break;
            }
            sleeps.with(|sleeps| *sleeps = true);
            while sleeps.with(|sleeps| *sleeps) {
                thread::park();
            }
        }
    }
    sender.join().unwrap();
}

/// A worker that fails closes its buffer, and does not wake the threads that wait for a place in it.
fn buffer() {
    #[derive(Default)]
    struct State {
        requests: VecDeque<u32>,
        closed: bool,
    }
    let state: Arc<Monitor<State>> = Arc::default();
    let room = Arc::new(Monitor::new(()));
    let (of_worker, of_room) = (state.clone(), room.clone());
    let worker = thread::spawn(move || {
        for _ in 0..2 {
            let request = of_worker.wait(|state| state.requests.pop_front());
            of_room.notify_one();
            if request == 1 {
                of_worker.with(|state| state.closed = true);
                return;
            }
        }
    });
    for request in 0..4 {
        // None: there is no room.
        let send = || {
            state.with(|state| match (state.closed, state.requests.len()) {
                (true, _) => Some(false),
                (false, 0) => {
                    state.requests.push_back(request);
                    Some(true)
                }
                _ => None,
            })
        };
        if !room.wait(|()| send()) {
            break;
        }
        state.notify_one();
    }
    worker.join().unwrap();
}

/// A leader counts an answer by its index only. A late one, to an entry that it has replaced, confirms an entry
/// that the follower never got.
fn late_answer() {
    let leader = UdpSocket::bind("127.0.0.1:0").unwrap();
    let follower = UdpSocket::bind("127.0.0.1:0").unwrap();
    leader.connect(follower.local_addr().unwrap()).unwrap();
    follower.connect(leader.local_addr().unwrap()).unwrap();
    leader
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    follower
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let log = Arc::new(Monitor::new([0u8; 4]));
    let of_follower = log.clone();
    let thread = thread::spawn(move || {
        let mut entry = [0; 2];
        while follower.recv(&mut entry).is_ok() {
            let [index, term] = entry;
            of_follower.with(|log| {
                let at = &mut log[index as usize];
                *at = term.max(*at);
            });
            let _ = follower.send(&[index]);
        }
    });
    // In the second term, the leader has other entries for the same places.
    for term in 1..=2 {
        for index in 0..4 {
            let mut answer = [255];
            for _ in 0..5 {
                leader.send(&[index, term]).unwrap();
                if leader.recv(&mut answer).is_ok() && answer[0] == index {
                    break;
                }
            }
            let confirmed = answer[0] == index;
            let stored = log.with(|log| log[index as usize]);
            assert!(
                !confirmed || stored == term,
                "a confirmed entry is not there"
            );
        }
    }
    thread.join().unwrap();
}

/// A task is no more in the queue of the ready ones only after it has run. A wake-up while it runs is lost.
fn ready_queue() {
    struct Task {
        is_queued: Monitor<bool>,
        value: Monitor<bool>,
    }
    let task = Arc::new(Task {
        is_queued: Monitor::new(true),
        value: Monitor::new(false),
    });
    let ready = Arc::new(Monitor::new(1));
    let (other, queue) = (task.clone(), ready.clone());
    let waker = thread::spawn(move || {
        other.value.with(|value| *value = true);
        if !other.is_queued.with(|is| core::mem::replace(is, true)) {
            queue.with(|ready| *ready += 1);
            queue.notify_one();
        }
    });
    loop {
        ready.wait(|ready| {
            let any = *ready > 0;
            *ready -= u32::from(any);
            any.then_some(())
        });
        let is_done = task.value.with(|value| *value);
        task.is_queued.with(|is| *is = false);
        if is_done {
            break;
        }
    }
    waker.join().unwrap();
}

/// The time limit for a connection covers the wait for a place and the connection itself. A connection that
/// is ready too late is thrown away, and the next one has to make another. Clients come one after the other.
fn late_connection() {
    const LIMIT: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(100);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn_background(move || {
        for stream in listener.incoming() {
            spawn_background(move || {
                let mut stream = stream.unwrap();
                let mut greeting = [0; 5];
                stream.read_exact(&mut greeting).unwrap();
                stream.write_all(&greeting).unwrap();
                let _ = stream.read(&mut greeting);
            });
        }
    });
    #[derive(Default)]
    struct Pool {
        is_used: Monitor<bool>,
        idle: Monitor<Option<TcpStream>>,
        made: AtomicU32,
    }
    let pool: Arc<Pool> = Arc::default();
    let clients: Vec<_> = (0..12)
        .map(|before| {
            let pool = pool.clone();
            thread::spawn(move || {
                thread::sleep(PAUSE * before);
                let start = Instant::now();
                let place = pool.is_used.wait_for(LIMIT, |used| {
                    (!core::mem::replace(used, true)).then_some(())
                });
                if place.is_none() {
                    return;
                }
                let connection = pool.idle.with(Option::take).unwrap_or_else(|| {
                    pool.made.fetch_add(1, Ordering::SeqCst);
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.write_all(b"hello").unwrap();
                    stream.read_exact(&mut [0; 5]).unwrap();
                    stream
                });
                if start.elapsed() < LIMIT {
                    pool.idle.with(|idle| *idle = Some(connection));
                }
                pool.is_used.with(|used| *used = false);
                pool.is_used.notify_one();
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let made = pool.made.load(Ordering::SeqCst);
    assert!(made <= 1, "{made} connections were made for one place");
}

/// A reference into a shard is held while an entry is added to the same shard. It fails in every order.
fn own_shard() {
    let shards = [const { Monitor::new(Vec::new()) }; 4];
    shards[1].with(|shard| {
        shard.push(1);
        shards[5 % shards.len()].with(|other| other.push(5));
    });
}
