//! `Outcome`: what the future of a test may return.

use std::any::Any;
use std::error::Error;
use std::fmt::Debug;
use std::io;

/// The result of a test: nothing, or a `Result`.
///
/// The text of a failure has the error as [`Display`](std::fmt::Display) shows it, with its sources, if it is a [`std::io::Error`], a text, or
/// a boxed error (`Box<dyn Error>`, also with `Send`). An error of another type is shown by its
/// [`Debug`], as it may have no other text: return `Result<(), Box<dyn Error>>` for its own. That of `anyhow::Error` has its text and its sources.
pub trait Outcome: 'static {
    /// Returns the error, if the test has failed.
    #[doc(hidden)]
    fn error(self) -> Option<String>;
}

impl Outcome for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<E: Debug + 'static> Outcome for Result<(), E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| describe(&error))
    }
}

/// Returns the text of an error. Any type with `Debug` may be one, so those whose `Debug` hides the text are known by their types.
fn describe<E: Debug + 'static>(error: &E) -> String {
    let any: &dyn Any = error;
    if let Some(text) = any.downcast_ref::<String>() {
        return text.clone();
    }
    if let Some(text) = any.downcast_ref::<&'static str>() {
        return (*text).to_owned();
    }
    as_error(any).map_or_else(|| format!("{error:?}"), with_sources)
}

/// Returns the value as an error, if this function has its type.
fn as_error(any: &dyn Any) -> Option<&dyn Error> {
    if let Some(error) = any.downcast_ref::<io::Error>() {
        return Some(error);
    }
    if let Some(error) = any.downcast_ref::<Box<dyn Error + Send + Sync>>() {
        return Some(&**error);
    }
    if let Some(error) = any.downcast_ref::<Box<dyn Error + Send>>() {
        return Some(&**error);
    }
    Some(&**any.downcast_ref::<Box<dyn Error>>()?)
}

/// Returns the text of an error and those of its sources. Many errors have the text of their source in their own: that is left out.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let own = source.to_string();
        if !text.ends_with(&own) {
            text.push_str(": ");
            text.push_str(&own);
        }
        next = source.source();
    }
    text
}

/// A function's result, by which `!` gets a name that can be used here.
pub trait Returns {
    /// The type that the function returns.
    #[doc(hidden)]
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// The output of a future that never ends, such as a loop that accepts connections.
pub(super) type Never = <fn() -> ! as Returns>::Output;

impl Outcome for Never {
    fn error(self) -> Option<String> {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// An error with a source.
    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot load the state")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    fn text<E: Debug + 'static>(error: E) -> String {
        Err::<(), E>(error).error().unwrap_or_default()
    }

    fn outer() -> Outer {
        Outer(io::Error::other("no disk"))
    }

    #[test]
    fn an_error_has_its_text_and_those_of_its_sources() {
        let with_source = "cannot load the state: no disk";
        assert_eq!(text::<Box<dyn Error>>(outer().into()), with_source);
        assert_eq!(
            text::<Box<dyn Error + Send + Sync>>(outer().into()),
            with_source
        );
        assert_eq!(
            text::<Box<dyn Error + Send>>(Box::new(outer())),
            with_source
        );
        assert_eq!(text(io::Error::other(outer())), with_source);
        assert_eq!(text(String::from("a \"b\"")), "a \"b\"");
        assert_eq!(text("a"), "a");
        // Another type may have no other text.
        assert_eq!(text(Some(7)), "Some(7)");
    }

    #[test]
    fn a_text_that_has_that_of_its_source_is_not_repeated() {
        let wrapped = io::Error::other(io::Error::other("no disk"));
        assert_eq!(text(wrapped), "no disk");
    }
}
