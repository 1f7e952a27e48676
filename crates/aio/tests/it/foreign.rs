//! The traits of other packages on this crate's types, and this crate's traits on theirs:
//! the dev-dependencies of this package switch the features on.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use blitz_io_aio::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, Compat, FromFutures,
    FromHyper, FromTokio, SeekFrom, duplex,
};
use pollster::block_on;

fn ready<T>(poll: Poll<T>) -> T {
    match poll {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it is pending"),
    }
}

#[test]
fn tokio_uses_our_streams() {
    let (mut near, far) = duplex(64);
    block_on(async {
        tokio::io::AsyncWriteExt::write_all(&mut near, b"one\ntwo")
            .await
            .unwrap();
        tokio::io::AsyncWriteExt::shutdown(&mut near).await.unwrap();
        let mut lines = tokio::io::AsyncBufReadExt::lines(BufReader::new(far));
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "one");
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "two");
        // Types of other crates.
        let mut cursor = Compat::new(std::io::Cursor::new(b"abcdef".to_vec()));
        tokio::io::AsyncSeekExt::seek(&mut cursor, SeekFrom::Start(4))
            .await
            .unwrap();
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut cursor, &mut text)
            .await
            .unwrap();
        assert_eq!(text, "ef");
    });
}

#[test]
fn we_use_tokios_streams() {
    let (near, far) = tokio::io::duplex(64);
    let (mut near, far) = (FromTokio::new(near), FromTokio::new(far));
    block_on(async {
        near.write_all(b"one\ntwo").await.unwrap();
        near.shutdown().await.unwrap();
        let mut lines = BufReader::new(far).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "one");
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "two");
        let mut cursor = FromTokio::new(std::io::Cursor::new(b"abcdef".to_vec()));
        cursor.seek(SeekFrom::End(-1)).await.unwrap();
        let mut line = String::new();
        cursor.read_line(&mut line).await.unwrap();
        assert_eq!(line, "f");
    });
}

#[test]
fn there_and_back_through_futures() {
    use futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut near, far) = duplex(64);
    assert_eq!(
        ready(AsyncWrite::poll_write(Pin::new(&mut near), cx, b"bytes")).unwrap(),
        5
    );
    ready(AsyncWrite::poll_close(Pin::new(&mut near), cx)).unwrap();
    let mut reader = BufReader::new(far);
    assert_eq!(
        ready(AsyncBufRead::poll_fill_buf(Pin::new(&mut reader), cx)).unwrap(),
        b"bytes"
    );
    let mut room = [0; 2];
    assert_eq!(
        ready(AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut room)).unwrap(),
        2
    );
    let cursor = Compat::new(std::io::Cursor::new(b"abcdef".to_vec()));
    let mut there_and_back = FromFutures::new(cursor);
    block_on(async {
        let mut rest = Vec::new();
        FromFutures::new(reader)
            .read_to_end(&mut rest)
            .await
            .unwrap();
        assert_eq!(rest, b"tes");
        assert_eq!(there_and_back.seek(SeekFrom::Start(2)).await.unwrap(), 2);
        assert_eq!(there_and_back.stream_position().await.unwrap(), 2);
        there_and_back.write_all(b"XY").await.unwrap();
    });
    let place = AsyncSeek::poll_seek(Pin::new(there_and_back.get_mut()), cx, SeekFrom::Current(0));
    assert_eq!(ready(place).unwrap(), 4);
    assert_eq!(
        there_and_back.into_inner().into_inner().into_inner(),
        b"abXYef"
    );
}

#[test]
fn there_and_back_through_hyper() {
    let (mut near, far) = duplex(64);
    let cx = &mut Context::from_waker(Waker::noop());
    let written = hyper::rt::Write::poll_write(Pin::new(&mut near), cx, b"bytes");
    assert_eq!(ready(written).unwrap(), 5);
    ready(hyper::rt::Write::poll_shutdown(Pin::new(&mut near), cx)).unwrap();
    let mut room = [0; 3];
    let mut buf = hyper::rt::ReadBuf::new(&mut room);
    let mut far = pin!(far);
    ready(hyper::rt::Read::poll_read(far.as_mut(), cx, buf.unfilled())).unwrap();
    assert_eq!(buf.filled(), b"byt");
    let mut rest = Vec::new();
    block_on(FromHyper::new(far).read_to_end(&mut rest)).unwrap();
    assert_eq!(rest, b"es");
}

/// Sockets, files and pipes have the traits of the other packages, without a wrapper.
#[test]
fn all_streams_have_them() {
    use blitz_io::net::tcp;

    fn read<T: tokio::io::AsyncRead + futures_io::AsyncRead + hyper::rt::Read>() {}
    fn write<T: tokio::io::AsyncWrite + futures_io::AsyncWrite + hyper::rt::Write>() {}

    read::<blitz_io::net::TcpStream>();
    write::<blitz_io::net::TcpStream>();
    read::<tcp::ReadHalf<'_>>();
    write::<tcp::WriteHalf<'_>>();
    read::<tcp::OwnedReadHalf>();
    write::<tcp::OwnedWriteHalf>();
    read::<blitz_io::fs::File>();
    write::<blitz_io::fs::File>();
    read::<blitz_io::io::Stdin>();
    write::<blitz_io::io::Stdout>();
    write::<blitz_io::io::Stderr>();
    #[cfg(unix)]
    {
        use blitz_io::net::unix;
        use blitz_io::process;

        read::<blitz_io::net::UnixStream>();
        write::<blitz_io::net::UnixStream>();
        read::<unix::ReadHalf<'_>>();
        write::<unix::WriteHalf<'_>>();
        read::<unix::OwnedReadHalf>();
        write::<unix::OwnedWriteHalf>();
        read::<unix::pipe::Receiver>();
        write::<unix::pipe::Sender>();
        read::<process::ChildStdout>();
        read::<process::ChildStderr>();
        write::<process::ChildStdin>();
    }
}
