//! What the applications need: programs, and the packages that have them.
//!
//! What is missing is installed with apt-get, without questions, after saying so. A package's own service is
//! not started: while it is being installed a `policy-rc.d` forbids it, unless the machine has one of its
//! own. Without root or apt-get, or with `--no-install`, the line to type is part of the reason why a case is
//! left out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::args::{App, AppJob};
use crate::Error;
use crate::error::Context;

/// Asked by the packages' scripts before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Forbidden.
const REFUSE: &str = "#!/bin/sh\nexit 101\n";

/// A program, as looked for in the path, and the package of Debian and Ubuntu that has it.
pub type Need = (&'static str, &'static str);

/// What an application needs.
pub const fn of_app(app: App) -> &'static [Need] {
    match app {
        App::Postgres => &[("pgbench", "postgresql"), ("initdb", "postgresql"), ("setpriv", "util-linux")],
        App::Redis => &[("redis-server", "redis-server")],
        App::Nginx => &[("nginx", "nginx-light")],
        App::Edit => &[("gcc", "gcc"), ("make", "make")],
    }
}

/// What a background job needs.
pub const fn of_work(work: AppJob) -> &'static [Need] {
    match work {
        AppJob::Tar => &[("tar", "tar"), ("zstd", "zstd")],
        AppJob::Rsync => &[("rsync", "rsync")],
        AppJob::Checksum => &[("find", "findutils"), ("sha256sum", "coreutils")],
        AppJob::Compile => &[("gcc", "gcc"), ("make", "make")],
        AppJob::Bzip2 => &[("bzip2", "bzip2")],
        AppJob::Memory => &[],
        AppJob::Flood => &[("dd", "coreutils")],
    }
}

/// Where a program is: in the path, or where Debian keeps servers' programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    // The newest first, so that server and client fit.
    versions.sort();
    places.extend(versions.into_iter().rev());
    places.into_iter().map(|place| place.join(program)).find(|path| path.is_file())
}

/// Packages of what is missing among `needs`, each once.
pub fn missing<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Vec<&'static str> {
    let mut packages: Vec<&'static str> = Vec::new();
    for (program, package) in needs {
        if find(program).is_none() && !packages.contains(package) {
            packages.push(package);
        }
    }
    packages
}

/// What to say where something of it is missing; none where nothing is.
pub fn obstacle(needs: &[Need]) -> Option<String> {
    let lacks = missing(needs);
    (!lacks.is_empty()).then(|| format!("not installed; install with: {}", line(&lacks)))
}

/// The line that installs them.
pub fn line(packages: &[&str]) -> String {
    format!("apt-get install -y --no-install-recommends {}", packages.join(" "))
}

/// A `policy-rc.d` of ours; removed when dropped.
struct NoServices(Option<&'static Path>);

impl NoServices {
    fn forbid() -> Result<Self, Error> {
        use std::os::unix::fs::PermissionsExt;
        let path = Path::new(POLICY);
        if path.exists() {
            return Ok(Self(None));
        }
        std::fs::write(path, REFUSE).at("forbid services with", path)?;
        let guard = Self(Some(path));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
            .at("forbid services with", path)?;
        Ok(guard)
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // Nothing was installed through it if it is gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Installs the packages.
///
/// # Errors
/// When that needs root or apt-get, or apt-get fails; with the line to type.
pub fn install(packages: &[&str]) -> Result<(), Error> {
    let line = line(packages);
    let unmet = |detail: String| Error::Unmet { what: packages.join(", "), detail };
    if !nix::unistd::geteuid().is_root() || find("apt-get").is_none() {
        return Err(unmet(format!("install with: sudo {line}")));
    }
    eprintln!("installing what is missing: {line}");
    let _guard = NoServices::forbid()?;
    let run = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let arguments: Vec<&str> = line.split(' ').skip(1).collect();
    // Lists may be old or missing: a second try with new ones.
    if run(&arguments) || (run(&["update"]) && run(&arguments)) {
        Ok(())
    } else {
        Err(unmet(format!("apt-get failed; try: {line}")))
    }
}

#[cfg(test)]
mod tests;
