//! Programs and tools look for threads by the name that Tokio gives them.

#![cfg(feature = "rt")]

#[test]
fn threads_have_the_names_of_tokios() {
    let name = || std::thread::current().name().map(str::to_owned);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let worker = runtime.spawn(async move { name() });
    let blocking = runtime.spawn_blocking(name);
    let names = runtime.block_on(async { [worker.await.unwrap(), blocking.await.unwrap()] });
    assert_eq!(
        names.each_ref().map(Option::as_deref),
        [Some("tokio-rt-worker"); 2]
    );
}
