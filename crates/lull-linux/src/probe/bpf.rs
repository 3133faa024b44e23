//! May this process observe block events with BPF programs?
//!
//! Three things are needed: type information of the kernel (BTF), the right to create maps (CAP_BPF), and the right to
//! load tracing programs (CAP_PERFMON); CAP_SYS_ADMIN stands for both. Security modules and lockdown can refuse even
//! then, so a one-element map and a two-instruction program are really created, and closed at once.
//!
//! Source: bpf(2), `Documentation/admin-guide/sysctl/kernel.rst` (unprivileged_bpf_disabled).

use std::ffi::c_long;
use std::os::fd::{FromRawFd, OwnedFd};

use serde::Serialize;

use super::Attempt;
use super::child::errno_of;
use crate::root::Root;

const BPF_MAP_CREATE: c_long = 0;
const BPF_PROG_LOAD: c_long = 5;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
/// The array can be mapped into memory: readable without system calls.
const BPF_F_MMAPABLE: u32 = 1 << 10;
/// `r0 = 0; exit`
const INSTRUCTIONS: [u64; 2] = [0xb7, 0x95];

/// What of BPF can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BpfFacts {
    /// Does the kernel carry its own type information?
    pub btf: bool,
    /// The sysctl: 0 allowed to all, 1 off for good, 2 off.
    pub unprivileged_disabled: Option<u8>,
    /// Creating a memory-mapped map.
    pub map: Attempt,
    /// Loading a tracing program.
    pub tracing: Attempt,
}

impl BpfFacts {
    /// Reads and tries.
    pub fn read(root: &Root) -> Self {
        Self {
            btf: root.has("/sys/kernel/btf/vmlinux"),
            unprivileged_disabled: root.number("/proc/sys/kernel/unprivileged_bpf_disabled"),
            map: Attempt::from_errno(try_map()),
            tracing: Attempt::from_errno(try_tracing()),
        }
    }

    /// Can block events be observed?
    pub fn usable(&self) -> bool {
        self.btf && self.map.works() && self.tracing.works()
    }
}

/// The head of `union bpf_attr` for BPF_MAP_CREATE; the kernel takes missing fields as zero.
#[repr(C)]
struct MapAttr {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
}

/// The head of `union bpf_attr` for BPF_PROG_LOAD.
#[repr(C)]
struct ProgAttr {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
}

fn try_map() -> i32 {
    let attr = MapAttr {
        map_type: BPF_MAP_TYPE_ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        map_flags: BPF_F_MMAPABLE,
    };
    bpf(BPF_MAP_CREATE, &attr)
}

fn try_tracing() -> i32 {
    let license = c"GPL";
    let attr = ProgAttr {
        prog_type: BPF_PROG_TYPE_RAW_TRACEPOINT,
        insn_cnt: 2,
        insns: INSTRUCTIONS.as_ptr().addr() as u64,
        license: license.as_ptr().addr() as u64,
    };
    bpf(BPF_PROG_LOAD, &attr)
}

/// Makes the call, closes what it made, and returns the error number.
fn bpf<A>(command: c_long, attr: &A) -> i32 {
    // SAFETY: `attr` is the head of bpf_attr for this command, its size is given, and what it points to lives.
    let made = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attr), size_of::<A>()) };
    let errno = errno_of(made);
    if let (0, Ok(fd)) = (errno, i32::try_from(made)) {
        // SAFETY: the call succeeded, so this is a descriptor of our own and of nobody else.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    errno
}

#[cfg(test)]
mod tests;
