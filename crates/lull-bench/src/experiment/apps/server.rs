//! The applications, started and stopped by the harness on ports and directories of their own.
//!
//! | application | server | load |
//! |---|---|---|
//! | `postgres` | a cluster of its own, made by initdb, filled by `pgbench -i -s 10`, on a socket in its directory | pgbench at a rate |
//! | `redis` | `redis-server`, append-only file that is never rewritten, loopback | [`client`](crate::load::client) at a constant rate |
//! | `nginx` | two workers, 64 files of 64 KiB, loopback | the same over HTTP keep-alive |
//! | `edit` | none | [`edit`](crate::load::edit) |
//!
//! A server ends when it is dropped, and by a signal of the kernel when the harness is killed (`setpriv
//! --pdeathsig`). PostgreSQL refuses to run as root: root runs it as the user `postgres`, who must be able to
//! enter the directory.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;

use lull_core::Nanos;
use lull_linux::sense::processes;

use super::args::{App, AppsArgs};
use super::packages;
use crate::error::Context;
use crate::experiment::trial::Foreground;
use crate::netbed::Host;
use crate::process::{Options, POLL, Proc, shown, words};
use crate::units::Bytes;
use crate::{Error, clock, corpus, stop};

/// How long a server may take to answer.
const READY: Nanos = Nanos::from_secs(30);
/// Files that nginx serves.
const FILES: u64 = 64;
const FILE_SIZE: Bytes = Bytes(64 * Bytes::KIB);
/// pgbench's scale: about 150 MB.
const SCALE: &str = "10";
/// Who runs PostgreSQL when root may not.
const POSTGRES_USER: &str = "postgres";

/// A running application: what its load has to be told.
pub struct Server {
    load: Vec<OsString>,
    /// How it was made and started, as one would type it.
    commands: Vec<String>,
    /// Its process and the pipe that it writes to.
    process: Option<(Proc, ChildStdout)>,
}

fn path(program: &str) -> Result<OsString, Error> {
    let missing = || Error::Unmet { what: program.to_owned(), detail: "it is not installed".to_owned() };
    packages::find(program).map(PathBuf::into_os_string).ok_or_else(missing)
}

/// Where a server runs: its host and an empty directory.
pub struct Place<'a> {
    /// One of a test network; `None`: this machine's loopback.
    pub host: Option<&'a Host>,
    /// Where its files are.
    pub directory: &'a Path,
}

impl Place<'_> {
    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        match self.host {
            None => Ok(work()),
            Some(host) => host.namespace().inside(work),
        }
    }

    /// Whether something listens at this address.
    pub fn connects(&self, address: SocketAddr) -> bool {
        self.inside(|| TcpStream::connect(address).is_ok()).unwrap_or(false)
    }

    /// Starts `argv` there, to end with the harness, and waits until `answers`.
    ///
    /// # Errors
    /// When it ends or does not answer in time.
    pub fn launch(
        &self,
        privileges: Vec<OsString>,
        argv: Vec<OsString>,
        answers: impl Fn() -> bool,
    ) -> Result<(Proc, ChildStdout), Error> {
        let entering = self.host.map(Host::entering).unwrap_or_default();
        let whole = [entering, privileges, argv].concat();
        let (mut process, stdout) = Proc::spawn(&whole, Options::default())?;
        let deadline = clock::now().plus(READY);
        while !answers() {
            stop::check()?;
            if let Some(exit) = process.poll()? {
                return Err(process.failed(&format!("the server ended with {}", exit.status)));
            }
            if clock::now() >= deadline {
                return Err(process.failed("the server does not answer"));
            }
            std::thread::sleep(POLL);
        }
        Ok((process, stdout))
    }
}

/// An address of that place where nobody listens.
///
/// # Errors
/// When the host cannot be entered or has no free port.
pub fn free_address(place: &Place<'_>) -> Result<SocketAddr, Error> {
    let own = place.host.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), Host::v4);
    let any = SocketAddr::new(own, 0);
    let bound = place.inside(|| TcpListener::bind(any).and_then(|listener| listener.local_addr()))?;
    bound.to("find a free port")
}

/// A directory that is empty.
fn fresh(directory: &Path) -> Result<(), Error> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).at("empty", directory)?;
    }
    std::fs::create_dir_all(directory).at("create", directory)
}

fn run(argv: &[OsString]) -> Result<(), Error> {
    let (mut process, _stdout) = Proc::spawn(argv, Options::default())?;
    let exit = process.wait()?;
    if exit.status.success() { Ok(()) } else { Err(process.failed(&exit.status.to_string())) }
}

impl Server {
    /// Starts an application in `directory`, which it empties.
    pub fn start(app: App, args: &AppsArgs, directory: &Path) -> Result<Self, Error> {
        fresh(directory)?;
        let directory = &directory.canonicalize().at("find", directory)?;
        let place = Place { host: None, directory };
        match app {
            App::Redis => {
                let mut server = Self::redis(&place, args.redis_rate)?;
                if let Some(half) = args.redis_waves {
                    server.load.extend(["--waves".into(), half.to_string().into()]);
                }
                Ok(server)
            }
            App::Nginx => Self::nginx(&place, args.nginx_rate, args.common.seed),
            App::Postgres => Self::postgres(args, &place),
            App::Edit => {
                let mut load = words("app-edit --project");
                load.push(directory.join("project").into_os_string());
                Ok(Self { load, commands: Vec::new(), process: None })
            }
        }
    }

    /// How it was made and started, as one would type it.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// What loads it in this round.
    pub fn foreground(&self, seed: u64, round: u32) -> Foreground {
        Foreground::of(self.load.clone()).in_round(seed, round)
    }

    fn client(protocol: &str, address: SocketAddr, rate: u64, items: u64) -> Vec<OsString> {
        words(&format!("app-client --protocol {protocol} --address {address} --rate {rate} --items {items}"))
    }

    /// Redis, asked at this rate per second.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn redis(place: &Place<'_>, rate: u64) -> Result<Self, Error> {
        let address = free_address(place)?;
        let mut argv = vec![path("redis-server")?];
        // Without a password it would serve the loopback device alone.
        let protected = if place.host.is_some() { "no" } else { "yes" };
        argv.extend(words(&format!("--bind {} --protected-mode {protected} --save", address.ip())));
        argv.push("".into());
        // It would rewrite its log, a job of its own, in those runs in which the log happens to have grown
        // enough.
        argv.extend(words("--appendonly yes --logfile log --auto-aof-rewrite-percentage 0"));
        argv.extend(words(&format!("--port {} --dir", address.port())));
        argv.push(place.directory.into());
        let commands = vec![shown(&argv)];
        let process = place.launch(words("setpriv --pdeathsig TERM"), argv, || place.connects(address))?;
        let load = Self::client("redis", address, rate, 10_000);
        Ok(Self { load, commands, process: Some(process) })
    }

    /// nginx, asked at this rate per second.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn nginx(place: &Place<'_>, rate: u64, seed: u64) -> Result<Self, Error> {
        let (address, directory) = (free_address(place)?, place.directory);
        for file in 0..FILES {
            corpus::data_file(&directory.join(format!("www/f{file}")), FILE_SIZE, seed + file)?;
        }
        let at = directory.display();
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String = kinds.map(|kind| format!("  {kind}_temp_path {at}/{kind};\n")).concat();
        let user = if nix::unistd::geteuid().is_root() { "user root;\n" } else { "" };
        let text = format!(
            "{user}daemon off;\nworker_processes 2;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\nevents {{}}\n\
             http {{\n{temporary}  access_log off;\n  sendfile on;\n  keepalive_requests 1000000000;\n  \
             keepalive_timeout 3600s;\n  server {{ listen {address}; root {at}/www; }}\n}}\n"
        );
        let configuration = directory.join("nginx.conf");
        let written = format!("cat > {} <<'END'\n{text}END", configuration.display());
        std::fs::write(&configuration, text).at("write", &configuration)?;
        let argv = vec![path("nginx")?, "-p".into(), directory.into(), "-c".into(), configuration.into()];
        let commands = vec![written, shown(&argv)];
        let process = place.launch(words("setpriv --pdeathsig TERM"), argv, || place.connects(address))?;
        let load = Self::client("http", address, rate, FILES);
        Ok(Self { load, commands, process: Some(process) })
    }

    fn postgres(args: &AppsArgs, place: &Place<'_>) -> Result<Self, Error> {
        let directory = place.directory;
        let mut privileges: Vec<OsString> = vec!["setpriv".into()];
        if nix::unistd::geteuid().is_root() {
            let unmet = |detail: String| Error::Unmet { what: format!("user {POSTGRES_USER}"), detail };
            let user = nix::unistd::User::from_name(POSTGRES_USER)
                .ok()
                .flatten()
                .ok_or_else(|| unmet("PostgreSQL does not run as root; install postgresql".to_owned()))?;
            nix::unistd::chown(directory, Some(user.uid), Some(user.gid)).at("give PostgreSQL", directory)?;
            privileges
                .extend(words(&format!("--reuid={POSTGRES_USER} --regid={POSTGRES_USER} --init-groups")));
        }
        let data = directory.join("data");
        let mut make = privileges.clone();
        make.push(path("initdb")?);
        make.extend(words("--auth=trust --no-sync --username=postgres -D"));
        make.push(data.clone().into());
        run(&make)?;
        let port = free_address(place)?.port();
        let socket = directory.join(format!(".s.PGSQL.{port}"));
        let mut argv = vec![path("postgres")?, "-D".into(), data.into(), "-k".into(), directory.into()];
        argv.extend(words(&format!("-c listen_addresses= -p {port}")));
        let mut commands = vec![shown(&make), shown(&[privileges.clone(), argv.clone()].concat())];
        // SIGINT is PostgreSQL's fast shutdown.
        privileges.extend(words("--pdeathsig INT"));
        let process =
            place.launch(privileges, argv, || std::os::unix::net::UnixStream::connect(&socket).is_ok())?;
        let pgbench = path("pgbench")?;
        let mut fill = vec![pgbench.clone(), "--host".into(), directory.into()];
        fill.extend(words(&format!(
            "--port {port} --username postgres --initialize --quiet --scale {SCALE} postgres"
        )));
        commands.push(shown(&fill));
        // A server that has just begun to listen may still refuse.
        if run(&fill).is_err() {
            std::thread::sleep(std::time::Duration::from_secs(1));
            run(&fill)?;
        }
        let mut load = words("app-pgbench --socket");
        load.push(directory.into());
        load.extend(words(&format!("--port {port} --rate {} --pgbench", args.postgres_rate)));
        load.push(pgbench);
        Ok(Self { load, commands, process: Some(process) })
    }

    /// Processor time that it and its children have used so far; none for who edits, whose compilers the load
    /// accounts for.
    pub fn cpu_time(&self) -> Nanos {
        let family = |(process, _): &(Proc, ChildStdout)| processes::family(process.pid().as_raw());
        self.process.as_ref().map_or(Nanos::ZERO, |process| processes::usage(&family(process)).cpu)
    }

    /// Whether it still runs.
    pub fn check(&mut self) -> Result<(), Error> {
        let Some((process, _)) = &mut self.process else { return Ok(()) };
        match process.poll()? {
            None => Ok(()),
            Some(exit) => Err(process.failed(&format!("the server ended with {}", exit.status))),
        }
    }
}
