//! Changing a run while it runs: the supervisor's end of `lull set`.
//!
//! ```text
//!   lull set PID --mem-high 200M ──one line──▶ socket "lull-PID" ──▶ thresholds of the room's keeper
//!                                ◀─one line───  what is in force now, or after what it will be, or what is wrong
//! ```
//!
//! The socket has an abstract name (unix(7)): it is no file, so it is gone with its owner, also after kill -9. Such a name
//! knows no file rights. So the supervisor asks the kernel who is at the other end, and obeys its own user and root; and
//! `lull set` talks to nobody else either, since anybody may take a name. The names are those of a network namespace.
//!
//! `--release` goes another way: see [`release`](mod@super::release).
//!
//! The supervisor may outlive the job for a while, and who has no process left has nothing to set: that is refused.
//!
//! PID is the number of `lull run`, as the shell's `$!` gives it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use lull_api::Thresholds;
use lull_api::options::LowAboveHigh;
use lull_core::MemoryThresholds;
use lull_core::base::bytes::Bytes;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde::{Deserialize, Serialize};

use lull_engine::memory::thresholds::{Passed, Setter};
use lull_engine::thread;

/// How long either end waits for the other's line.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The longest line.
pub(crate) const LINE_BYTES: u64 = 4096;
/// Why there is nothing to set.
const NOT_MANAGED: &str =
    "its memory is not managed: --resources leaves it out, or it cannot be had here (see lull doctor)";

/// What is to be changed; what is left out stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) mem_low_bytes: Option<u64>,
    pub(crate) mem_high_bytes: Option<u64>,
    /// Whether what the command has left behind is let go.
    #[serde(default)]
    pub(crate) release: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is done; this is in force.
    Done(MemoryThresholds),
    /// It is kept, and will be in force after something else, which is named for a person.
    Waits(MemoryThresholds, String),
    /// So many processes were let go.
    Released(usize),
    /// It is not; why.
    Refused(String),
}

/// Asks the loop thread. Returns how many processes were let go.
pub(crate) type Asker = Box<dyn Fn() -> Result<usize, String> + Send>;

impl Request {
    /// What is in force after it, if that makes sense.
    fn over(self, now: MemoryThresholds) -> Result<MemoryThresholds, LowAboveHigh> {
        let low = self.mem_low_bytes.unwrap_or(now.low_bytes);
        // A high threshold that nobody ever gave follows the low one, as at the start.
        let is_apart = now.high_bytes != now.low_bytes;
        let high = self.mem_high_bytes.or_else(|| is_apart.then_some(now.high_bytes));
        Thresholds { mem_low: Some(Bytes(low)), mem_high: high.map(Bytes) }.setting()
    }
}

/// The name of a run's socket.
pub(crate) fn address(pid: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("lull-{pid}"))
}

/// Whether this user, or root, is at the other end.
pub(crate) fn is_trusted(stream: &UnixStream) -> bool {
    let own = nix::unistd::geteuid();
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == 0 || peer.uid() == own.as_raw())
}

/// One line from the other end.
pub(crate) fn read_line(stream: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES)).read_line(&mut line)?;
    Ok(line)
}

/// Serves a run's socket from a thread of its own, until the process ends. `set` is given what is to be in force from then on;
/// `None`: there is nothing to set. `release` lets go. `is_over` says whether the job has ended.
///
/// # Errors
/// When the name is taken.
pub(crate) fn serve(
    pid: u32,
    mut now: MemoryThresholds,
    set: Option<Setter>,
    release: Asker,
    is_over: impl Fn() -> bool + Send + 'static,
) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(pid)?)?;
    thread::start(move || {
        for stream in listener.incoming().flatten() {
            let answer = match (is_trusted(&stream), &set) {
                (false, _) => Answer::Refused("it belongs to another user".to_owned()),
                _ if is_over() => Answer::Refused("its job has ended".to_owned()),
                (true, set) => answer(&stream, &mut now, set.as_ref(), &release),
            };
            // Whoever asked may have gone.
            let _ = reply(&stream, &answer);
        }
    });
    Ok(())
}

fn answer(stream: &UnixStream, now: &mut MemoryThresholds, set: Option<&Setter>, release: &Asker) -> Answer {
    let asked = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| read_line(stream));
    let request =
        asked.map_err(anyhow::Error::from).and_then(|line| Ok(serde_json::from_str::<Request>(&line)?));
    if request.as_ref().is_ok_and(|request| request.release) {
        return release().map_or_else(Answer::Refused, Answer::Released);
    }
    let Some(set) = set else { return Answer::Refused(NOT_MANAGED.to_owned()) };
    match request.and_then(|request| Ok(request.over(*now)?)) {
        Ok(setting) => {
            let answer = match set(setting) {
                Passed::InForce => Answer::Done(setting),
                Passed::Waits(until) => Answer::Waits(setting, until),
                Passed::ToNobody => return Answer::Refused(NOT_MANAGED.to_owned()),
            };
            *now = setting;
            answer
        }
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn reply(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[cfg(test)]
mod tests;
