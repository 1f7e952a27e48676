//! The same scenarios with Tokio's channel for a value that changes and with ours.

/// Which of the automatic traits a type has.
macro_rules! traits_of {
    ($type:ty) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);

        #[allow(dead_code)]
        trait Otherwise {
            const SEND: bool = false;
            const SYNC: bool = false;
            const UNPIN: bool = false;
            const UNWIND: bool = false;
            const REF_UNWIND: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}

        #[allow(dead_code)]
        impl<T: ?Sized + Send> Probe<T> {
            const SEND: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + Sync> Probe<T> {
            const SYNC: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + Unpin> Probe<T> {
            const UNPIN: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + UnwindSafe> Probe<T> {
            const UNWIND: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + RefUnwindSafe> Probe<T> {
            const REF_UNWIND: bool = true;
        }
        [
            Probe::<$type>::SEND,
            Probe::<$type>::SYNC,
            Probe::<$type>::UNPIN,
            Probe::<$type>::UNWIND,
            Probe::<$type>::REF_UNWIND,
        ]
    }};
}
use traits_of;

mod tokio_watch {
    use tokio::sync::watch;

    include!("parity/watch.rs");
}

mod our_watch {
    use blitz_channel::watch;

    include!("parity/watch.rs");
}

#[test]
fn the_types_have_the_same_traits() {
    assert_eq!(our_watch::traits(), tokio_watch::traits());
}

#[test]
fn they_show_the_same() {
    assert_eq!(our_watch::shown(), tokio_watch::shown());
}
