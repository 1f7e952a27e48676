//! Gateways on the hosts of a simulation: their code as it is, with rings in shared memory, records in files, and a network that
//! loses, repeats and reorders frames. Gateways crash and start again; hosts are cut off.
//!
//! The programs that send and receive are no part of these hosts, so they survive. A seed decides about everything but the
//! numbers of runs and segments, which are only compared.

mod channels;
mod late;
mod pieces;
mod queues;
mod routes;
mod site;
