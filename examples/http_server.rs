//! Serves the files of a folder over HTTP, with hyper.
//!
//! ```sh
//! cargo run --release --example http_server -- --listen 127.0.0.1:8080 docs
//! curl http://127.0.0.1:8080/io.md
//! ```
//!
//! The sockets of blitz-io have hyper's traits (the feature `hyper`), and hyper starts its
//! tasks and its timers through `BlitzExecutor` and `BlitzTimer`. A file is read piece by
//! piece while the client receives it. After Ctrl-C, requests in progress are answered,
//! then the program ends.
//!
//! The exit code is 0, 1 if the address cannot be used, and 2 if the command line is wrong.

mod shutdown;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use blitz_io::fs::File;
use blitz_io::hyper::{BlitzExecutor, BlitzTimer};
use blitz_io::io::{AsyncRead, ReadBuf};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::task::TaskTracker;
use blitz_io::time::{sleep, timeout};
use bytes::{Bytes, BytesMut};
use clap::Parser;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};

/// Serves the files of a folder over HTTP.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Speak HTTP/2 from the first byte on, instead of HTTP/1.1
    #[arg(long)]
    http2: bool,
    /// How many seconds connections have to end after Ctrl-C
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=3600))]
    grace: u64,
    /// The folder
    #[arg(default_value = ".")]
    folder: PathBuf,
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let listener = match TcpListener::bind(options.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("http_server: cannot listen at {}: {error}", options.listen);
            return ExitCode::FAILURE;
        }
    };
    let end = CancellationToken::new();
    let ending = end.clone();
    shutdown::on_request("http_server", move || ending.cancel());
    if let Ok(address) = listener.local_addr() {
        println!("listening on {address}");
    }
    serve(listener, options, end).await;
    ExitCode::SUCCESS
}

/// Accepts connections until the end, and gives open connections time to end.
async fn serve(listener: TcpListener, options: Options, end: CancellationToken) {
    let folder: Arc<Path> = options.folder.into();
    let connections = TaskTracker::new();
    loop {
        let accepted = select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let serving = converse(stream, folder.clone(), options.http2, end.clone());
                connections.spawn(async {
                    // If a client breaks the rules or leaves, that is not this program's
                    // error.
                    _ = serving.await;
                });
            }
            Err(error) => {
                // For example, there are no descriptors left, which lasts for a while.
                eprintln!("http_server: cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    connections.close();
    _ = timeout(Duration::from_secs(options.grace), connections.wait()).await;
}

/// Serves one connection, with all its requests.
async fn converse(
    stream: TcpStream,
    folder: Arc<Path>,
    http2: bool,
    end: CancellationToken,
) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        let folder = folder.clone();
        async move { Ok::<_, Infallible>(answer(&folder, &request).await) }
    });
    if http2 {
        let connection = http2::Builder::new(BlitzExecutor::new())
            .timer(BlitzTimer::new())
            .serve_connection(stream, service);
        until(&end, connection, |connection| {
            connection.graceful_shutdown();
        })
        .await
    } else {
        // The timer limits the time that a client may take to send the header.
        let connection = http1::Builder::new()
            .timer(BlitzTimer::new())
            .serve_connection(stream, service);
        until(&end, connection, |connection| {
            connection.graceful_shutdown();
        })
        .await
    }
}

/// Runs a connection, and tells it when the program ends.
async fn until<C: Future>(
    end: &CancellationToken,
    connection: C,
    tell: impl FnOnce(Pin<&mut C>),
) -> C::Output {
    let mut connection = pin!(connection);
    select! {
        result = connection.as_mut() => return result,
        () = end.cancelled() => {}
    }
    tell(connection.as_mut());
    connection.await
}

type Answer = Response<Either<Full<Bytes>, FileBody>>;

async fn answer(folder: &Path, request: &Request<Incoming>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = hyper::header::HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, allowed);
        return answer;
    }
    let Some(path) = path_in(folder, request.uri().path()) else {
        return plain(StatusCode::NOT_FOUND);
    };
    match open(path).await {
        Ok((file, len, kind)) => {
            let body = match *request.method() {
                Method::HEAD => Either::Left(Full::default()),
                _ => Either::Right(FileBody::new(file, len)),
            };
            Response::builder()
                .header(CONTENT_LENGTH, len)
                .header(CONTENT_TYPE, kind)
                .body(body)
                .expect("the header is valid")
        }
        Err(error) => plain(match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StatusCode::NOT_FOUND,
            io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }),
    }
}

/// Returns an answer that has only a status.
fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Full::from(format!("{status}\n"))));
    *answer.status_mut() = status;
    answer
}

/// Returns the file that this path of a request names, or `None` if it would leave the
/// folder.
fn path_in(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = decode(path)?;
    let mut place = folder.to_owned();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part.starts_with('.') || part.contains(['\\', ':', '\0']) {
            return None;
        }
        place.push(part);
    }
    Some(place)
}

/// Replaces `%41` by `A`. Returns `None` if the result is not text.
fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

/// Opens a file, or the `index.html` of a folder. Returns it with its length and its type.
async fn open(mut path: PathBuf) -> io::Result<(File, u64, &'static str)> {
    if blitz_io::fs::metadata(&path).await?.is_dir() {
        path.push("index.html");
    }
    let file = File::open(&path).await?;
    let metadata = file.metadata().await?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("md" | "rs" | "toml" | "txt") => "text/plain; charset=utf-8",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    Ok((file, metadata.len(), kind))
}

/// The content of a file, of a known length, which is read as the client receives it.
struct FileBody {
    file: File,
    left: u64,
    buffer: BytesMut,
}

impl FileBody {
    /// How many bytes are read at once.
    const PIECE: usize = 64 * 1024;

    fn new(file: File, len: u64) -> Self {
        Self {
            file,
            left: len,
            buffer: BytesMut::new(),
        }
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.left == 0 {
            return Poll::Ready(None);
        }
        if this.buffer.is_empty() {
            let len = usize::try_from(this.left).map_or(Self::PIECE, |left| left.min(Self::PIECE));
            this.buffer.resize(len, 0);
        }
        let mut buffer = ReadBuf::new(&mut this.buffer);
        ready!(Pin::new(&mut this.file).poll_read(cx, &mut buffer))?;
        let n = buffer.filled().len();
        if n == 0 {
            // The file has become shorter, but its length was already sent: the connection
            // must end, so that the client notices.
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        this.left -= n as u64;
        let mut piece = std::mem::take(&mut this.buffer);
        piece.truncate(n);
        Poll::Ready(Some(Ok(Frame::data(piece.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
