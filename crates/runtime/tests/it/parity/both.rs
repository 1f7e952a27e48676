// Included in scenarios: runtimes of both kinds. `runtime` is the module.

fn current() -> runtime::Runtime {
    runtime::Builder::new_current_thread().build().unwrap()
}

fn multi() -> runtime::Runtime {
    let mut builder = runtime::Builder::new_multi_thread();
    builder.worker_threads(2).build().unwrap()
}

fn both() -> [runtime::Runtime; 2] {
    [current(), multi()]
}
