//! Observers of foreground and background in the kernel.
//!
//! Small BPF programs (BTF-typed, so no kprobes and no kernel headers are needed) on the block, scheduler, page-cache and network
//! tracepoints keep records in memory-mapped arrays: per disk, per network interface and for the CPUs, what is in service per class, when the foreground last
//! began and ended, and histograms of what the foreground feels, split by whether background was there. Reading a record
//! costs no system call, so a gate can decide in well under a microsecond.
//!
//! | module or file | idea |
//! |---|---|
//! | [`record`] | the records in Rust |
//! | [`load`] | loading programs, waking |
//! | [`sensor`] | disks |
//! | [`simulated`] | a disk without a kernel that observes it |
//! | [`recorder`] | disks, request by request |
//! | [`cpu`] | the CPUs |
//! | [`pages`] | the page cache |
//! | [`net`] | network interfaces |
//! | [`restart`] | trapped calls that begin again after a signal |
//! | [`classes`] | whose packets are in which class of an interface |
//! | `bpf/lull_record.h` | the records, shared by BPF, C and Rust |
//! | `bpf/lull_policy.h` | the pure functions that kernel and user space have in common |
//! | `bpf/lull_task.h` | the class of a task |
//! | `bpf/lull_serve.h` | who works for the background |
//! | `bpf/lull_interrupt.h` | whether an interrupt is above the current task |
//! | `bpf/lull_pages.h` | what is shared about the page cache |
//! | `bpf/lull_net.h` | the records of interfaces, whose a socket is |
//! | `bpf/lull_mark.h` | marking the job's sockets |
//! | `bpf/lull_idle.h` | the congestion control of background TCP |
//! | `bpf/lull_receive.h` | slowing what the job receives |
//! | `bpf/lull_tag.h` | what is background without being the job's |
//! | `bpf/lull_room.h` | letting datagrams wait |
//! | `bpf/block.bpf.c`, `bpf/sched.bpf.c`, `bpf/pages.bpf.c`, `bpf/net.bpf.c`, `bpf/reserve.bpf.c`, `bpf/restart.bpf.c` | the programs |

pub mod classes;
pub mod cpu;
pub mod load;
pub mod net;
pub mod pages;
pub mod record;
pub mod recorder;
pub mod restart;
pub mod sensor;
pub mod simulated;

pub use classes::{Input, PacketClasses};
pub use cpu::{Bursts, CpuClass, CpuReport, CpuSensor, CpuSettings, CpuSlot, CpuTotals, Cpus};
pub use load::{Observers, Protect, SensorError};
pub use net::tags::{PacketMark, PortRange, Tags};
pub use net::{Congestion, Interface, InterfaceReport, NetSensor, NetSettings};
pub use pages::{Chunk, PageCounts, PageSensor, PageSettings, Touched};
pub use recorder::{Recorded, Recorder};
pub use restart::Restart;
pub use sensor::{BlockSensor, Device, DeviceReport, Job};
