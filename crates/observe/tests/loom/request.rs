//! Models of the request to another thread: the asking thread, and handlers that are late or called twice.

use std::sync::Arc;

use blitz_io_observe::Request;
use loom::thread;

use crate::model::model_in_order;

type Shared = Arc<Request<(u32, u32)>>;

const THREAD: u64 = 1;

fn shared() -> Shared {
    Arc::new(Request::new((0, 0)))
}

/// The handler of the thread's signal runs.
fn handler(request: &Shared, number: u32) -> thread::JoinHandle<()> {
    let request = request.clone();
    thread::spawn(move || request.fill(THREAD, |value| *value = (number, number)))
}

/// Asks once, and does not wait.
fn ask(request: &Shared) -> Option<u32> {
    if !request.ask(THREAD) {
        return None;
    }
    request.end(THREAD, |&(one, two)| {
        assert_eq!(one, two);
        one
    })
}

/// Each request may be answered by the handler for an earlier one.
#[test]
fn one_thread_at_a_time_has_the_value() {
    model_in_order(3, || {
        let request = shared();
        let handlers = [1, 2].map(|number| handler(&request, number));
        _ = ask(&request);
        request.ask(THREAD);
        for handler in handlers {
            handler.join().unwrap();
        }
        _ = request.end(THREAD, |&(one, two)| assert_eq!(one, two));
    });
}

#[test]
fn a_request_that_is_not_given_up_is_answered() {
    model_in_order(3, || {
        let request = shared();
        for number in 1..3 {
            assert!(request.ask(THREAD));
            let handler = handler(&request, number);
            while !request.is_filled() {
                thread::yield_now();
            }
            assert_eq!(request.end(THREAD, |value| value.0), Some(number));
            handler.join().unwrap();
        }
    });
}

/// A request that is given up while a thread answers it is answered before the next one begins.
#[test]
fn a_late_answer_comes_before_the_next_request() {
    model_in_order(2, || {
        let request = shared();
        assert!(request.ask(THREAD));
        let late = handler(&request, 1);
        _ = request.end(THREAD, |&(one, two)| assert_eq!(one, two));
        while !request.ask(THREAD) {
            thread::yield_now();
        }
        handler(&request, 2).join().unwrap();
        late.join().unwrap();
        assert!(request.end(THREAD, |value| value.0).is_some());
    });
}

#[test]
fn another_thread_does_not_answer() {
    model_in_order(2, || {
        let request = shared();
        let other = {
            let request = request.clone();
            thread::spawn(move || request.fill(THREAD + 1, |_| unreachable!("it is not asked")))
        };
        assert_eq!(ask(&request), None);
        other.join().unwrap();
    });
}
