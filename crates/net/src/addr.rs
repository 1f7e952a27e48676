//! Types that can be resolved to socket addresses.

use std::future::{Future, Ready, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::Pin;
use std::task::{Context, Poll, ready as ready_or_return};
use std::vec;

use blitz_io_runtime::internals::{About, spawn_blocking_as};
use blitz_io_runtime::task::JoinHandle;

use crate::sockets;

/// Resolves to one or more addresses without blocking the thread: the counterpart of
/// [`std::net::ToSocketAddrs`] for tasks.
///
/// The system looks up a name that is not an address, on a thread of the blocking pool.
/// Implemented for the same types as the standard library's trait; there are no methods to
/// call.
pub trait ToSocketAddrs: sealed::Resolve {}

/// Private, so that other crates can neither call nor implement it.
pub(crate) mod sealed {
    use super::{Future, SocketAddr, io};

    pub trait Resolve {
        type Iter: Iterator<Item = SocketAddr> + Send + 'static;
        type Future: Future<Output = io::Result<Self::Iter>> + Send + 'static;

        fn resolve(&self) -> Self::Future;
    }
}

use sealed::Resolve;

pub(crate) async fn resolve<A: ToSocketAddrs>(addr: A) -> io::Result<A::Iter> {
    addr.resolve().await
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: Resolve + ?Sized> Resolve for &T {
    type Iter = T::Iter;
    type Future = T::Future;

    fn resolve(&self) -> Self::Future {
        (**self).resolve()
    }
}

macro_rules! known {
    ($($type:ty,)*) => {$(
        impl ToSocketAddrs for $type {}

        impl Resolve for $type {
            type Iter = std::option::IntoIter<SocketAddr>;
            type Future = Ready<io::Result<Self::Iter>>;

            fn resolve(&self) -> Self::Future {
                ready(Ok(Some(SocketAddr::from(*self)).into_iter()))
            }
        }
    )*};
}

known!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16),
);

impl ToSocketAddrs for &[SocketAddr] {}

impl Resolve for &[SocketAddr] {
    type Iter = vec::IntoIter<SocketAddr>;
    type Future = Ready<io::Result<Self::Iter>>;

    fn resolve(&self) -> Self::Future {
        ready(Ok(Vec::from(*self).into_iter()))
    }
}

/// A name that is resolved, or is being looked up.
#[doc(hidden)]
#[derive(Debug)]
pub enum Lookup {
    Known(Option<io::Result<SocketAddr>>),
    Asked(JoinHandle<io::Result<vec::IntoIter<SocketAddr>>>),
}

impl Lookup {
    fn ask<A: std::net::ToSocketAddrs<Iter = vec::IntoIter<SocketAddr>> + Send + 'static>(
        host: &str,
        port: Option<u16>,
        name: A,
    ) -> Self {
        if let Some(known) = sockets::look_up(host, port) {
            return Self::Known(Some(known));
        }
        let about = About::text("look up", host);
        Self::Asked(spawn_blocking_as(about, move || name.to_socket_addrs()))
    }
}

impl Future for Lookup {
    type Output = io::Result<vec::IntoIter<SocketAddr>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Known(addr) => {
                let addr = addr.take().transpose()?;
                Poll::Ready(Ok(Vec::from_iter(addr).into_iter()))
            }
            Self::Asked(handle) => match ready_or_return!(Pin::new(handle).poll(cx)) {
                Ok(result) => Poll::Ready(result),
                Err(error) => Poll::Ready(Err(error.into())),
            },
        }
    }
}

macro_rules! looked_up {
    ($($type:ty, |$this:ident| $known:expr, $host:expr, $port:expr, $name:expr;)*) => {$(
        impl ToSocketAddrs for $type {}

        impl Resolve for $type {
            type Iter = vec::IntoIter<SocketAddr>;
            type Future = Lookup;

            fn resolve(&self) -> Lookup {
                let $this = self;
                match $known {
                    Ok(addr) => Lookup::Known(Some(Ok(SocketAddr::from(addr)))),
                    Err(_) => Lookup::ask($host, $port, $name),
                }
            }
        }
    )*};
}

looked_up!(
    str, |s| s.parse::<SocketAddr>(), s, None, s.to_owned();
    String, |s| s.parse::<SocketAddr>(), s, None, s.clone();
    (&str, u16), |s| s.0.parse::<IpAddr>().map(|ip| (ip, s.1)), s.0, Some(s.1), (s.0.to_owned(), s.1);
    (String, u16), |s| s.0.parse::<IpAddr>().map(|ip| (ip, s.1)), &s.0, Some(s.1), (s.0.clone(), s.1);
);

/// Tries the addresses in order, and returns the last error if all fail.
pub(crate) async fn first<A: ToSocketAddrs, R>(
    addr: A,
    mut attempt: impl AsyncFnMut(SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let mut last = None;
    for addr in resolve(addr).await? {
        match attempt(addr).await {
            Ok(result) => return Ok(result),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

pub(crate) fn no_address() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "could not resolve to any address",
    )
}
