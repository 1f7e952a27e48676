use std::{str::FromStr, time::Duration};

use futures::TryStreamExt;
use sqlx::{
    Connection, Error, Row,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::task::JoinSet;

use crate::support::{self, limit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_connections() {
    let server = tokio::task::spawn_blocking(support::postgres)
        .await
        .unwrap();
    let url = format!(
        "postgres://tester@127.0.0.1:{}/postgres?sslmode=disable",
        server.port
    );
    let options = PgConnectOptions::from_str(&url).unwrap();
    limit(async {
        // ANCHOR: pool
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .connect_with(options.clone())
            .await
            .unwrap();
        sqlx::query("CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL)")
            .execute(&pool)
            .await
            .unwrap();
        for id in 0..10 {
            let insert = sqlx::query("INSERT INTO account VALUES ($1, 100)").bind(id);
            insert.execute(&pool).await.unwrap();
        }
        // More tasks than connections move money; some of them roll back.
        let mut tasks = JoinSet::new();
        for task in 0..16 {
            let pool = pool.clone();
            tasks.spawn(async move {
                for turn in 0..10 {
                    let (from, to) = ((task + turn) % 10, (task + 3 * turn + 1) % 10);
                    let mut transaction = pool.begin().await.unwrap();
                    // In the order of the ids; otherwise two transactions may wait for each
                    // other.
                    let mut steps = [(from, -1), (to, 1)];
                    steps.sort();
                    for (id, change) in steps {
                        sqlx::query("UPDATE account SET balance = balance + $1 WHERE id = $2")
                            .bind(change as i64)
                            .bind(id)
                            .execute(&mut *transaction)
                            .await
                            .unwrap();
                    }
                    if turn % 3 == 0 {
                        transaction.rollback().await.unwrap();
                    } else if turn % 3 == 1 {
                        drop(transaction);
                    } else {
                        transaction.commit().await.unwrap();
                    }
                }
            });
        }
        tasks.join_all().await;
        let balances = sqlx::query("SELECT balance FROM account").fetch(&pool);
        let sum = balances.try_fold(0, |sum, row| async move { Ok(sum + row.get::<i64, _>(0)) });
        assert_eq!(sum.await.unwrap(), 1000);
        // ANCHOR_END: pool

        // All connections are in use: a task that asks for one gets an error after the time
        // limit.
        let small = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_millis(50))
            .connect_with(options.clone().socket(server.folder.path()))
            .await
            .unwrap();
        let held = small.acquire().await.unwrap();
        assert!(matches!(small.acquire().await, Err(Error::PoolTimedOut)));
        drop(held);
        let mut again = small.acquire().await.unwrap();
        again.ping().await.unwrap();
        drop(again);
        small.close().await;
        assert!(matches!(small.acquire().await, Err(Error::PoolClosed)));

        let mut listener = PgListener::connect_with(&pool).await.unwrap();
        listener.listen("news").await.unwrap();
        sqlx::query("SELECT pg_notify('news', 'hello')")
            .execute(&pool)
            .await
            .unwrap();
        assert_eq!(listener.recv().await.unwrap().payload(), "hello");
        drop(listener);
        pool.close().await;
    })
    .await;
    drop(server);
}
