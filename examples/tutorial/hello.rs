//! The first program: a task, a channel, and the end of both.

use blitz_io::sync::mpsc;

#[blitz_io::main]
async fn main() {
    let (results, mut inbox) = mpsc::channel(2);
    let squares = blitz_io::spawn(async move {
        for number in 1..=4 {
            results.send(number * number).await.unwrap();
        }
    });

    let mut received = Vec::new();
    while let Some(square) = inbox.recv().await {
        print!("{square} ");
        received.push(square);
    }
    println!();
    squares.await.unwrap();
    assert_eq!(received, [1, 4, 9, 16]);
}
