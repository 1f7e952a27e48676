//! Finds the callers of a thread from a copy of its registers and of its stack.
//!
//! The tables for exceptions (`.eh_frame`) of each loaded library say where a function has put its
//! caller's registers. They are in memory, and `.eh_frame_hdr` has their addresses in ascending order.
//! `dl_iterate_phdr` names both, and no library is unloaded until the callback has returned.
//!
//! Nothing is read through an address of the stack: a value of the stack is taken from the copy, or not
//! at all. So a wrong table ends the list of callers too early, and does no more harm.
//!
//! # Without the frame pointer
//!
//! Of a thread that sleeps, the system tells two registers only. That is enough for functions that keep the
//! stack pointer. A function with a frame pointer, as those of the standard library are, needs that register,
//! which only one of the inner functions may have saved. Otherwise the frame ends where the stack has the address
//! behind an instruction that calls just this function: the nearest such place counts. A call through a register counts if
//! an instruction shortly before it has loaded the function's address. A function that is reached by a jump ends the list.

use std::ffi::{c_int, c_void};
use std::slice;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, Pointer, Register,
    RegisterRule, UnwindContext, UnwindSection,
};

use crate::proc_files::memory;

/// A longer list of callers is cut off.
const FRAMES: usize = 96;
/// The largest number of registers that the tables name.
pub(crate) const REGISTERS: usize = 32;

/// The number of the stack pointer, and of the register that has the address to which a function
/// returns until it is saved.
#[cfg(target_arch = "x86_64")]
const NUMBERS: (usize, Option<usize>) = (7, None);
#[cfg(target_arch = "aarch64")]
const NUMBERS: (usize, Option<usize>) = (31, Some(30));

/// The number of the frame pointer, where calls can be recognised.
#[cfg(target_arch = "x86_64")]
const FRAME_POINTER: Option<u16> = Some(6);
#[cfg(target_arch = "aarch64")]
const FRAME_POINTER: Option<u16> = None;
/// The search for the end of a frame looks at so many words.
const WORDS: u64 = 512;

/// The state of a thread within a function.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    /// The next instruction.
    pub(crate) pc: u64,
    /// The values of the registers, in the order of the tables; `None` if one is not known.
    pub(crate) values: [Option<u64>; REGISTERS],
}

impl Registers {
    /// Those that the system tells of a thread which sleeps.
    pub(crate) fn outside(pc: u64, stack_pointer: u64) -> Self {
        let mut values = [None; REGISTERS];
        values[NUMBERS.0] = Some(stack_pointer);
        Self { pc, values }
    }

    pub(crate) fn stack_pointer(&self) -> u64 {
        self.values[NUMBERS.0].unwrap_or(0)
    }
}

/// Returns an address in each function that the thread is in, the innermost one first. `stack` is a copy of
/// the memory at the stack pointer.
pub(crate) fn callers(mut registers: Registers, stack: &[u8]) -> Vec<u64> {
    let bottom = registers.stack_pointer();
    let read = |address: u64| {
        let offset = usize::try_from(address.checked_sub(bottom)?).ok()?;
        let bytes = stack.get(offset..offset.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    // A thread is within the instruction; a caller's next instruction may be in another function.
    let mut within = registers.pc;
    let mut found = vec![within];
    while found.len() < FRAMES {
        let is_innermost = found.len() == 1;
        let mut caller = None;
        in_module(within, |module| {
            caller = module.caller(within, &registers, is_innermost, &read);
        });
        let Some(caller) = caller.filter(|caller| caller.pc > 1) else {
            break;
        };
        // A stack without an end would have a frame twice.
        if !is_innermost && caller.stack_pointer() <= registers.stack_pointer() {
            break;
        }
        registers = caller;
        within = registers.pc - 1;
        found.push(within);
    }
    found
}

/// The tables of a loaded library, or of the program.
struct Module<'a> {
    bases: BaseAddresses,
    header: EndianSlice<'a, NativeEndian>,
    /// The bytes from the table's begin to the end of its segment.
    table: EndianSlice<'a, NativeEndian>,
}

impl Module<'_> {
    /// Returns the registers of the caller of the function at this address.
    fn caller(
        &self,
        address: u64,
        registers: &Registers,
        is_innermost: bool,
        read: &impl Fn(u64) -> Option<u64>,
    ) -> Option<Registers> {
        let header = EhFrameHdr::from(self.header);
        let header = header.parse(&self.bases, 8).ok()?;
        let frames = EhFrame::from(self.table);
        let get_cie = EhFrame::cie_from_offset;
        let function = header
            .table()?
            .fde_for_address(&frames, &self.bases, address, get_cie)
            .ok()?;
        let mut context = UnwindContext::new();
        let row = function
            .unwind_info_for_address(&frames, &self.bases, &mut context, address)
            .ok()?;
        let value = |register: Register| *registers.values.get(usize::from(register.0))?;
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => match value(*register) {
                Some(value) => value.wrapping_add_signed(*offset),
                None if Some(register.0) == FRAME_POINTER => {
                    let start = function.initial_address();
                    end_of_frame(start, registers.stack_pointer(), read)?
                }
                None => return None,
            },
            CfaRule::Expression(_) => return None,
        };
        let before = |register: Register| match row.register(register) {
            RegisterRule::Offset(offset) => read(frame.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Some(frame.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => value(other),
            RegisterRule::SameValue => value(register),
            _ => None,
        };
        let (stack_pointer, link) = NUMBERS;
        let mut caller = *registers;
        for (number, value) in caller.values.iter_mut().enumerate() {
            // A register without a rule, or with one that needs more than the copy, keeps its value.
            *value = before(Register(number as u16)).or(*value);
        }
        caller.values[stack_pointer] = Some(frame);
        // Only the innermost function may have saved it nowhere.
        let link = link.filter(|_| is_innermost);
        let unsaved = link.and_then(|link| registers.values[link]);
        caller.pc = before(function.cie().return_address_register()).or(unsaved)?;
        Some(caller)
    }
}

/// Returns the end of the frame of the function that begins at `start`: the nearest place on the stack behind the
/// address of an instruction that follows a call of it.
fn end_of_frame(start: u64, bottom: u64, read: &impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let mut places = (0..WORDS).map(|word| bottom.wrapping_add(8 * word));
    let place = places.find(|&place| read(place).is_some_and(|address| calls(address, start)))?;
    Some(place + 8)
}

/// Returns `true` if the instruction before this address calls the function that begins at `start`.
fn calls(address: u64, start: u64) -> bool {
    /// The length of the longer one of the two instructions.
    const LENGTH: usize = 6;
    let mut is_code = false;
    in_module(address, |_| is_code = true);
    let Some(before) = address.checked_sub(LENGTH as u64).filter(|_| is_code) else {
        return false;
    };
    let bytes = memory(before, LENGTH);
    let [first, second, distance @ ..] = &*bytes else {
        return false;
    };
    let Ok(distance) = <[u8; 4]>::try_from(distance) else {
        return false;
    };
    let target = address.wrapping_add_signed(i32::from_le_bytes(distance).into());
    match (first, second) {
        (_, 0xe8) => target == start,
        // Through a table of addresses.
        (0xff, 0x15) => is_in_table(target, start),
        // `distance` ends with the instruction.
        _ => matches!(distance, [_, _, 0xff, 0xd0..=0xd7]) && is_loaded_before(address, start),
    }
}

/// Returns `true` if an instruction shortly before this address loads `start` into a register. So calls a program that the
/// compiler has not optimised.
fn is_loaded_before(address: u64, start: u64) -> bool {
    /// The distance in which such an instruction is.
    const NEAR: u64 = 64;
    /// Its length.
    const LENGTH: u64 = 7;
    let Some(first) = address.checked_sub(NEAR) else {
        return false;
    };
    let bytes = memory(first, NEAR as usize);
    let mut all = (first + LENGTH..).zip(bytes.windows(LENGTH as usize));
    all.any(|(next, instruction)| {
        let &[0x48 | 0x4c, code, register, ref distance @ ..] = instruction else {
            return false;
        };
        let Ok(distance) = <[u8; 4]>::try_from(distance) else {
            return false;
        };
        let target = next.wrapping_add_signed(i32::from_le_bytes(distance).into());
        // A distance from the next instruction.
        let is_near = register & 0xc7 == 0x05;
        match code {
            // The address itself, or one from a table.
            0x8d => is_near && target == start,
            0x8b => is_near && is_in_table(target, start),
            _ => false,
        }
    })
}

/// Returns `true` if the word at this address of the program, or of a library, is `start`.
fn is_in_table(place: u64, start: u64) -> bool {
    let mut is_known = false;
    in_module(place, |_| is_known = true);
    is_known && memory(place, 8) == start.to_le_bytes()
}

/// Calls `use_it` with the module that has this address, if there is one.
fn in_module(address: u64, use_it: impl FnMut(&Module<'_>)) {
    let mut search = Search { address, use_it };
    // SAFETY: the callback gets the pointer to `search`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit_for(&search)), (&raw mut search).cast()) };
}

struct Search<F> {
    address: u64,
    use_it: F,
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// Returns the callback for a search of this type.
fn visit_for<F: FnMut(&Module<'_>)>(_: &Search<F>) -> Visit {
    visit::<F>
}

/// # Safety
///
/// `info` is from `dl_iterate_phdr`, and `search` points to a `Search<F>`.
unsafe extern "C" fn visit<F: FnMut(&Module<'_>)>(
    info: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `info` is from `dl_iterate_phdr`, and `search` points to a `Search<F>` (see `# Safety`).
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<F>>()) };
    // SAFETY: the loader's list has this many headers.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let first = info.dlpi_addr.wrapping_add(header.p_vaddr);
        first..first.saturating_add(header.p_memsz)
    };
    let segment = |address: u64| {
        let mut loaded = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        loaded.find_map(|header| Some(range(header)).filter(|range| range.contains(&address)))
    };
    if segment(search.address).is_none() {
        return 0;
    }
    // SAFETY: the part of a loaded segment is mapped and readable while the loader's lock is held, and
    // nothing writes these tables.
    let bytes = |from: u64, to: u64| unsafe {
        EndianSlice::new(
            slice::from_raw_parts(from as *const u8, (to - from) as usize),
            NativeEndian,
        )
    };
    let mut found = || {
        let header = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
        let header = range(header?);
        let inside = segment(header.start)?;
        let slice = bytes(header.start, header.end.min(inside.end));
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.start);
        let parsed = EhFrameHdr::from(slice).parse(&bases, 8).ok()?;
        let Pointer::Direct(table) = parsed.eh_frame_ptr() else {
            return None;
        };
        (search.use_it)(&Module {
            bases: bases.set_eh_frame(table),
            header: slice,
            table: bytes(table, segment(table)?.end),
        });
        Some(())
    };
    // The address is in no other module.
    _ = found();
    1
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Returns code that loads this function's address into a register, with `code` and a distance, and calls it 20 bytes later.
    fn call(code: u8, place: impl Fn(u64) -> u64) -> Vec<u8> {
        let mut bytes = vec![0x90; 128];
        let next = bytes.as_ptr() as u64 + 107;
        let distance = place(next).wrapping_sub(next) as i32;
        bytes[100..103].copy_from_slice(&[0x48, code, 0x05]);
        bytes[103..107].copy_from_slice(&distance.to_le_bytes());
        bytes
    }

    #[test]
    fn a_call_through_a_register_is_known_by_the_instruction_that_loads_it() {
        let function = |next| next + 1_000;
        let loads = call(0x8d, function);
        let after = loads.as_ptr() as u64 + 127;
        let start = loads.as_ptr() as u64 + 107 + 1_000;
        assert!(is_loaded_before(after, start));
        assert!(!is_loaded_before(after, start + 1));
        // Before it, and another instruction.
        assert!(!is_loaded_before(after - 40, start));
        let other = call(0x89, function);
        let start = other.as_ptr() as u64 + 107 + 1_000;
        assert!(!is_loaded_before(other.as_ptr() as u64 + 127, start));
    }
}
