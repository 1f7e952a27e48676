//! Calls of an `Endpoint`.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use madsim::Request;
use madsim::net::Endpoint;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::echo::{DATA, NUMBERS, TEXT, TEXTS, echo};
use crate::world::{host, run_on};

#[derive(Serialize, Deserialize, Request)]
#[rtype("String")]
struct Text(String);

#[derive(Serialize, Deserialize, Request)]
#[rtype("u64")]
struct Number(u64);

fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 9_000))
}

async fn client() -> Endpoint {
    Endpoint::bind("0.0.0.0:0").await.unwrap()
}

/// Calls with a text.
pub async fn texts() -> String {
    host("server", || async {
        let endpoint = Endpoint::bind("0.0.0.0:9000").await.unwrap();
        endpoint.add_rpc_handler(|Text(text): Text| async move { echo(&text) });
        pending().await
    });
    sleep(Duration::from_secs(1)).await;
    run_on("client", async {
        let endpoint = client().await;
        let mut last = String::new();
        for _ in 0..TEXTS {
            last = endpoint.call(server(), Text(TEXT.into())).await.unwrap();
        }
        format!("{TEXTS} times {last}")
    })
    .await
}

/// Calls with a number and data.
pub async fn numbers() -> String {
    host("server", || async {
        let endpoint = Endpoint::bind("0.0.0.0:9000").await.unwrap();
        endpoint.add_rpc_handler_with_data(|Number(number): Number, data| async move {
            (number, data.to_vec())
        });
        pending().await
    });
    sleep(Duration::from_secs(1)).await;
    run_on("client", async {
        let endpoint = client().await;
        for number in 0..NUMBERS {
            let call = endpoint.call_with_data(server(), Number(number), &DATA);
            let (answer, data) = call.await.unwrap();
            assert_eq!((answer, &data[..]), (number, &DATA[..]));
        }
        format!("{NUMBERS} answers")
    })
    .await
}
