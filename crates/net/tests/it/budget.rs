//! A socket that always has something to read uses up its task's budget, so that other
//! tasks get their turn.

use std::net::UdpSocket as StdUdpSocket;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, UdpSocket};
use blitz_io::runtime::Builder;
use blitz_io::task::yield_now;

use crate::help::pair;

const UNITS: usize = 128;
const MANY: usize = 3 * UNITS;

/// Returns how many operations, which are always ready, a task completes before another
/// task of its thread runs.
async fn done_in_a_turn(mut operation: impl AsyncFnMut()) -> usize {
    let turns = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = turns.clone();
    let set = blitz_io::task::LocalSet::new();
    set.spawn_local(async move {
        loop {
            counted.set(counted.get() + 1);
            yield_now().await;
        }
    });
    let work = async {
        // From here on, the task has a whole budget.
        yield_now().await;
        let (begin, mut longest, mut since) = (turns.get(), 0, 0);
        let mut turn = begin;
        for _ in 0..MANY {
            operation().await;
            since += 1;
            if turns.get() != turn {
                (turn, since) = (turns.get(), 1);
            }
            longest = longest.max(since);
        }
        assert!(turns.get() > begin, "the other task never ran");
        longest
    };
    set.run_until(work).await
}

fn check(test: impl Future<Output = usize>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let longest = runtime.block_on(test);
    // Earlier work of the task in this turn counts, too.
    assert!(longest <= UNITS + 1, "{longest} operations in a turn");
}

#[test]
fn of_streams() {
    check(async {
        let (mut near, mut far) = pair().await;
        near.write_all(&[7; MANY]).await.unwrap();
        done_in_a_turn(async || assert_eq!(far.read_u8().await.unwrap(), 7)).await
    });
    check(async {
        let (mut near, _far) = pair().await;
        done_in_a_turn(async || near.write_all(b"x").await.unwrap()).await
    });
    check(async {
        let (mut near, far) = pair().await;
        near.write_all(&[7; MANY]).await.unwrap();
        done_in_a_turn(async || {
            let (result, bytes) = far.read_owned(vec![0]).await;
            assert_eq!((result.unwrap(), bytes), (1, vec![7]));
        })
        .await
    });
}

#[test]
fn of_datagrams() {
    check(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let peer = StdUdpSocket::bind("127.0.0.1:0").unwrap();
        peer.connect(socket.local_addr().unwrap()).unwrap();
        done_in_a_turn(async || {
            peer.send(b"x").unwrap();
            assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 1);
        })
        .await
    });
}

#[test]
fn of_listeners() {
    check(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients = Vec::new();
        done_in_a_turn(async || {
            clients.push(std::net::TcpStream::connect(address).unwrap());
            drop(listener.accept().await.unwrap());
        })
        .await
    });
}
