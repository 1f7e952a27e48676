use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures::{SinkExt, StreamExt, TryStreamExt, future::try_join_all};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, error::SqlState};

use crate::support::{self, limit};

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries() {
    let server = tokio::task::spawn_blocking(support::postgres)
        .await
        .unwrap();
    let mut config = Config::new();
    config.user("tester").dbname("postgres").port(server.port);
    let mut unix = config.clone();
    unix.host_path(server.folder.path());
    config.host("127.0.0.1");
    limit(async {
        let mut client = connect(&config).await;
        client
            .batch_execute("CREATE TABLE item (id INT PRIMARY KEY, name TEXT NOT NULL)")
            .await
            .unwrap();

        // Many queries on one connection at once; the answers come in order.
        let insert = client
            .prepare("INSERT INTO item VALUES ($1, $2)")
            .await
            .unwrap();
        let rows = (0..200).map(|id| {
            let (client, insert) = (&client, &insert);
            async move { client.execute(insert, &[&id, &format!("item {id}")]).await }
        });
        assert_eq!(try_join_all(rows).await.unwrap().iter().sum::<u64>(), 200);
        let twice = client.execute(&insert, &[&7, &"again"]).await.unwrap_err();
        assert_eq!(twice.code(), Some(&SqlState::UNIQUE_VIOLATION));

        // A transaction that is dropped is rolled back.
        let transaction = client.transaction().await.unwrap();
        assert_eq!(
            transaction.execute("DELETE FROM item", &[]).await.unwrap(),
            200
        );
        drop(transaction);
        let transaction = client.transaction().await.unwrap();
        transaction
            .execute("DELETE FROM item WHERE id >= 150", &[])
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        let count: i64 = client
            .query_one("SELECT count(*) FROM item", &[])
            .await
            .unwrap()
            .get(0);
        assert_eq!(count, 150);

        // The same through the socket in the server's directory.
        let other = connect(&unix).await;
        let rows = other
            .query("SELECT id, name FROM item ORDER BY id", &[])
            .await
            .unwrap();
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(
                (row.get::<_, i32>(0), row.get::<_, &str>(1)),
                (i as i32, &*format!("item {i}"))
            );
        }

        let sink = client.copy_in("COPY item FROM STDIN").await.unwrap();
        let mut sink = pin!(sink);
        for id in 1000..6000 {
            sink.send(Bytes::from(format!("{id}\titem {id}\n")))
                .await
                .unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 5000);
        let copied = other.copy_out("COPY item TO STDOUT").await.unwrap();
        let copied: Vec<Bytes> = copied.try_collect().await.unwrap();
        assert_eq!(copied.len(), 5150);
    })
    .await;
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_and_cancelling() {
    let server = tokio::task::spawn_blocking(support::postgres)
        .await
        .unwrap();
    let mut config = Config::new();
    config
        .user("tester")
        .dbname("postgres")
        .port(server.port)
        .host("127.0.0.1");
    limit(async {
        let (listener, mut connection) = config.connect(NoTls).await.unwrap();
        let (sender, mut received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut messages = futures::stream::poll_fn(move |cx| connection.poll_message(cx));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    let _ = sender.send(notification.payload().to_owned());
                }
            }
        });
        listener.batch_execute("LISTEN news").await.unwrap();
        let client = connect(&config).await;
        for i in 0..50 {
            client
                .execute("SELECT pg_notify('news', $1)", &[&i.to_string()])
                .await
                .unwrap();
        }
        for i in 0..50 {
            assert_eq!(received.recv().await.unwrap(), i.to_string());
        }

        let cancel = client.cancel_token();
        let sleeping =
            tokio::spawn(
                async move { (client.batch_execute("SELECT pg_sleep(3600)").await, client) },
            );
        // Until the query runs there is nothing to cancel.
        while !sleeping.is_finished() {
            cancel.cancel_query(NoTls).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (cancelled, client) = sleeping.await.unwrap();
        assert_eq!(
            cancelled.unwrap_err().code(),
            Some(&SqlState::QUERY_CANCELED)
        );
        // A late request to cancel may hit this one.
        while client.batch_execute("SELECT 1").await.is_err() {}
    })
    .await;
    drop(server);
}
