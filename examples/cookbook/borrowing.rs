//! Tasks that borrow from the function that starts them, and end before it goes on.

use blitz_io::task;

#[blitz_io::main]
async fn main() {
    let words = ["one".to_owned(), "three".to_owned(), "five".to_owned()];
    let mut lengths = vec![0; words.len()];

    // No `Arc`, no `clone`: the scope ends after all its children. They run concurrently in
    // this task; `blocking_scope` runs children in parallel and blocks its thread.
    // `async |scope|` borrows; `|scope| async move` would move the variables in.
    task::scope(async |scope| {
        for (word, length) in words.iter().zip(&mut lengths) {
            scope.spawn(async move {
                task::yield_now().await;
                *length = word.len();
            });
        }
    })
    .await;
    println!("lengths: {lengths:?}");
    assert_eq!(lengths, [3, 5, 4]);
}
