//! Errors of a program on the drop-in package name no other package.

#![cfg(feature = "rt")]

use tokio::runtime::Handle;

#[test]
fn an_error_without_a_runtime_is_tokios() {
    let error = Handle::try_current().unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
    );
}
