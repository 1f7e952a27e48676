//! A task owns the stock, and each request asks it once for each of its items.

use std::io;
use std::time::Duration;

use blitz_io::runtime::Runtime;
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::time::sleep;
use blitz_io_slow::{Load, planted, serve, two_workers};

/// Number of items of a request.
const ITEMS: u32 = 5;

type Question = (u32, oneshot::Sender<u32>);

fn main() -> io::Result<()> {
    let load = Load {
        clients: 12,
        requests: 4,
    };
    let runtime = two_workers().build()?;
    let stock = start_stock(&runtime);
    runtime.block_on(serve("GET /cart", load, move |_| {
        let stock = stock.clone();
        async move {
            for item in 0..ITEMS {
                let (sender, receiver) = oneshot::channel();
                stock.send((item, sender)).await.expect("the task lives");
                assert_eq!(receiver.await, Ok(item));
            }
        }
    }))
}

fn start_stock(runtime: &Runtime) -> mpsc::Sender<Question> {
    let (sender, mut receiver) = mpsc::channel::<Question>(64);
    let item_takes = Duration::from_millis(planted(1).into());
    runtime.spawn(async move {
        while let Some((item, answer)) = receiver.recv().await {
            sleep(item_takes).await;
            // The request may have ended.
            _ = answer.send(item);
        }
    });
    sender
}
