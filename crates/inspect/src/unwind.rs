//! Finds the callers of a thread from a copy of its registers and of its stack.
//!
//! The tables for exceptions (`.eh_frame`) of each loaded library say where a function has put its
//! caller's registers. They are in memory, and `.eh_frame_hdr` has their addresses in ascending order.
//! `dl_iterate_phdr` names both, and no library is unloaded until the callback has returned.
//!
//! Nothing is read through an address of the stack: a value of the stack is taken from the copy, or not
//! at all. So a wrong table ends the list of callers too early, and does no more harm.

use std::ffi::{c_int, c_void};
use std::slice;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, Pointer, Register,
    RegisterRule, UnwindContext, UnwindSection,
};

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

/// The state of a thread within a function.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    /// The next instruction.
    pub(crate) pc: u64,
    /// The values of the registers, in the order of the tables.
    pub(crate) values: [u64; REGISTERS],
}

impl Registers {
    pub(crate) fn stack_pointer(&self) -> u64 {
        self.values[NUMBERS.0]
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
        let value = |register: Register| registers.values.get(usize::from(register.0)).copied();
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                value(*register)?.wrapping_add_signed(*offset)
            }
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
            *value = before(Register(number as u16)).unwrap_or(*value);
        }
        caller.values[stack_pointer] = frame;
        // Only the innermost function may have saved it nowhere.
        let unsaved = link
            .filter(|_| is_innermost)
            .map(|link| registers.values[link]);
        caller.pc = before(function.cie().return_address_register()).or(unsaved)?;
        Some(caller)
    }
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
