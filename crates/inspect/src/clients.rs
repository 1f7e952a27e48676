//! Answers the clients of this process's socket in one thread, where no client keeps another one waiting.
//!
//! * A client has [`LIMIT`] to send its question, and [`LIMIT_OF_ANSWER`] to take the whole answer. All
//!   streams are non-blocking, and the thread sleeps in `poll`.
//! * Questions that have arrived at the same time get the same answer.
//! * If there are [`MOST`] clients, a new client replaces the oldest one.
//! * **No descriptor left.** A connection that cannot be accepted stays in the queue, so `accept` would fail
//!   again at once. Some descriptors are kept in reserve for that: for the connection, and for the files in
//!   `/proc` that an answer reads. If other threads have taken these in between, the thread tries again
//!   after [`PAUSE`].
//! * An answer that is JSON begins with a space, at once: to make the rest may take longer than a client waits for an
//!   answer that has not begun.
//! * When all clients have their answers, the thread returns the memory of these to the system (`spare_memory.rs`),
//!   and then closes the connections.

use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::protocol::{LIMIT, LIMIT_OF_ANSWER, TRACE};
use crate::spare_memory::give_back;

/// The user that may ask all processes.
const ROOT: libc::uid_t = 0;
/// The largest number of clients.
const MOST: usize = 64;
/// A connection, a folder, and a file in it.
const RESERVE: usize = 3;
/// The time between two attempts to accept while there is no descriptor: short for a person.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes the answer to a question.
pub(crate) type Answers = fn(u8) -> io::Result<Vec<u8>>;

/// The clients of a socket.
pub(crate) struct Clients {
    listener: UnixListener,
    reserve: Vec<File>,
    /// The last attempt to accept failed, for lack of a descriptor.
    has_no_descriptor: bool,
    /// The clients, in the order of their arrival.
    clients: Vec<Client>,
    answers: Answers,
    /// An answer was made since memory was returned to the system.
    has_answered: bool,
}

struct Client {
    stream: UnixStream,
    until: Instant,
    state: State,
}

enum State {
    Asks,
    /// The client has sent this question.
    Has(u8),
    Reads {
        answer: Arc<Vec<u8>>,
        sent: usize,
    },
    Gone,
}

impl Clients {
    /// Takes a listener that is non-blocking.
    pub(crate) fn new(listener: UnixListener, answers: Answers) -> Self {
        let mut clients = Self {
            listener,
            reserve: Vec::new(),
            has_no_descriptor: false,
            clients: Vec::new(),
            answers,
            has_answered: false,
        };
        clients.fill_reserve();
        clients
    }

    /// Answers until the process ends.
    pub(crate) fn serve(mut self) {
        loop {
            self.fill_reserve();
            self.wait();
            self.accept(|listener| listener.accept().map(|(stream, _)| stream));
            self.proceed();
        }
    }

    fn fill_reserve(&mut self) {
        // While a client is connected, the reserve is in use.
        while self.clients.is_empty() && self.reserve.len() < RESERVE {
            let Ok(file) = File::open("/dev/null") else {
                return;
            };
            self.reserve.push(file);
        }
    }

    /// Waits for a client, until a limit.
    fn wait(&self) {
        let mut events = Vec::with_capacity(self.clients.len() + 1);
        let event = |descriptor: RawFd, events| libc::pollfd {
            fd: descriptor,
            events,
            revents: 0,
        };
        let mut until = None;
        if self.has_no_descriptor {
            until = Some(Instant::now() + PAUSE);
        } else {
            events.push(event(self.listener.as_raw_fd(), libc::POLLIN));
        }
        for client in &self.clients {
            let direction = match client.state {
                State::Reads { .. } => libc::POLLOUT,
                _ => libc::POLLIN,
            };
            events.push(event(client.stream.as_raw_fd(), direction));
            until = Some(until.map_or(client.until, |until| client.until.min(until)));
        }
        let milliseconds = until.map_or(-1, |until| {
            let rest = until.saturating_duration_since(Instant::now());
            // Rounded up, so that the limit has passed afterwards.
            i32::try_from(rest.as_millis() + 1).unwrap_or(i32::MAX)
        });
        let count = events.len() as libc::nfds_t;
        // SAFETY: the pointer is to that many elements. All descriptors are open. After an error, the
        // caller finds nothing to do, and waits again.
        unsafe { libc::poll(events.as_mut_ptr(), count, milliseconds) };
    }

    /// Accepts all clients that wait for it.
    fn accept(&mut self, mut accept: impl FnMut(&UnixListener) -> io::Result<UnixStream>) {
        self.has_no_descriptor = false;
        loop {
            match accept(&self.listener) {
                // A client that goes away, or is another user's, is no concern of the program's.
                Ok(stream) => _ = self.add(stream),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    // Most often there is no descriptor left.
                    _ if !self.reserve.is_empty() => self.reserve.clear(),
                    _ => {
                        self.has_no_descriptor = true;
                        return;
                    }
                },
            }
        }
    }

    fn add(&mut self, stream: UnixStream) -> io::Result<()> {
        let user = peer(&stream)?;
        // SAFETY: the call has no preconditions.
        if user != unsafe { libc::geteuid() } && user != ROOT {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_nonblocking(true)?;
        if self.clients.len() == MOST {
            self.clients.remove(0).close();
        }
        self.clients.push(Client {
            stream,
            until: Instant::now() + LIMIT,
            state: State::Asks,
        });
        Ok(())
    }

    /// Reads, answers and writes what is possible without waiting.
    fn proceed(&mut self) {
        for client in &mut self.clients {
            client.read();
        }
        loop {
            let mut questions = self.clients.iter().filter_map(Client::question);
            let Some(question) = questions.next() else {
                break;
            };
            for client in &self.clients {
                if client.question() == Some(question) && question != TRACE {
                    // An error shows again when the rest is sent.
                    _ = send(&client.stream, b" ");
                }
            }
            self.has_answered = true;
            let answer = (self.answers)(question).ok().map(Arc::new);
            let clients = self.clients.iter_mut();
            for client in clients.filter(|client| client.question() == Some(question)) {
                client.until = Instant::now() + LIMIT_OF_ANSWER;
                client.state = match &answer {
                    Some(answer) => State::Reads {
                        answer: Arc::clone(answer),
                        sent: 0,
                    },
                    None => State::Gone,
                };
            }
        }
        let now = Instant::now();
        for client in &mut self.clients {
            client.write();
            if client.until <= now {
                client.state = State::Gone;
            }
        }
        let mut clients = self.clients.iter();
        if self.has_answered && !clients.any(|client| matches!(client.state, State::Reads { .. })) {
            self.has_answered = false;
            give_back();
        }
        for client in &self.clients {
            if matches!(client.state, State::Gone) {
                client.close();
            }
        }
        self.clients
            .retain(|client| !matches!(client.state, State::Gone));
    }
}

impl Client {
    fn question(&self) -> Option<u8> {
        match self.state {
            State::Has(question) => Some(question),
            _ => None,
        }
    }

    fn read(&mut self) {
        if !matches!(self.state, State::Asks) {
            return;
        }
        let mut question = [0];
        match (&self.stream).read(&mut question) {
            Ok(1) => self.state = State::Has(question[0]),
            Err(error) if may_go_on(&error) => {}
            // `list` only connects.
            _ => self.state = State::Gone,
        }
    }

    fn write(&mut self) {
        let State::Reads { answer, sent } = &mut self.state else {
            return;
        };
        while *sent < answer.len() {
            match send(&self.stream, &answer[*sent..]) {
                Ok(count) => *sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if may_go_on(&error) => return,
                Err(_) => break,
            }
        }
        self.state = State::Gone;
    }

    /// Ends the connection, also if a forked child has its descriptor.
    fn close(&self) {
        _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Writes as `UnixStream` does. No version of it then sends `SIGPIPE`, which a program in C may not ignore.
fn send(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    // These systems have an option of the socket instead, which the standard library sets.
    #[cfg(target_vendor = "apple")]
    const FLAGS: libc::c_int = 0;
    #[cfg(not(target_vendor = "apple"))]
    const FLAGS: libc::c_int = libc::MSG_NOSIGNAL;
    // SAFETY: the pointer is to that many bytes, and the descriptor is open.
    let sent = unsafe {
        libc::send(
            stream.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            FLAGS,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn may_go_on(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Returns the user of the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn peer(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut found = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the pointers are to a value of `size` bytes and its size.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    };
    if result != 0 || size as usize != size_of::<libc::ucred>() {
        return Err(io::Error::last_os_error());
    }
    Ok(found.uid)
}

/// Returns the user of the process at the other end.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn peer(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and the pointers are to values that the call may write.
    if unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut user, &raw mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Barrier;

    use super::*;

    /// The path of a socket whose file the test removes at its end.
    struct At(std::path::PathBuf);

    impl At {
        fn new(name: &str) -> Self {
            let name = format!("blitz-inspect-{name}-{}.sock", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn clients(&self) -> Clients {
            let listener = UnixListener::bind(&self.0).unwrap();
            listener.set_nonblocking(true).unwrap();
            Clients::new(listener, |question| Ok(vec![question; 1 << 22]))
        }

        fn connect(&self) -> UnixStream {
            UnixStream::connect(&self.0).unwrap()
        }
    }

    impl Drop for At {
        fn drop(&mut self) {
            _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_client_that_does_not_read_and_one_that_does_not_ask_keep_no_other_waiting() {
        let at = At::new("slow");
        let clients = at.clients();
        std::thread::spawn(move || clients.serve());
        let silent: Vec<UnixStream> = (0..3).map(|_| at.connect()).collect();
        let mut slow = at.connect();
        slow.write_all(b"s").unwrap();
        // Its answer is made.
        slow.read_exact(&mut [0; 2]).unwrap();
        for question in [b'a', b'b'] {
            let mut quick = at.connect();
            quick.write_all(&[question]).unwrap();
            let mut answer = Vec::new();
            quick.read_to_end(&mut answer).unwrap();
            let text = std::iter::once(b' ').chain(vec![question; 1 << 22]);
            assert_eq!(answer, text.collect::<Vec<u8>>());
        }
        drop((silent, slow));
    }

    /// The answer of a large program without optimisation may take many seconds on a busy machine.
    #[test]
    fn an_answer_begins_before_it_is_made() {
        static GATE: Barrier = Barrier::new(2);
        let at = At::new("begins");
        let mut clients = at.clients();
        clients.answers = |_| {
            GATE.wait();
            Ok(b"{}".to_vec())
        };
        std::thread::spawn(move || clients.serve());
        let mut client = at.connect();
        client.write_all(b"?").unwrap();
        let mut begin = [0];
        client.read_exact(&mut begin).unwrap();
        assert_eq!(begin, [b' ']);
        GATE.wait();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"{}");
    }

    #[test]
    fn a_new_client_replaces_the_oldest_if_there_are_too_many() {
        let at = At::new("many");
        let clients = at.clients();
        std::thread::spawn(move || clients.serve());
        let mut silent: Vec<UnixStream> = (0..=MOST).map(|_| at.connect()).collect();
        // The first is closed, and the last is answered.
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
        silent[MOST].write_all(b"x").unwrap();
        silent[MOST].read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn a_client_that_cannot_be_accepted_is_tried_again_after_a_pause_only() {
        let at = At::new("full");
        let mut clients = at.clients();
        let _client = at.connect();
        assert_eq!(clients.reserve.len(), RESERVE);
        let mut attempts = 0;
        let mut fail = |_: &UnixListener| {
            attempts += 1;
            Err(io::Error::from_raw_os_error(libc::EMFILE))
        };
        clients.accept(&mut fail);
        clients.accept(&mut fail);
        // One more with the reserve, and each time one without it.
        assert_eq!(attempts, 3);
        // The listener is ready, so a wait for it would return at once, for ever.
        assert!(clients.has_no_descriptor);
        clients.accept(|listener| listener.accept().map(|(stream, _)| stream));
        assert!(!clients.has_no_descriptor);
        assert_eq!(clients.clients.len(), 1);
    }
}
