//! Models of the tree of tokens.

use crate::model;

use std::mem::ManuallyDrop;
use std::ops::Deref;

use blitz_io_runtime::kernel::cancellation_token::CancellationToken;
use loom::thread;
use model::{block_on, model_in_order};

/// A token that is not dropped when the model has failed: that would be a step in a
/// run that is over.
#[derive(Clone)]
struct Token(ManuallyDrop<CancellationToken>);

impl Token {
    fn new() -> Self {
        Self(ManuallyDrop::new(CancellationToken::new()))
    }

    fn child_token(&self) -> Self {
        Self(ManuallyDrop::new(self.0.child_token()))
    }
}

impl Deref for Token {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.0
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this is the only place, and the last.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

fn model(test: impl Fn() + Sync + Send + 'static) {
    model_in_order(3, test);
}

/// A thread that cancels a token.
fn cancels(token: &Token) -> thread::JoinHandle<()> {
    let token = token.clone();
    thread::spawn(move || token.cancel())
}

/// Awaits a token that another thread cancels.
fn await_cancelled(token: &Token) {
    block_on(token.cancelled());
}

fn one_waits() {
    model(|| {
        let token = Token::new();
        let other = cancels(&token);
        await_cancelled(&token);
        assert!(token.is_cancelled());
        other.join().unwrap();
    });
}

fn one_waits_for_the_parent() {
    model(|| {
        let token = Token::new();
        let child = token.child_token();
        let other = thread::spawn(move || token.cancel());
        await_cancelled(&child);
        other.join().unwrap();
    });
}

/// The first child of a root, while the root is cancelled.
fn the_first_child() {
    model(|| {
        let token = Token::new();
        let other = cancels(&token);
        let child = token.child_token();
        other.join().unwrap();
        assert!(child.is_cancelled());
    });
}

/// A second child, while the root is cancelled.
fn another_child() {
    model(|| {
        let token = Token::new();
        let _first = token.child_token();
        let other = cancels(&token);
        let child = token.child_token();
        other.join().unwrap();
        assert!(child.is_cancelled());
    });
}

/// Two make the first child of the same root.
fn two_first_children() {
    model(|| {
        let token = Token::new();
        let other = thread::spawn({
            let token = token.clone();
            move || token.child_token()
        });
        let child = token.child_token();
        let other = other.join().unwrap();
        assert!(!child.is_cancelled() && !other.is_cancelled());
        token.cancel();
        assert!(child.is_cancelled() && other.is_cancelled());
    });
}

/// The token in the middle is dropped while the root is cancelled.
fn an_orphan() {
    model(|| {
        let token = Token::new();
        let middle = token.child_token();
        let child = middle.child_token();
        let other = thread::spawn(move || drop(middle));
        token.cancel();
        assert!(child.is_cancelled());
        other.join().unwrap();
    });
}

/// A token with a waiter is dropped while the root is cancelled.
fn one_leaves() {
    model(|| {
        let token = Token::new();
        let child = token.child_token();
        let other = thread::spawn(move || {
            let mut wait = Box::pin(child.cancelled());
            let _ = model::poll(wait.as_mut(), std::task::Waker::noop());
        });
        token.cancel();
        other.join().unwrap();
    });
}

/// The root is dropped, and so is a child.
fn a_family_breaks_up() {
    model(|| {
        let token = Token::new();
        let child = token.child_token();
        let grandchild = child.child_token();
        let one = thread::spawn(move || drop(token));
        let another = cancels(&child);
        drop(child);
        one.join().unwrap();
        another.join().unwrap();
        assert!(grandchild.is_cancelled());
    });
}

/// Two cancel, one of them further down.
fn two_cancel() {
    model(|| {
        let token = Token::new();
        let middle = token.child_token();
        let child = middle.child_token();
        let other = thread::spawn(move || middle.cancel());
        token.cancel();
        assert!(child.is_cancelled());
        await_cancelled(&child);
        other.join().unwrap();
    });
}

models! {
    one_waits one_waits_for_the_parent the_first_child another_child
    two_first_children an_orphan one_leaves a_family_breaks_up two_cancel
}
