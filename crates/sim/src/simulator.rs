//! The fork server from outside.
//!
//! The program is started once, with the object before it, and stops before `main`. Each run is one byte
//! on a pipe, a fork there, and a status on another pipe. The plan and the result of a run are in shared
//! memory (`shared::region`).

use std::fs::{self, File};
use std::io::{self, Error, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::outcome::{Outcome, Verdict};
use crate::plan::{Faults, Plan, Schedule};
use crate::profile::Profile;
use crate::program::{Program, unsuitable};
use crate::recording::Recording;
use crate::shared::region::{
    ANSWER_FD, CHECKPOINT, COMMAND_FD, EVENTS, LOOPS, REGION_FD, Region, SCRIPTED, VERSION, verdict,
};

/// The object, as the build script compiled it.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/object.so"));

/// Processor time without a point after which a run is stuck: a loop that makes no call.
const PATIENCE: Duration = Duration::from_secs(10);
/// Processor time without a point after which a thread may be in a loop without a call.
const ALARM: Duration = Duration::from_millis(500);
/// Real time without a point after which a run is stuck also if it used no processor: it sleeps in the system.
/// On a busy machine a run may get no processor for a while.
const LONG: Duration = Duration::from_secs(120);

/// A program that is ready to run under simulation.
///
/// # What a plan means
///
/// Some schedules use numbers about the program: how many calls its threads make, and which objects they share. These come from
/// a *profile*: one more run, without preemptions and faults, which a simulator makes before the first plan that needs it.
/// The profile is the same for all of them, so a plan means the same after any other runs. There is one
/// exception: a loop without a call stays known, because it takes half a second to find. In a later run, threads change
/// in that loop after a few rounds, also if it would have ended by itself.
/// [`Outcome::loops`](crate::Outcome::loops) has the known loops.
#[derive(Debug)]
pub struct Simulator {
    server: Child,
    region: *mut Region,
    commands: File,
    answers: File,
    output: File,
    /// The profile, once a plan has needed it.
    profile: Option<Profile>,
    /// Loops without a call that were found, as `Plan::loops`.
    loops: Vec<u64>,
    /// The program may become another one, which knows no alarms.
    may_exec: bool,
}

/// The side tasks of a run.
#[derive(Clone, Copy, Default)]
struct Extras {
    recording: bool,
    /// The step at which it stops; 0 for none.
    until: u64,
    pause: bool,
}

/// Called with the process id and the report of a run that has stopped.
type Debugger<'a> = dyn FnMut(u32, &str) + 'a;

// SAFETY: the pointer is the only field whose type is not `Send`; the mapping belongs to this value.
unsafe impl Send for Simulator {}

// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Simulator {}

impl Simulator {
    /// Starts the program and stops it before its `main`.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be started, or not be simulated: it is linked statically or
    /// with musl, or is not for this system.
    ///
    /// ```
    /// # #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))] {
    /// use blitz_io_sim::{Plan, Program, Schedule, Simulator, Verdict};
    ///
    /// let mut simulator = Simulator::start(&Program::new("/bin/true", [""; 0])).unwrap();
    /// let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    /// assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
    /// # }
    /// ```
    pub fn start(program: &Program) -> io::Result<Simulator> {
        if OBJECT.is_empty() {
            return Err(Error::other(
                "this program was built without the simulator, which takes a compiler for Linux on x86-64 with glibc",
            ));
        }
        let file = program.file()?;
        if let Some(reason) = unsuitable(&file)? {
            return Err(Error::other(format!("{} {reason}", file.display())));
        }
        if program.has_memory_files() && program.may_exec() {
            return Err(Error::other(
                "files in memory need the filter of system calls, which would end child processes",
            ));
        }
        let (shared, region) = shared_region()?;
        let object = object()?;
        let (read_commands, commands) = pipe()?;
        let (answers, write_answers) = pipe()?;
        let output = memory("output")?;
        let append = fs::OpenOptions::new()
            .append(true)
            .read(true)
            .open(path_of(&output))?;
        let mut command = Command::new(&file);
        program.set_variables(&mut command);
        command
            .args(&program.arguments)
            .env("LD_PRELOAD", path_of(object))
            .env("BLITZ_SIM", "1")
            .stdin(Stdio::null())
            .stdout(append.try_clone()?)
            .stderr(append);
        if let Some(folder) = &program.folder {
            command.current_dir(folder);
        }
        let descriptors = [
            (shared.as_raw_fd(), REGION_FD),
            (read_commands.as_raw_fd(), COMMAND_FD),
            (write_answers.as_raw_fd(), ANSWER_FD),
        ];
        let processor = next_processor();
        // SAFETY: between fork and exec, `prepare` only makes system calls.
        unsafe { command.pre_exec(move || prepare(&descriptors, &processor)) };
        let server = command.spawn()?;
        Ok(Simulator {
            server,
            region,
            commands: commands.into(),
            answers: answers.into(),
            output,
            profile: None,
            loops: vec![],
            may_exec: program.may_exec(),
        })
    }

    /// Runs the program once.
    ///
    /// # Errors
    ///
    /// Fails if the fork server has ended: the program ended before `main`, or its loader ignores the
    /// object. Fails if the plan has [`atomics`](Plan::atomics) and the program is not compiled for that.
    pub fn run(&mut self, plan: &Plan) -> io::Result<Outcome> {
        self.execute(plan, Extras::default(), &mut |_, _| {})
    }

    /// Runs the program once, and records its events.
    ///
    /// # Errors
    ///
    /// The errors are those of [`run`](Self::run).
    ///
    /// ```
    /// # #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))] {
    /// use blitz_io_sim::{Happening, Plan, Program, Schedule, Simulator};
    ///
    /// let mut simulator = Simulator::start(&Program::new("/bin/sleep", ["60"])).unwrap();
    /// let plan = Plan::new(Schedule::Random, 1);
    /// let (_, recording) = simulator.record(&plan).unwrap();
    /// let waits = |what: &Happening| matches!(what, Happening::Wait { kind: "a time", .. });
    /// assert!(recording.events.iter().any(|event| waits(&event.what)));
    /// # }
    /// ```
    pub fn record(&mut self, plan: &Plan) -> io::Result<(Outcome, Recording)> {
        let extras = Extras {
            recording: true,
            ..Extras::default()
        };
        let outcome = self.execute(plan, extras, &mut |_, _| {})?;
        // SAFETY: the run has ended, and with it all that wrote to the region.
        let region = unsafe { &*self.region };
        let events = &region.events[..region.happened as usize];
        let is_cut_off = events.len() == EVENTS;
        Ok((
            outcome,
            Recording::new(events, &region.names[..], is_cut_off),
        ))
    }

    /// Runs the program until it has made `step` calls. The report then says which thread waits where. A run
    /// that ends before is as any other.
    ///
    /// # Errors
    ///
    /// The errors are those of [`run`](Self::run).
    ///
    /// ```
    /// # #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))] {
    /// use blitz_io_sim::{Plan, Program, Schedule, Simulator, Verdict};
    ///
    /// let mut simulator = Simulator::start(&Program::new("/bin/sleep", ["60"])).unwrap();
    /// let plan = Plan::new(Schedule::Random, 1);
    /// let outcome = simulator.run_until(&plan, 1).unwrap();
    /// assert_eq!(outcome.verdict, Verdict::Stopped);
    /// assert!(outcome.report.contains("thread 0"), "{}", outcome.report);
    /// # }
    /// ```
    pub fn run_until(&mut self, plan: &Plan, step: u64) -> io::Result<Outcome> {
        let extras = Extras {
            until: step,
            ..Extras::default()
        };
        self.execute(plan, extras, &mut |_, _| {})
    }

    /// Runs the program until it has made `step` calls, and stops its process there. Calls `debugger` with the
    /// process id and the report. When that returns, the run ends.
    ///
    /// # Errors
    ///
    /// The errors are those of [`run`](Self::run).
    ///
    /// ```
    /// # #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))] {
    /// use blitz_io_sim::{Plan, Program, Schedule, Simulator};
    ///
    /// let mut simulator = Simulator::start(&Program::new("/bin/sleep", ["60"])).unwrap();
    /// let plan = Plan::new(Schedule::Random, 1);
    /// let mut stopped = None;
    /// simulator.debug(&plan, 1, |process, _| stopped = Some(process)).unwrap();
    /// assert!(stopped.is_some());
    /// # }
    /// ```
    pub fn debug(
        &mut self,
        plan: &Plan,
        step: u64,
        debugger: impl FnOnce(u32, &str),
    ) -> io::Result<Outcome> {
        let extras = Extras {
            until: step,
            pause: true,
            ..Extras::default()
        };
        let mut debugger = Some(debugger);
        self.execute(plan, extras, &mut |process, report| {
            if let Some(debugger) = debugger.take() {
                debugger(process, report);
            }
        })
    }

    /// Returns the profile, after a run without preemptions and faults the first time.
    fn profile(&mut self, plan: &Plan) -> io::Result<&Profile> {
        if self.profile.is_none() {
            let measuring = Plan {
                schedule: Schedule::Script,
                seed: 0,
                faults: Faults::NONE,
                script: vec![],
                strict: false,
                preempt: false,
                contended: false,
                loops: vec![],
                ..plan.clone()
            };
            // Later events find no room.
            let extras = Extras {
                recording: true,
                until: EVENTS as u64,
                ..Extras::default()
            };
            // Not the loops that earlier runs have found: no run may change the profile.
            self.execute_from(vec![], &measuring, extras, &mut |_, _| {})?;
            // SAFETY: the run has ended, and with it all that wrote to the region.
            let region = unsafe { &*self.region };
            let events = &region.events[..region.happened as usize];
            self.profile = Some(Profile::new(events));
        }
        Ok(self.profile.get_or_insert_default())
    }

    /// Runs the program with the loops of the plan, or those that are known.
    fn execute(
        &mut self,
        plan: &Plan,
        extras: Extras,
        debugger: &mut Debugger<'_>,
    ) -> io::Result<Outcome> {
        let loops = if plan.loops.is_empty() {
            self.loops.clone()
        } else {
            plan.loops.clone()
        };
        self.execute_from(loops, plan, extras, debugger)
    }

    /// Runs the program, and again if the run has found another loop without a call.
    fn execute_from(
        &mut self,
        mut loops: Vec<u64>,
        plan: &Plan,
        extras: Extras,
        debugger: &mut Debugger<'_>,
    ) -> io::Result<Outcome> {
        let mut alarms = !self.may_exec && !extras.pause;
        loop {
            alarms &= loops.len() < LOOPS;
            let (outcome, mark) = self.execute_with(plan, &loops, alarms, extras, debugger)?;
            let Some(mark) = mark else {
                return Ok(outcome);
            };
            // The kernel has refused the breakpoint.
            alarms &= !loops.contains(&mark);
            for known in [&mut loops, &mut self.loops] {
                if !known.contains(&mark) {
                    known.push(mark);
                }
            }
        }
    }

    /// Runs the program once. Returns the mark of a loop without a call, if that ended the run.
    fn execute_with(
        &mut self,
        plan: &Plan,
        loops: &[u64],
        alarms: bool,
        extras: Extras,
        debugger: &mut Debugger<'_>,
    ) -> io::Result<(Outcome, Option<u64>)> {
        let loops = &loops[..loops.len().min(LOOPS)];
        if plan.script.len() > SCRIPTED {
            return Err(Error::other("the script is too long"));
        }
        let profile = match plan.schedule {
            Schedule::Surw => self.profile(plan)?.clone(),
            // So many points are on objects of one thread that few changes of priority would matter.
            Schedule::Pct(_) if plan.atomics => self.profile(plan)?.clone(),
            Schedule::Script if plan.contended => self.profile(plan)?.clone(),
            _ => Profile::default(),
        };
        let length = match (profile.shared.as_slice(), plan.length) {
            ([], Some(length)) => length,
            ([], None) if plan.needs_length() => self.profile(plan)?.length,
            ([], None) => 0,
            _ => profile.choices,
        };
        self.output.set_len(0)?;
        // SAFETY: the mapping lives as long as this value, and no run is in progress: see `region`.
        let region = unsafe { &mut *self.region };
        let (strategy, depth) = plan.schedule.numbers();
        region.version = VERSION;
        region.strategy = strategy;
        region.depth = depth;
        region.seed = plan.seed;
        region.faults = plan.faults.0;
        region.length = length;
        region.limit = plan.limit;
        region.processors = plan.processors;
        region.scripted = plan.script.len() as u32;
        region.script[..plan.script.len()].copy_from_slice(&plan.script);
        region.strict = plan.strict.into();
        region.pid.store(0, Ordering::Relaxed);
        region.points.store(0, Ordering::Relaxed);
        region.verdict = 0;
        region.decided = 0;
        region.hash = 0;
        region.now = 0;
        region.threads = 1;
        region.opportunities = 0;
        region.randomness = 0;
        region.crashes = 0;
        region.restarts = 0;
        region.text_length = 0;
        region.recording = extras.recording.into();
        region.until = extras.until;
        region.pause = extras.pause.into();
        region.paused.store(0, Ordering::Relaxed);
        region.preempt = plan.preempt.into();
        region.atomics = plan.atomics.into();
        region.no_timeouts = plan.no_timeouts.into();
        region.looping = loops.len() as u32;
        region.loops[..loops.len()].copy_from_slice(loops);
        region.running.store(0, Ordering::Relaxed);
        region.alarm.store(0, Ordering::Relaxed);
        region.happened = 0;
        region.stepped = 0;
        // An empty name is at the start.
        region.names[0] = 0;
        region.names_length = 1;
        region.weighted = profile.weights.len() as u32;
        region.weights[..profile.weights.len()].copy_from_slice(&profile.weights);
        region.sharing = profile.shared.len() as u32;
        region.shared[..profile.shared.len()].copy_from_slice(&profile.shared);

        let ended = |_| self::ended(&mut self.server, &mut self.output);
        self.commands.write_all(&[1]).map_err(ended)?;
        let stuck = self.wait_for_answer(alarms, debugger)?;
        let mut status = [0; 4];
        let ended = |_| self::ended(&mut self.server, &mut self.output);
        self.answers.read_exact(&mut status).map_err(ended)?;
        let status = i32::from_ne_bytes(status);

        // SAFETY: the run has ended, and with it all that wrote to the region.
        let region = unsafe { &*self.region };
        if plan.atomics && region.instrumented == 0 {
            return Err(Error::other(
                "atomic operations cannot be points: the program is not compiled with the thread sanitizer's instrumentation, or not linked with the simulator's library for it",
            ));
        }
        let decided = region.decided as usize;
        let text = &region.text[..region.text_length as usize];
        let mut report = String::from_utf8_lossy(text).into_owned();
        let verdict = match region.verdict {
            verdict::DEADLOCK => Verdict::Deadlock,
            verdict::LIVELOCK => Verdict::Livelock,
            verdict::ESCAPED => Verdict::Escaped,
            verdict::DIVERGED => Verdict::Diverged,
            verdict::FULL => Verdict::Full,
            verdict::STOPPED => Verdict::Stopped,
            _ if stuck.is_some() => Verdict::Stuck,
            _ if libc::WIFSIGNALED(status) => Verdict::Killed(libc::WTERMSIG(status)),
            _ => match libc::WEXITSTATUS(status) {
                0 => Verdict::Passed,
                code => Verdict::Failed(code),
            },
        };
        report.push_str(&stuck.unwrap_or_default());
        let mut output = vec![];
        self.output.seek(SeekFrom::Start(0))?;
        self.output.read_to_end(&mut output)?;
        let mark = (region.verdict == verdict::LOOP).then_some(region.mark);
        let outcome = Outcome {
            verdict,
            report,
            output,
            hash: region.hash,
            checkpoints: region.checkpoints[..decided.div_ceil(CHECKPOINT)].to_vec(),
            decisions: region.decisions[..decided].to_vec(),
            points: region.points.load(Ordering::Relaxed),
            stepped: region.stepped,
            nanoseconds: region.now,
            loops: loops.to_vec(),
            threads: region.threads,
            opportunities: Faults(region.opportunities),
            is_random: region.randomness != 0,
        };
        Ok((outcome, mark))
    }

    /// Waits until the answer can be read. Ends a run that is stuck, and returns a description of it.
    ///
    /// With `alarms`, this warns a run that reaches no point for long: it may be in a loop without a call.
    fn wait_for_answer(
        &self,
        alarms: bool,
        debugger: &mut Debugger<'_>,
    ) -> io::Result<Option<String>> {
        // SAFETY: the mapping lives as long as this value.
        let (points, pid, paused) = unsafe {
            let region = self.region;
            (&(*region).points, &(*region).pid, &(*region).paused)
        };
        let mut next_alarm = ALARM;
        // SAFETY: the mapping lives as long as this value, and a run only reads `pause`.
        let pauses = unsafe { (*self.region).pause } != 0;
        let mut last = (
            points.load(Ordering::Relaxed),
            Instant::now(),
            Duration::ZERO,
        );
        loop {
            if self.has_answer(if pauses { 10 } else { 50 }) {
                return Ok(None);
            }
            let now = points.load(Ordering::Relaxed);
            let pid = pid.load(Ordering::Relaxed) as i32;
            // The server writes the number after the fork, which may be late.
            if pauses && pid > 0 && paused.swap(0, Ordering::Acquire) != 0 {
                // SAFETY: the run wrote its report before it set `paused`, and then stopped.
                let text = unsafe {
                    let region = &*self.region;
                    String::from_utf8_lossy(&region.text[..region.text_length as usize])
                };
                debugger(pid as u32, &text);
                if !self.has_answer(0) {
                    // SAFETY: the server waits for this child of its own, so the number is not another's.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                }
                continue;
            }
            let used = processor_time(pid);
            if now != last.0 {
                last = (now, Instant::now(), used);
                next_alarm = ALARM;
            }
            if alarms && used.saturating_sub(last.2) >= next_alarm {
                next_alarm *= 4;
                self.sound_alarm(pid);
            }
            let is_stuck = used.saturating_sub(last.2) > PATIENCE || last.1.elapsed() > LONG;
            if is_stuck && pid > 0 {
                let text = where_it_is(pid);
                // SAFETY: the server waits for this child of its own, so the number is not another's.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                return Ok(Some(text));
            }
        }
    }
}

impl Simulator {
    /// Sends the signal by which the thread with the baton looks whether it is in a loop without a call.
    fn sound_alarm(&self, pid: i32) {
        // SAFETY: the mapping lives as long as this value.
        let (running, alarm) = unsafe { (&(*self.region).running, &(*self.region).alarm) };
        let thread = running.load(Ordering::Relaxed) as i32;
        if pid > 0 && thread > 0 {
            alarm.store(1, Ordering::Relaxed);
            // SAFETY: the server waits for this child of its own, so the numbers are not another's. The child
            // handles the signal from its start on.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, libc::SIGTRAP) };
        }
    }

    fn has_answer(&self, milliseconds: i32) -> bool {
        let mut set = libc::pollfd {
            fd: self.answers.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `set` is one valid entry.
        unsafe { libc::poll(&mut set, 1, milliseconds) > 0 }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // No run is in progress, so the server waits for a command.
        let _ = self.server.kill();
        let _ = self.server.wait();
        // SAFETY: `shared_region` mapped it with this size, and nothing uses it any more.
        unsafe { libc::munmap(self.region.cast(), size_of::<Region>()) };
    }
}

/// Returns the error of a fork server that has ended.
fn ended(server: &mut Child, output: &mut File) -> Error {
    let status = server
        .wait()
        .map_or_else(|error| error.to_string(), |status| status.to_string());
    let mut text = String::new();
    let _ = output.seek(SeekFrom::Start(0));
    let _ = output.read_to_string(&mut text);
    Error::other(format!(
        "the program ended before its simulation began ({status}): it has no `main` of glibc, or its loader does not load the simulator\n{text}"
    ))
}

/// Returns what the kernel says about the threads of a process.
fn where_it_is(pid: i32) -> String {
    let mut text =
        String::from("no point was reached for 10 s of processor time, or two minutes\n");
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return text;
    };
    for task in tasks.flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let (name, call) = (read("comm"), read("syscall"));
        text.push_str(&format!("    {}: {}\n", name.trim(), call.trim()));
    }
    text
}

/// Returns the processor time that a process has used; zero if the system does not say.
fn processor_time(pid: i32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the name, in parentheses. The times are fields 14 and 15, in ticks.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    // SAFETY: the call has no preconditions.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Duration::from_secs_f64(ticks as f64 / a_second.max(1) as f64)
}

/// Returns one of the processors that this process may use, each in its turn.
fn next_processor() -> libc::cpu_set_t {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: sets of processors are numbers, and `allowed` is as large as its size argument says.
    let (allowed, mut one) = unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed);
        (allowed, std::mem::zeroed::<libc::cpu_set_t>())
    };
    // SAFETY: the macros read and write a set below its size.
    unsafe {
        let count = libc::CPU_COUNT(&allowed).max(1) as usize;
        let wanted = NEXT.fetch_add(1, Ordering::Relaxed) % count;
        let mut members =
            (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        libc::CPU_SET(members.nth(wanted).unwrap_or(0), &mut one);
    }
    one
}

fn prepare(descriptors: &[(RawFd, RawFd)], processor: &libc::cpu_set_t) -> io::Result<()> {
    for (from, to) in descriptors {
        // SAFETY: both are numbers of descriptors.
        if unsafe { libc::dup2(*from, *to) } < 0 {
            return Err(Error::last_os_error());
        }
    }
    // SAFETY: these calls take numbers and a set of processors on the stack. Each may be refused, which
    // costs speed (one processor) or lets addresses differ between two starts.
    unsafe {
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        libc::sched_setaffinity(0, size_of_val(processor), processor);
    }
    Ok(())
}

fn memory(name: &str) -> io::Result<File> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name ends with a zero byte.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is new and belongs to nothing else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Returns a path by which another process opens the file of a descriptor of this one.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Returns the object as a file. It is written once, and stays until this process ends.
fn object() -> io::Result<&'static File> {
    static FILE: OnceLock<File> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file);
    }
    let mut file = memory("blitz-sim")?;
    file.write_all(OBJECT)?;
    Ok(FILE.get_or_init(|| file))
}

fn shared_region() -> io::Result<(File, *mut Region)> {
    let file = memory("region")?;
    file.set_len(size_of::<Region>() as u64)?;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Region>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    let region = at.cast::<Region>();
    // SAFETY: the mapping is as large as a region, and all of its bytes may be zero.
    unsafe { (*region).version = VERSION };
    Ok((file, region))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two descriptors.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: both descriptors are new and belong to nothing else.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}
