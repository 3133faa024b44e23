//! Interfaces that are shared: what was asked for, and telling packets by process ([`lull_bpf::PacketClasses`]).

use std::io;
use std::os::fd::BorrowedFd;

use anyhow::{Context, bail};
use lull_bpf::PacketClasses;
use lull_core::proportional::srp::Amount;
use lull_linux::gate::qdisc::{QdiscPlan, each_once, rate_text, run_tool, tool};
use lull_linux::probe::cgroups::v2_mount;
use lull_linux::reserve::net::{Classifier, Plan};
use lull_linux::reserve::{Input, Told};
use lull_linux::root::Root;

/// Names in the mount that are no interface's.
const TAKEN: [&str; 5] = ["cpu", "mem", "proc", "log", "status"];

struct ByProcess(PacketClasses);

impl Classifier for ByProcess {
    fn put(&mut self, pid: u32, class: u32) -> io::Result<()> {
        self.0.put(pid, class).map_err(io::Error::other)
    }

    fn bound_input(&mut self, class: u32, most: Amount) -> io::Result<()> {
        self.0.bound(class, most).map_err(io::Error::other)
    }

    fn input(&self, class: u32) -> Input {
        let lull_bpf::Input { packets, bytes, refused } = self.0.input(class);
        Input { packets, bytes, refused }
    }

    fn forget(&mut self, class: u32) {
        self.0.forget(class);
    }

    fn put_socket(&mut self, socket: BorrowedFd<'_>, class: u32) -> io::Result<()> {
        self.0.put_socket(socket, class).map_err(io::Error::other)
    }

    fn of_socket(&self, socket: BorrowedFd<'_>) -> Option<u32> {
        self.0.of_socket(socket)
    }

    fn processes(&self) -> Vec<(u32, u32)> {
        self.0.processes()
    }
}

/// The options again, for the process that serves.
pub(super) fn options(plans: &[QdiscPlan]) -> Vec<String> {
    let rate =
        |plan: &QdiscPlan| plan.rate_kbit.map_or_else(String::new, |rate| format!(":{}", rate_text(rate)));
    plans.iter().map(|plan| format!("--net={}{}", plan.interface, rate(plan))).collect()
}

/// What the enforcers need.
pub(super) fn plans(asked: &[QdiscPlan]) -> anyhow::Result<Vec<Plan>> {
    let mut all = Vec::new();
    for asked in each_once(asked.iter().cloned()).map_err(anyhow::Error::msg)? {
        let name = &asked.interface;
        let Some(rate_kbit) = asked.rate_kbit else {
            bail!(
                "--net {name}: give what may leave it, like {name}:100mbit: without a rate there is nothing to share"
            );
        };
        if TAKEN.contains(&name.as_str()) {
            bail!(
                "--net {name}: an interface of this name cannot be shared: the mount has another file there"
            );
        }
        let root = v2_mount(&Root::real()).context("--net takes a mount of cgroup v2")?;
        let classify = move |index| {
            let classes = PacketClasses::load(&root, index).map_err(|error| error.to_string())?;
            Ok(Box::new(ByProcess(classes)) as Box<dyn Classifier>)
        };
        // Kilobits to bytes.
        let rate = rate_kbit * 125;
        all.push(Plan { interface: asked.interface, rate, classify: Box::new(classify) });
    }
    Ok(all)
}

/// Whether interfaces can be reserved here; nothing is arranged.
pub(crate) fn tell() -> Told {
    let name = "interfaces".to_owned();
    let missing = match v2_mount(&Root::real()) {
        None => Some("no cgroup v2 is mounted".to_owned()),
        Some(_) => PacketClasses::try_load().err().map(|error| error.to_string()),
    };
    match missing.or_else(|| run_tool(tool("tc -V")).err().map(|why| format!("tc: {why}"))) {
        Some(means) => Told { name, enforced: false, means },
        None => Told {
            name,
            enforced: true,
            means: "HTB for what leaves, early drop of what comes, where `lull reserve mount --net IFACE:RATE` names one".to_owned(),
        },
    }
}
