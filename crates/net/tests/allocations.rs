//! An echo over an existing socket allocates nothing. In a separate program, because
//! allocations of other tests would be counted, too.

#[expect(dead_code)] // used by the other program
mod help;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::runtime::Builder;
use blitz_io_testing::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_echo_allocates_nothing() {
    let current = Builder::new_current_thread().enable_all().build().unwrap();
    for runtime in [current, help::multi(2)] {
        let (mut client, mut server) = runtime.block_on(help::pair());
        let echo = runtime.spawn(async move {
            while let Ok(number) = server.read_u32().await {
                server.write_u32(number).await.unwrap();
            }
        });
        let mut rounds = || {
            runtime.block_on(async {
                for number in 0..50 {
                    client.write_u32(number).await.unwrap();
                    assert_eq!(client.read_u32().await.unwrap(), number);
                }
            });
        };
        assert_eq!(ALLOCATOR.fewest(&mut rounds), 0);
        drop(client);
        runtime.block_on(echo).unwrap();
    }
}
