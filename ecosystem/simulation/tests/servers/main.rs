//! Published servers and clients, unmodified, on the drop-in package `tokio` with the feature `sim`: hyper, axum, tonic,
//! mini-redis, and clients with a pool of bb8 or deadpool, or with tower's middleware. Server and clients are hosts, which
//! crash, are cut off and start again. Each test states what must hold for users of the package whatever happens.

mod axum;
mod hyper;
mod ledger;
mod mini_redis;
mod pools;
mod requests;
mod site;
mod tonic;
mod tower;
