//! Code shared by the guards of the task family. A guard dereferences to the target of its
//! `pointer` method, formats like that target, and can become a guard of a part of it.

/// Implements `Deref`, `Debug` and `Display` for a guard.
macro_rules! guard_reads {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        impl<$($parameters)*> std::ops::Deref for $guard {
            type Target = $target;

            #[inline]
            fn deref(&self) -> &$target {
                // SAFETY: it points to the value of the lock or to a part of it, which does
                // not change while the guard holds the lock.
                unsafe { &*self.pointer() }
            }
        }

        impl<$($parameters)*> std::fmt::Debug for $guard
        where
            $target: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl<$($parameters)*> std::fmt::Display for $guard
        where
            $target: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    };
}

/// Implements `DerefMut` for a guard.
macro_rules! guard_writes {
    ([$($parameters:tt)*] $guard:ty) => {
        impl<$($parameters)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                // SAFETY: it points to the value of the lock or to a part of it, which only
                // this guard uses while it holds the lock, and it is borrowed exclusively.
                unsafe { &mut *self.pointer() }
            }
        }
    };
}

/// Implements `new` for a guard that is a hold on its lock and a pointer, and the traits above.
macro_rules! guard_of_pointer {
    ([$($parameters:tt)*] $guard:ty: $hold:ty, *$kind:tt $target:ty) => {
        impl<$($parameters)*> $guard {
            #[inline]
            pub(super) fn new(hold: $hold, data: *$kind $target) -> Self {
                Self { hold, data, marker: std::marker::PhantomData }
            }

            #[inline]
            fn pointer(&self) -> *$kind $target {
                self.data
            }
        }

        guard_reads!([$($parameters)*] $guard => $target);
        guard_of_pointer!(@$kind [$($parameters)*] $guard);
    };
    (@const [$($parameters:tt)*] $guard:ty) => {};
    (@mut [$($parameters:tt)*] $guard:ty) => {
        guard_writes!([$($parameters)*] $guard);
    };
}

/// Implements the two functions that turn a guard into a guard of a part, `V`. The closure of the
/// one finds the part; the closure of the other may not find it.
///
/// `|this: &mut T| hold` names the closure's argument and the new guard's hold.
macro_rules! guard_maps {
    (
        [$($parameters:tt)*] $guard:ty => $mapped:ty, |$this:ident: &mut $target:ty| $hold:expr;
        $($functions:tt)*
    ) => {
        guard_maps! {
            @[&mut] [*mut] [$($parameters)*] $guard => $mapped, $this, $target, $hold;
            $($functions)*
        }
    };
    (
        [$($parameters:tt)*] $guard:ty => $mapped:ty, |$this:ident: &$target:ty| $hold:expr;
        $($functions:tt)*
    ) => {
        guard_maps! {
            @[&] [*const] [$($parameters)*] $guard => $mapped, $this, $target, $hold;
            $($functions)*
        }
    };
    (
        @[$($borrow:tt)+] [$($pointer:tt)+] [$($parameters:tt)*] $guard:ty => $mapped:ty,
        $this:ident, $target:ty, $hold:expr;
        $(#[$map_doc:meta])* $map:ident<$($generics:ident),*>;
        $(#[$try_map_doc:meta])* $try_map:ident;
    ) => {
        impl<$($parameters)*> $guard {
            $(#[$map_doc])*
            #[inline]
            #[allow(unused_mut, reason = "a guard that only reads need not be mutable")]
            pub fn $map<$($generics),*>(mut $this: Self, f: F) -> $mapped
            where
                F: FnOnce($($borrow)+ $target) -> $($borrow)+ V,
                V: ?Sized,
            {
                let data: $($pointer)+ V = f($($borrow)+ *$this);
                <$mapped>::new($hold, data)
            }

            $(#[$try_map_doc])*
            #[inline]
            #[allow(unused_mut, reason = "a guard that only reads need not be mutable")]
            pub fn $try_map<$($generics),*>(mut $this: Self, f: F) -> Result<$mapped, Self>
            where
                F: FnOnce($($borrow)+ $target) -> Option<$($borrow)+ V>,
                V: ?Sized,
            {
                match f($($borrow)+ *$this) {
                    Some(data) => {
                        let data: $($pointer)+ V = data;
                        Ok(<$mapped>::new($hold, data))
                    }
                    None => Err($this),
                }
            }
        }
    };
}

pub(super) use {guard_maps, guard_of_pointer, guard_reads, guard_writes};
