//! The reasons why a gateway fails, with their sources.

use std::error::Error as _;
use std::io;

use blitz_io::ipc::{self, RecvError, SendError};
use blitz_io_gateway::config::Config;
use blitz_io_gateway::error::Error;

/// The texts of an error and of its sources, from the outermost on.
fn chain(error: &Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts
}

/// Programs print an error and then its sources.
#[test]
fn a_chain_of_errors_has_each_text_once() {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let source = Config::read("/nowhere".as_ref()).unwrap_err();
    let config = Error::Config {
        file: "/nowhere".into(),
        source,
    };
    let texts = chain(&config);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].starts_with("cannot read /nowhere: "), "{texts:?}");
    let syntax = Config::parse("exports = 3").unwrap_err();
    assert_eq!(chain(&Error::Config { file: "/it".into(), source: syntax }).len(), 1);

    let system = Error::system("cannot listen")(missing());
    assert_eq!(chain(&system), [format!("cannot listen: {}", missing())]);

    let engine = Error::engine("the engine does not start")("the reason".into());
    assert_eq!(chain(&engine), ["the engine does not start: the reason"]);
}

#[test]
fn an_error_of_a_segment_keeps_its_text_and_its_type() {
    let wrong = ipc::Route::builder().receiver("a/b").unwrap_err();
    let text = wrong.to_string();
    let error = Error::from(wrong);
    assert_eq!(chain(&error), [text]);
    assert!(matches!(error, Error::Segment(ipc::Error::Name { .. })));
    let error = Error::from(RecvError::Disconnected);
    assert_eq!(chain(&error), [RecvError::Disconnected.to_string()]);
    let error = Error::from(SendError::Full);
    assert_eq!(chain(&error), [SendError::Full.to_string()]);
}

#[test]
fn an_error_of_the_gateway_itself_has_no_source() {
    for error in [Error::Locked("there".into()), Error::NoDirectory] {
        assert_eq!(chain(&error).len(), 1);
    }
}
