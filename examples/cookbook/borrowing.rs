//! Tasks that borrow from the function that starts them, and end before it goes on.

use blitz_io::task;
use blitz_io::thread::Mutex;

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

    // Children are `Send`, so they share a `Mutex` or an atomic, and no `RefCell`. One that has the
    // scope starts others, which may borrow the same.
    let found = Mutex::new(vec![]);
    task::scope(async |scope| {
        for word in &words {
            let (inner, found) = (scope.clone(), &found);
            scope.spawn(async move {
                for letter in word.chars() {
                    inner.spawn(async move { found.lock().push(letter) });
                }
            });
        }
    })
    .await;
    assert_eq!(found.into_inner().len(), 12);
}
