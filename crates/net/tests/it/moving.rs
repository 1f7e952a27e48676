//! A task that is on another thread at every await.

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io_testing::move_at_every_await;

use crate::help::{LIMIT, multi, pair};

#[test]
fn a_task_may_move_at_every_await() {
    let runtime = multi(2);
    let (mut client, mut server) = runtime.block_on(pair());
    let handle = runtime.handle().clone();
    let echo = async move {
        let mut buffer = [0; 4];
        for _ in 0..2_000 {
            server.read_exact(&mut buffer).await.unwrap();
            server.write_all(&buffer).await.unwrap();
        }
    };
    let ask = async move {
        for round in 0..2_000 {
            client.write_u32(round).await.unwrap();
            assert_eq!(client.read_u32().await.unwrap(), round);
        }
    };
    move_at_every_await(vec![Box::pin(echo), Box::pin(ask)], LIMIT, move |run| {
        let _runtime = handle.enter();
        run();
    });
}
