use std::time::Duration;

use futures::StreamExt;
use redis::{AsyncCommands, Client, pipe};
use tokio::task::JoinSet;

use crate::support::{self, limit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands() {
    let server = tokio::task::spawn_blocking(support::redis).await.unwrap();
    let client = Client::open(format!("redis://127.0.0.1:{}/", server.port)).unwrap();
    limit(async {
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let missing: Option<String> = connection.get("nothing").await.unwrap();
        assert_eq!(missing, None);

        // Many tasks on one connection.
        let mut tasks = JoinSet::new();
        for task in 0..32 {
            let mut connection = connection.clone();
            tasks.spawn(async move {
                for i in 0..50 {
                    let key = format!("key {task} {i}");
                    let () = connection.set(&key, i).await.unwrap();
                    let back: i32 = connection.get(&key).await.unwrap();
                    assert_eq!(back, i);
                    let _: i64 = connection.incr("count", 1).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        let count: i64 = connection.get("count").await.unwrap();
        assert_eq!(count, 32 * 50);

        let (first, sum): (i64, i64) = pipe()
            .atomic()
            .set("a", 20)
            .ignore()
            .incr("a", 1)
            .incr("a", 21)
            .query_async(&mut connection)
            .await
            .unwrap();
        assert_eq!((first, sum), (21, 42));
        let wrong: redis::RedisResult<i64> = connection.lpush("a", 1).await;
        assert!(wrong.is_err());
        let large = "x".repeat(1 << 20);
        let () = connection.set("large", &large).await.unwrap();
        let back: String = connection.get("large").await.unwrap();
        assert!(back == large);
    })
    .await;
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_commands_and_subscriptions() {
    let server = tokio::task::spawn_blocking(support::redis).await.unwrap();
    let socket = server.folder.path().join("redis.sock");
    let client = Client::open(format!("redis+unix://{}", socket.display())).unwrap();
    limit(async {
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let mut blocked = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .unwrap();
        let popped =
            tokio::spawn(async move { blocked.blpop::<_, (String, String)>("queue", 0.0).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(!popped.is_finished());
        let _: i64 = connection.rpush("queue", "work").await.unwrap();
        assert_eq!(
            popped.await.unwrap().unwrap(),
            ("queue".into(), "work".into())
        );

        let mut subscription = client.get_async_pubsub().await.unwrap();
        subscription.subscribe("news").await.unwrap();
        let mut messages = subscription.into_on_message();
        for i in 0..100 {
            let heard: i64 = connection.publish("news", i).await.unwrap();
            assert_eq!(heard, 1);
        }
        for i in 0..100 {
            assert_eq!(
                messages.next().await.unwrap().get_payload::<i64>().unwrap(),
                i
            );
        }

        // The connection ends with the server: there is an error, and no endless wait.
        drop(server);
        assert!(connection.get::<_, Option<String>>("a").await.is_err());
        assert!(messages.next().await.is_none());
    })
    .await;
}
