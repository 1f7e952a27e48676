//! The mock of `tokio-test`, with the traits of `blitz-io`.

use std::io;
use std::time::Duration;

use tokio::io::FromTokio;
use tokio_test::io::Mock;

#[derive(Debug, Clone, Default)]
pub struct Builder(tokio_test::io::Builder);

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn read(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.read(bytes);
        self
    }

    pub fn read_error(&mut self, error: io::Error) -> &mut Self {
        self.0.read_error(error);
        self
    }

    pub fn write(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.write(bytes);
        self
    }

    pub fn write_error(&mut self, error: io::Error) -> &mut Self {
        self.0.write_error(error);
        self
    }

    pub fn wait(&mut self, time: Duration) -> &mut Self {
        self.0.wait(time);
        self
    }

    pub fn build(&mut self) -> FromTokio<Mock> {
        FromTokio::new(self.0.build())
    }
}
