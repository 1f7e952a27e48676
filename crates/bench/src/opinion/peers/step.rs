//! Counts instructions, and among them the atomic read-modify-writes, by single-stepping a
//! child process. Nothing has to be estimated, and no privilege is needed beyond tracing
//! one's own child.
//!
//! The child runs `operations` between two breakpoints. The difference between two runs
//! with different numbers of operations contains nothing that is not repeated.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use system::{count, run};

/// The instructions of one operation.
#[derive(Clone, Copy)]
pub struct Steps {
    pub instructions: f64,
    /// Instructions with a lock prefix, and exchanges with memory, which need none.
    pub locked: f64,
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere {
    use super::Steps;
    use crate::scenario::Failure;

    /// Instructions are not counted on this system.
    pub fn count(_: &str) -> Result<Option<Steps>, Failure> {
        Ok(None)
    }

    /// This is never called on this system.
    pub fn run(_: &str, _: u32) -> Result<(), Failure> {
        Err(Failure("nothing is counted on this system".to_owned()))
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{count, run};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system {
    use std::env;
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::ptr::null_mut;

    use crate::scenario::Failure;
    use libc::{c_int, c_void, pid_t};

    use super::Steps;
    use crate::opinion::peers::subjects;

    const WARM: u32 = 20;
    const FEW: u32 = 4;
    const MANY: u32 = 14;
    /// The limit of instructions that a child may run; far more than any needs.
    const TOO_MANY: u64 = 5_000_000;
    const BREAKPOINT: u8 = 0xCC;

    /// The child's part: warms up, and runs the operations between two breakpoints.
    pub fn run(subject: &str, operations: u32) -> Result<(), Failure> {
        let operate = subjects::find(subject)
            .ok_or_else(|| Failure(format!("there is no {subject}")))?
            .operate();
        operate(WARM);
        breakpoint();
        operate(operations);
        breakpoint();
        Ok(())
    }

    fn breakpoint() {
        // SAFETY: it touches nothing; the tracer continues after it.
        unsafe { std::arch::asm!("int3") };
    }

    /// Returns the steps of one operation, or `None` if tracing is forbidden.
    pub fn count(subject: &str) -> Result<Option<Steps>, Failure> {
        let failed = |error: io::Error| Failure(format!("stepping through {subject}: {error}"));
        let Some(few) = trace(subject, FEW).map_err(failed)? else {
            return Ok(None);
        };
        let Some(many) = trace(subject, MANY).map_err(failed)? else {
            return Ok(None);
        };
        let more = f64::from(MANY - FEW);
        Ok(Some(Steps {
            instructions: (many.0 as f64 - few.0 as f64) / more,
            locked: (many.1 as f64 - few.1 as f64) / more,
        }))
    }

    /// Counts all instructions between the breakpoints, and the locked ones.
    fn trace(subject: &str, operations: u32) -> io::Result<Option<(u64, u64)>> {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["step", subject, &operations.to_string()])
            .stdin(Stdio::null());
        // SAFETY: between fork and exec the closure makes one system call.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            })
        };
        let mut child = match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            child => child?,
        };
        let counted = walk(&child);
        // Whatever happened, the child is no longer needed.
        let _ = child.kill();
        let _ = child.wait();
        counted.map(Some)
    }

    fn walk(child: &Child) -> io::Result<(u64, u64)> {
        let pid = child.id() as pid_t;
        wait_for_trap(pid)?;
        go_on(pid, libc::PTRACE_CONT)?;
        let (mut instructions, mut locked) = (0, 0);
        while instructions < TOO_MANY {
            let code = next_instruction(pid)?;
            if code[0] == BREAKPOINT {
                return Ok((instructions, locked));
            }
            instructions += 1;
            locked += u64::from(is_locked(&code));
            go_on(pid, libc::PTRACE_SINGLESTEP)?;
        }
        Err(io::Error::other("it does not come to its end"))
    }

    fn go_on(pid: pid_t, how: libc::c_uint) -> io::Result<()> {
        let none: *mut c_void = null_mut();
        // SAFETY: the child is stopped; no signal is passed on and no memory of this
        // process is used.
        if unsafe { libc::ptrace(how, pid, none, none) } == -1 {
            return Err(io::Error::last_os_error());
        }
        wait_for_trap(pid)
    }

    fn wait_for_trap(pid: pid_t) -> io::Result<()> {
        let mut status: c_int = 0;
        // SAFETY: the pointer is to a live, writable number.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "it stopped with status {status:#x}"
            )))
        }
    }

    /// Reads the first bytes of the next instruction.
    fn next_instruction(pid: pid_t) -> io::Result<[u8; 16]> {
        let none: *mut c_void = null_mut();
        // SAFETY: a `user_regs_struct` consists of numbers; all zeroes is a valid value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the child is stopped, and the pointer is to `registers`, which the call
        // fills.
        if unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, none, &raw mut registers) } == -1 {
            return Err(io::Error::last_os_error());
        }
        let mut code = [0; 16];
        for (word, bytes) in code.chunks_exact_mut(8).enumerate() {
            let address = registers.rip + 8 * word as u64;
            // SAFETY: the child is stopped; the call reads its memory, not ours,
            // and reports an address that the child does not have.
            let read = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, pid, address, none) };
            bytes.copy_from_slice(&read.to_ne_bytes());
        }
        Ok(code)
    }

    /// Returns whether the instruction takes exclusive ownership of a cache line: it has
    /// the lock prefix, or exchanges a register with memory.
    fn is_locked(code: &[u8; 16]) -> bool {
        const LOCK: u8 = 0xF0;
        let is_prefix = |byte: &u8| {
            matches!(
                byte,
                0x66 | 0x67 | 0xF2 | 0xF3 | 0x2E | 0x36 | 0x3E | 0x26 | 0x64 | 0x65
            ) || *byte == LOCK
        };
        let prefixes = code.iter().take_while(|byte| is_prefix(byte)).count();
        if code[..prefixes].contains(&LOCK) {
            return true;
        }
        let rest = &code[prefixes..];
        let rex = usize::from(matches!(rest.first(), Some(0x40..=0x4F)));
        match rest.get(rex..rex + 2) {
            Some([0x86 | 0x87, operands]) => operands >> 6 != 0b11,
            _ => false,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::is_locked;

        fn code(bytes: &[u8]) -> [u8; 16] {
            let mut code = [0x90; 16];
            code[..bytes.len()].copy_from_slice(bytes);
            code
        }

        #[test]
        fn locked_instructions_are_told_from_others() {
            // lock cmpxchg [rdi], cl; lock xadd [rdi], rax; xchg [rdi], al;
            // xchg [rdi], rax
            let locked: [&[u8]; 4] = [
                &[0xF0, 0x0F, 0xB0, 0x0F],
                &[0xF0, 0x48, 0x0F, 0xC1, 0x07],
                &[0x86, 0x07],
                &[0x48, 0x87, 0x07],
            ];
            assert!(locked.iter().all(|bytes| is_locked(&code(bytes))));
            // mov [rdi], al; xchg ax, ax; xchg rax, rcx; cmpxchg [rdi], cl; nop
            let others: [&[u8]; 5] = [
                &[0x88, 0x07],
                &[0x66, 0x90],
                &[0x48, 0x87, 0xC8],
                &[0x0F, 0xB0, 0x0F],
                &[0x90],
            ];
            assert!(!others.iter().any(|bytes| is_locked(&code(bytes))));
        }
    }
}
