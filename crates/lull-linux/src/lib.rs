//! What lull needs from Linux, without a decision and without a word printed.
//!
//! | module | idea |
//! |---|---|
//! | [`root`] | the `/` under which `/proc` and `/sys` are read, so that tests can put a tree of their own there |
//! | [`topology`] | which disks really serve a file: partitions, loop, dm, md, btrfs and overlay seen through |
//! | [`attempt`] | how an attempt to use something of the kernel's ended |
//! | [`probe`] | facts: what this kernel, this user and each disk support, found by trying |
//! | [`marks`] | the class marks of a background job, chosen by the facts and set between fork and exec |
//! | [`cgroup`] | the job's control groups on pure v2, hybrid and v1 hosts: freeze, idle CPU class, clean removal |
//! | [`leftovers`] | freeing and removing the groups of a lull that was killed |
//! | [`reserve`] | reservations kept by control groups: CPU time and memory |
//! | [`systemd`] | asking systemd for a scope in which a job stands at the top of the tree |
//! | [`tun`] | network interfaces whose other end is a descriptor |
//! | [`clock`] | the monotonic clock |
//! | [`stop`] | the flag that SIGINT, SIGTERM and SIGHUP raise |
//! | [`proc`] | processes, threads and single values of `/proc` |
//! | [`sense`] | observations of a disk where no BPF program may be loaded |
//! | [`seccomp`] | trapping system calls of the job and letting them go on |
//! | [`gate`] | what a trapped call is about, and whether the page cache would serve it |
//! | [`job`] | the processes around a job: shared memory, descriptor passing, the guardian |

pub mod attempt;
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
