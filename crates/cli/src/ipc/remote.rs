//! What `blitz-gateway` carries between the segments of a directory and other hosts.

use std::io;
use std::path::Path;

use serde::Serialize;

/// A remote host that sends to a segment or receives from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remote {
    #[serde(skip)]
    kind: String,
    #[serde(skip)]
    name: String,
    pub host: String,
    /// `receiver`: it gets the messages that are sent here; `sender`: its messages arrive here.
    pub role: &'static str,
    pub messages: u64,
    /// Messages that were reported as missing.
    pub gaps: u64,
    /// Messages that a receiver has not acknowledged, or bytes of a sender that wait here.
    pub lag: u64,
}

impl Remote {
    /// Returns `true` if it takes part in this segment.
    pub fn is_of(&self, kind: &str, name: &str) -> bool {
        (&*self.kind, &*self.name) == (kind, name)
    }
}

/// Asks the gateway of the directory, if one runs, for the remote hosts.
pub fn remotes(directory: &Path) -> Vec<Remote> {
    parse(&status(directory).unwrap_or_default())
}

/// Returns the table of `blitz-gateway status`.
#[cfg(unix)]
fn status(directory: &Path) -> io::Result<String> {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    /// Longer than the status of a gateway with as many names and hosts as it may have by default.
    const LONGEST: u64 = 8 << 20;
    let stream = UnixStream::connect(directory.join("gateway/status.socket"))?;
    // A stopped gateway must not stop this program.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut text = String::new();
    stream.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(not(unix))]
fn status(_directory: &Path) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads the table of `blitz-gateway status`.
fn parse(text: &str) -> Vec<Remote> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Remote> {
    let mut words = line.split_whitespace();
    let role = match words.next()? {
        "export" => "receiver",
        "import" => "sender",
        _ => return None,
    };
    let mut word = || words.next();
    let (kind, name, _max_len, host) = (word()?, word()?, word()?, word()?);
    let mut number = || word()?.parse::<u64>().ok();
    let (messages, _bytes, gaps) = (number()?, number()?, number()?);
    let (_repeats, _refused, lag) = (number()?, number()?, number()?);
    // The row of an export that sums all hosts up.
    (host != "*").then(|| Remote {
        kind: kind.to_owned(),
        name: name.to_owned(),
        host: host.to_owned(),
        role,
        messages,
        gaps,
        lag,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_gateway_is_read() {
        let text = "host lab-1, zenoh 1f2e\n\
            way     kind     name     max-len host     messages bytes gaps repeats refused lag  state\n\
            export  route    prices      1008 *              30  2000    1       0       0  17  ok\n\
            export  route    prices      1008 lab-2          20     0    1       0       0  10  ok\n\
            import  queue    jobs          64 lab-3           5   320    0       2       0   4  ok\n\
            import  queue    jobs          64 lab-4           x   320    0       2       0   4  ok\n";
        let found = parse(text);
        let [prices, jobs] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(prices.is_of("route", "prices") && !prices.is_of("channel", "prices"));
        assert_eq!((&*prices.host, prices.role), ("lab-2", "receiver"));
        assert_eq!((prices.messages, prices.gaps, prices.lag), (20, 1, 10));
        assert!(jobs.is_of("queue", "jobs"));
        assert_eq!((&*jobs.host, jobs.role, jobs.lag), ("lab-3", "sender", 4));
    }
}
