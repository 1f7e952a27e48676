//! Functions for the vector registers of the processor that runs them.

/// Defines functions that are compiled twice: for every processor of the target, and for those
/// with AVX2. The processor decides which of the two runs. Functions that they call must be inlined.
macro_rules! vectorized {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident(
        $($argument:ident: $type:ty),* $(,)?
    ) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn any($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                any($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { avx2($($argument),*) };
            }
            any($($argument),*)
        }
    )*};
}
