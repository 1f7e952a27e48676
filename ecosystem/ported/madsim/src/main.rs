//! The examples of madsim, with what they share in `../shared`, on madsim.

#[path = "../../shared/calls.rs"]
mod calls;
#[path = "../../shared/echo.rs"]
mod echo;
#[path = "../../shared/greeter.rs"]
mod greeter;
#[path = "../../shared/harness.rs"]
mod harness;
#[path = "../../shared/random.rs"]
mod random;
mod rpc;
mod world;

use world::simulate;

fn main() {
    harness::main(&[
        ("rpc", |seed| simulate(seed, rpc::texts)),
        ("erpc", |seed| simulate(seed, rpc::numbers)),
        ("tonic: kinds of calls", |seed| simulate(seed, calls::kinds)),
        ("tonic: no server", |seed| simulate(seed, calls::no_server)),
        ("tonic: clients that stop", |seed| {
            simulate(seed, move || calls::clients_that_stop(seed))
        }),
        ("tonic: a dropped stream", |seed| {
            simulate(seed, calls::a_dropped_stream)
        }),
        ("tonic: a server that stops", |seed| {
            simulate(seed, calls::a_server_that_stops)
        }),
        ("tonic: no service", |seed| {
            simulate(seed, calls::no_service)
        }),
        ("tonic: interceptors", |seed| {
            simulate(seed, calls::interceptors)
        }),
        ("tonic: limits", |seed| simulate(seed, calls::limits)),
    ]);
}
