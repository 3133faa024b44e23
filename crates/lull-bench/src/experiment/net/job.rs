//! The background of a case, and what it needs at the other end of the link.
//!
//! | background | the job, on the left host | the right host |
//! |---|---|---|
//! | upload | `net-flood` | a port whose bytes are counted |
//! | download | `net-fetch`, which counts itself | a port that sends without end |
//! | rsync | `rsync` of 128-KiB files to a daemon, over and over, each file counted as it is sent | the daemon, from memory to memory |
//!
//! rsync neither marks its packets nor chooses a congestion control. Where a contender is one or the other, its connections are told
//! by the daemon's address, which nothing else has, as root would do it: with a filter of the queue, with a route.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ChildStdout;

use super::case::{Background, Case};
use crate::contender::Contender;
use crate::error::Context;
use crate::experiment::apps::case::script;
use crate::experiment::apps::server::{Place, free_address};
use crate::experiment::trial::{Meter, ProgressFile};
use crate::load::net::{Receiver, Sender};
use crate::netbed::Bed;
use crate::process::{Proc, Program};
use crate::progress::{self, Progress};
use crate::units::Bytes;
use crate::{Error, corpus};

/// What rsync copies: small files, so that its progress is steady.
const FILES: u64 = 256;
const FILE: Bytes = Bytes(128 * Bytes::KIB);

/// What has to live as long as the job.
#[derive(Default)]
pub(super) struct Kept {
    _progress: Option<ProgressFile>,
    _receiver: Option<Receiver>,
    _sender: Option<Sender>,
    _daemon: Option<(Proc, ChildStdout)>,
    _directory: Option<tempfile::TempDir>,
}

/// A job that is ready.
pub(super) struct Prepared {
    /// What is started on the left host, without control.
    pub(super) argv: Vec<OsString>,
    pub(super) meter: Meter,
    /// Whether it ends with its standard input.
    pub(super) leash: bool,
    pub(super) kept: Kept,
}

/// Makes the job of a case ready.
pub(super) fn prepare(
    case: &Case,
    contender: &Contender,
    bed: &Bed,
    program: &Program,
) -> Result<Prepared, Error> {
    let right = bed.right.namespace();
    match case.background {
        Background::Upload(protocol) => {
            let (file, progress) = ProgressFile::create()?;
            let arrived = Progress::open(file.path())?;
            let receiver = Receiver::start(right, bed.right.v4(), protocol, move |bytes| arrived.add(bytes))?;
            Ok(Prepared {
                argv: program.load_argv(case.flood(protocol, receiver.address(), contender)),
                meter: Meter::Progress(Box::new(progress)),
                leash: false,
                kept: Kept { _progress: Some(file), _receiver: Some(receiver), ..Kept::default() },
            })
        }
        Background::Download => {
            let (file, progress) = ProgressFile::create()?;
            let sender = Sender::start(right, bed.right.v4())?;
            Ok(Prepared {
                argv: program.load_argv(case.fetch(sender.address(), file.path(), contender)),
                meter: Meter::Progress(Box::new(progress)),
                leash: false,
                kept: Kept { _progress: Some(file), _sender: Some(sender), ..Kept::default() },
            })
        }
        Background::Rsync => rsync(case, contender, bed),
    }
}

fn rsync(case: &Case, contender: &Contender, bed: &Bed) -> Result<Prepared, Error> {
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
    Ok(Prepared {
        argv: ["sh", "-c", &script(&body, 1)].map(OsString::from).to_vec(),
        meter: Meter::Lines(Box::new(|line| line.trim().parse().unwrap_or(0))),
        leash: true,
        kept: Kept { _daemon: Some(daemon), _directory: Some(directory), ..Kept::default() },
    })
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
    let words = ["rsync", "--daemon", "--no-detach", "--config"].map(OsString::from);
    let mut argv = words.to_vec();
    argv.push(configuration.into());
    argv.extend(["--address".into(), address.ip().to_string().into()]);
    argv.extend(["--port".into(), address.port().to_string().into()]);
    place.launch(["setpriv", "--pdeathsig", "TERM"].map(OsString::from).to_vec(), argv, || {
        place.connects(address)
    })
}
