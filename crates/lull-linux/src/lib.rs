//! What lull needs from Linux, without a decision and without a word printed.
//!
//! Each module imports only what stands above it in this table, or nothing.
//!
//! | module | idea |
//! |---|---|
//! | [`root`] | the `/` under which `/proc` and `/sys` are read, so that tests can put a tree of their own there |
//! | [`proc`] | processes, threads and single values of `/proc` |
//! | [`clock`] | the monotonic clock |
//! | [`stop`] | the flag that SIGINT, SIGTERM and SIGHUP raise |
//! | [`tun`] | network interfaces whose other end is a descriptor |
//! | [`attempt`] | how an attempt to use something of the kernel's ended |
//! | **the host** | |
//! | [`topology`] | which disks really serve a file: partitions, loop, dm, md, btrfs and overlay seen through; which CPUs share a core |
//! | [`cgroup`] | the job's control groups on pure v2, hybrid and v1 hosts: freeze, idle CPU class, clean removal |
//! | [`systemd`] | asking systemd for a scope in which a job stands at the top of the tree |
//! | [`probe`] | facts: what this kernel, this user and each disk support, found by trying |
//! | [`sense`] | observations where no BPF program may be loaded, and of memory and processes |
//! | **the job** | |
//! | [`marks`] | the class marks of a background job, chosen by the facts and set between fork and exec |
//! | [`seccomp`] | trapping system calls of the job and letting them go on |
//! | [`job`] | the processes around a job: shared memory, descriptor passing, the guardian |
//! | [`gate`] | ways to hold work or to move a knob: what a trapped call is about, CPUs, memory, pages, queues |
//! | **beside it** | |
//! | [`reserve`] | reservations kept by control groups, by a gate with YFQ, by HTB |
//! | [`leftovers`] | freeing and removing the groups of a lull that was killed |

pub mod attempt;
pub mod below;
pub mod cgroup;
pub mod clock;
pub mod gate;
pub mod job;
pub mod leftovers;
pub mod marks;
pub mod probe;
pub mod proc;
pub mod reserve;
pub mod root;
pub mod seccomp;
pub mod sense;
pub mod stop;
pub mod systemd;
pub mod topology;
pub mod tun;
