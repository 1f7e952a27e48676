//! The standard streams. The program starts itself, with pipes for streams, and checks what
//! the child reads and writes.

fn main() {
    match std::env::var("BLITZ_STDIO") {
        Ok(what) => streams::child(&what),
        Err(_) => streams::parent(),
    }
}

mod streams {
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use blitz_io::io::{self, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    use blitz_io::runtime::Builder;

    fn start(what: &str) -> Child {
        blitz_io_testing::limited(&mut Command::new(std::env::current_exe().unwrap()))
            .env("BLITZ_STDIO", what)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub fn parent() {
        // Lines are returned in upper case.
        let mut child = start("echo");
        let mut input = child.stdin.take().unwrap();
        input.write_all("first\nsécond\nno end".as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "3 lines");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "FIRST\nSÉCOND\nNO END\n"
        );
        assert!(output.status.success());

        // More than a buffer, and the runtime ends without a flush.
        let child = start("flood");
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.stdout.len(), 3_000_000);
        assert!(
            output
                .stdout
                .iter()
                .enumerate()
                .all(|(n, byte)| *byte == (n % 251) as u8)
        );

        // A read whose future was dropped leaves its bytes for the next one.
        let mut child = start("dropped");
        let mut input = child.stdin.take().unwrap();
        let mut ready = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        input.write_all(b"kept").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.stdout, b"kept");

        // The pipe has no reader.
        let mut child = start("broken");
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("BrokenPipe"), "{error}");
        println!("stdio: 4 children have done what they should");
    }

    pub fn child(what: &str) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        match what {
            "echo" => runtime.block_on(echo()).unwrap(),
            "flood" => runtime.block_on(flood()).unwrap(),
            "dropped" => runtime.block_on(dropped()).unwrap(),
            "broken" => runtime.block_on(broken()),
            _ => unreachable!(),
        }
    }

    async fn echo() -> io::Result<()> {
        let mut lines = BufReader::new(io::stdin()).lines();
        let (mut out, mut err) = (io::stdout(), io::stderr());
        let mut count = 0;
        while let Some(line) = lines.next_line().await? {
            out.write_all(line.to_uppercase().as_bytes()).await?;
            out.write_all(b"\n").await?;
            count += 1;
        }
        out.flush().await?;
        err.write_all(format!("{count} lines").as_bytes()).await?;
        err.shutdown().await
    }

    async fn flood() -> io::Result<()> {
        let bytes: Vec<u8> = (0..3_000_000).map(|n| (n % 251) as u8).collect();
        let mut out = io::stdout();
        // One write accepts at most 2 MiB.
        let count = out.write(&bytes).await?;
        assert_eq!(count, 2 * 1024 * 1024);
        out.write_all(&bytes[count..]).await
    }

    async fn dropped() -> io::Result<()> {
        let mut input = io::stdin();
        {
            let mut buf = [0; 16];
            let read = std::pin::pin!(input.read(&mut buf));
            assert!(blitz_io_testing::poll_once(read, std::task::Waker::noop()).is_pending());
        }
        let mut out = io::stdout();
        out.write_all(b"!").await?;
        out.flush().await?;
        let mut text = String::new();
        input.read_to_string(&mut text).await?;
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    }

    async fn broken() {
        let mut out = io::stdout();
        loop {
            if let Err(error) = out.write_all(&[7; 1000]).await {
                eprintln!("{:?}", error.kind());
                return;
            }
        }
    }
}
