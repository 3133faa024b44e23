//! Observers of foreground and background requests in the kernel.
//!
//! Small BPF programs on the block tracepoints (BTF-typed, so no kprobes and no kernel headers are needed) keep one
//! record per device in memory-mapped arrays: what is in service per class, when the last foreground request began
//! and ended, state × event counters, and latency histograms split by "background in service on arrival". Reading a
//! record costs no system call, so a gate can decide in well under a microsecond.
//!
//! | file | idea |
//! |---|---|
//! | `bpf/lull_record.h` | the record, shared by BPF, C and Rust |
//! | `bpf/lull_policy.h` | the two pure functions of the policy that the kernel counts with |
//! | `bpf/block.bpf.c` | the programs |
//! | [`record`] | the record in Rust |
//! | [`sensor`] | loading, watching a device, waking |

pub mod record;
pub mod sensor;

pub use sensor::{BlockSensor, Device, DeviceReport, Protect, SensorError};
