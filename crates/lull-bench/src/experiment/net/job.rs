//! The background of a case, and what it needs at the other end of the link.
//!
//! | background | the job, on the left host | the right host |
//! |---|---|---|
//! | upload | `net-flood` | a port whose bytes are counted |
//! | download | `net-fetch`, which counts itself | a port that sends without end |
//! | rsync | `rsync` of 128-KiB files to a daemon, over and over, each file counted as it is sent | the daemon, from memory to memory |
//!
//! rsync neither marks its packets nor chooses a congestion control. Where a contender is one or the other,
//! its connections are told by the daemon's address, which nothing else has, as root would do it: with a
//! filter of the queue, with a route.

use std::any::Any;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ChildStdout;

use super::case::{Case, Transfer};
use crate::contender::Contender;
use crate::error::Context;
use crate::experiment::apps::case::script;
use crate::experiment::apps::server::{Place, free_address};
use crate::experiment::trial::{Job, Meter, ProgressFile};
use crate::load::net::{Receiver, Sender};
use crate::netbed::Bed;
use crate::process::{Proc, Program, words};
use crate::progress::{self, Progress};
use crate::units::Bytes;
use crate::{Error, corpus};

/// What rsync copies: small files, so that its progress is steady.
const FILES: u64 = 256;
const FILE: Bytes = Bytes(128 * Bytes::KIB);

/// Makes the job of a case ready: what is started on the left host, without control.
pub(super) fn prepare(
    case: &Case,
    contender: &Contender,
    bed: &Bed,
    program: &Program,
) -> Result<Job, Error> {
    let right = bed.right.namespace();
    match case.background {
        Transfer::Upload(protocol) => {
            let file = ProgressFile::create()?;
            let arrived = Progress::open(file.path())?;
            let receiver = Receiver::start(right, bed.right.v4(), protocol, move |bytes| arrived.add(bytes))?;
            let argv = program.load_argv(case.flood(protocol, receiver.address(), contender));
            let kept: Option<Box<dyn Any>> = Some(Box::new(receiver));
            Ok(Job { kept, ..Job::of(argv, Meter::Progress(Box::new(file))) })
        }
        Transfer::Download => {
            let sender = Sender::start(right, bed.right.v4())?;
            let job = Job::of_load(case.fetch(sender.address(), contender), program)?;
            Ok(Job { kept: Some(Box::new(sender)), ..job })
        }
        Transfer::Rsync => rsync(case, contender, bed),
    }
}

fn rsync(case: &Case, contender: &Contender, bed: &Bed) -> Result<Job, Error> {
    // In memory: no disk is part of the measurement.
    let memory = progress::directory();
    let directory = tempfile::Builder::new().prefix("lull-bench-").tempdir_in(&memory);
    let directory = directory.at("create a directory in", &memory)?;
    let [source, target] = ["source", "target"].map(|name| directory.path().join(name));
    for file in 0..FILES {
        corpus::data_file(&source.join(format!("f{file}")), FILE, file)?;
    }
    std::fs::create_dir(&target).at("create", &target)?;
    let place = Place { host: Some(&bed.right), directory: directory.path() };
    let congestion = match contender {
        Contender::Congestion(name) => Some(*name),
        _ => None,
    };
    let address = SocketAddr::new(bed.add_background_address(congestion)?, free_address(&place)?.port());
    let daemon = daemon(&place, address, &target)?;
    let body = format!(
        "rsync -a --whole-file --ignore-times --out-format=%l --outbuf=L {} {}/ rsync://{address}/in/",
        case.limit_of_rsync(contender),
        source.display()
    );
    let argv = ["sh", "-c", &script(&body, 1)].map(OsString::from).to_vec();
    let kept: Option<Box<dyn Any>> = Some(Box::new((daemon, directory)));
    Ok(Job { leash: true, kept, ..Job::of_lines(argv, |line| line.trim().parse().unwrap_or(0)) })
}

fn daemon(place: &Place<'_>, address: SocketAddr, target: &Path) -> Result<(Proc, ChildStdout), Error> {
    let at = place.directory.display();
    let text = format!(
        "use chroot = no\nuid = root\ngid = root\nlog file = {at}/log\nlock file = {at}/lock\n\
         [in]\npath = {}\nread only = no\n",
        target.display()
    );
    let configuration = place.directory.join("rsyncd.conf");
    std::fs::write(&configuration, text).at("write", &configuration)?;
    let mut argv = words("rsync --daemon --no-detach --config");
    argv.push(configuration.into());
    argv.extend(words(&format!("--address {} --port {}", address.ip(), address.port())));
    place.launch(words("setpriv --pdeathsig TERM"), argv, || place.connects(address))
}
