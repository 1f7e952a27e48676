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

#[test]
fn an_error_leads_to_that_of_the_system() {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let source = Config::read("/nowhere".as_ref()).unwrap_err();
    let config = Error::Config {
        file: "/nowhere".into(),
        source,
    };
    let texts = chain(&config);
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].starts_with("/nowhere: cannot read /nowhere: "));
    let read = config.source().unwrap().source().unwrap();
    let read = read.downcast_ref::<io::Error>().unwrap();
    assert_eq!(read.kind(), io::ErrorKind::NotFound);

    let system = Error::system("cannot listen")(missing());
    assert_eq!(system.to_string(), format!("cannot listen: {}", missing()));
    assert!(system.source().unwrap().is::<io::Error>());

    let engine = Error::engine("the engine does not start")("the reason".into());
    let texts = ["the engine does not start: the reason", "the reason"];
    assert_eq!(chain(&engine), texts);
}

#[test]
fn an_error_of_a_segment_keeps_its_text_and_its_type() {
    let wrong = ipc::Route::builder().receiver("a/b").unwrap_err();
    let text = wrong.to_string();
    let error = Error::from(wrong);
    assert_eq!(error.to_string(), text);
    assert!(error.source().unwrap().is::<ipc::Error>());
    let error = Error::from(RecvError::Disconnected);
    assert!(error.source().unwrap().is::<RecvError>());
    let error = Error::from(SendError::Full);
    assert!(error.source().unwrap().is::<SendError>());
}

#[test]
fn an_error_of_the_gateway_itself_has_no_source() {
    for error in [Error::Locked("there".into()), Error::NoDirectory] {
        assert_eq!(chain(&error).len(), 1);
    }
}
