//! Child processes that end in any case.

use std::process::Command;

/// Lets the system end the program after a quarter of an hour, with SIGALRM: a test that waits for one
/// that never ends fails, instead of hanging.
///
/// ```
/// let mut command = std::process::Command::new("cargo");
/// let version = blitz_io_testing::limited(&mut command).arg("--version").output();
/// assert!(version.unwrap().status.success());
/// ```
pub fn limited(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;

        unsafe extern "C" {
            safe fn alarm(seconds: core::ffi::c_uint) -> core::ffi::c_uint;
        }
        // SAFETY: between fork and exec, the closure makes one system call, which touches no memory.
        unsafe {
            command.pre_exec(|| {
                alarm(900);
                Ok(())
            })
        };
    }
    command
}
