//! Messages between processes: values, bytes that are written in place, a time limit, and the end.
//! Both ends are in one process here; it makes no difference.

use std::time::Duration;

use blitz_io::ipc::{self, RecvError, Route, plain_data};

plain_data! {
    /// A price: plain bytes, the same in each process.
    #[derive(PartialEq, Debug)]
    struct Price {
        symbol: [u8; 8],
        cents: u64,
    }
}

#[blitz_io::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if !ipc::is_supported() {
        println!("this system has no shared memory of that kind");
        return Ok(());
    }
    let name = format!("cookbook-messages-{}", std::process::id());
    // The first process that opens a name makes the ring, and says how large it is.
    let route = Route::builder().capacity(64).max_len(4096);
    let mut receiver = route.receiver(&name)?;
    let mut sender = route.sender(&name)?;

    // A value, which the receiver awaits.
    let price = Price {
        symbol: *b"ACME    ",
        cents: 1250,
    };
    sender.send_value(&price)?;
    assert_eq!(receiver.recv_value_async::<Price>().await?, price);

    // In place: the bytes are written where the receiver reads them.
    let mut frame = sender.loan(1000)?;
    frame.fill(7);
    frame.send()?;
    let message = receiver.recv()?;
    let sum: u64 = message.iter().map(|&byte| u64::from(byte)).sum();
    println!("a frame of {} bytes, with the sum {sum}", message.len());
    assert_eq!(sum, 7000);
    drop(message);

    // Nothing is there.
    let late = receiver.recv_timeout(Duration::from_millis(10)).err();
    assert_eq!(late, Some(RecvError::TimedOut));

    // The sender leaves, or is killed.
    drop(sender);
    assert_eq!(receiver.recv().err(), Some(RecvError::Disconnected));
    Ok(())
}
