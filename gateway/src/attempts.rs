//! Runs exports and imports, and starts them again after a failure.

use std::pin::pin;

use blitz_io::sync::CancellationToken;
use blitz_io::{select, time};

use crate::config::{Export, Kind};
use crate::export;
use crate::import::{self, Source};
use crate::keys::Name;
use crate::queue;
use crate::shared::{Direction, RETRY, Shared};
use crate::silence::Silence;

/// Exports until it is cancelled.
pub async fn export(shared: &Shared, name: &Name, rule: &Export, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        let attempt = async {
            match name.kind {
                Kind::Queue => queue::export(shared, name, rule).await,
                _ => export::export(shared, name, rule).await,
            }
        };
        let result = select! {
            result = attempt => result,
            () = stop.cancelled() => break,
        };
        if let Err(error) = result {
            shared.row(Direction::Export, name, "", |row| {
                row.error = error.to_string()
            });
            time::sleep(RETRY).await;
        }
    }
    shared.remove_rows(Direction::Export, name);
}

/// Imports until the host has given no sign of life for `lost-after-ms`, or until it is cancelled.
pub async fn import(shared: &Shared, source: &Source, stop: &CancellationToken) {
    let mut silence = Silence::default();
    while !stop.is_cancelled() && !silence.reaches(shared.limits.lost_after()) {
        let attempt = async {
            match source.name.kind {
                Kind::Queue => queue::import(shared, source, &mut silence).await,
                _ => import::import(shared, source, &mut silence).await,
            }
        };
        let result = select! {
            result = attempt => result,
            () = stop.cancelled() => break,
        };
        let Err(error) = result else { break };
        shared.row(Direction::Import, &source.name, &source.host, |row| {
            row.error = error.to_string();
        });
        // Frames that wait for another attempt are old by then, and would fill the inbox.
        let mut pause = pin!(time::sleep(RETRY));
        let mut heard = false;
        loop {
            while source.inbox.pop().is_some() {
                heard = true;
            }
            select! {
                () = &mut pause => break,
                () = source.inbox.arrived() => {}
            }
        }
        if heard {
            silence.broken();
        } else {
            silence.lasts(RETRY);
        }
    }
    shared.remove_row(Direction::Import, &source.name, &source.host);
}
