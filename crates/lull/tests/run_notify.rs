//! A service tells its manager that it is ready: the manager hears lull's first process, which it takes for the main one. The service is an
//! ignored test of this very file, run under lull; the manager is a socket of the test's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{IoSlice, IoSliceMut, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use common::{clean_text, finish, lull_run, new_marker, spawn_marked};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, UnixCredentials, recvmsg, sendmsg, setsockopt,
    sockopt,
};

/// Far longer than a message takes.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
#[ignore = "run by another test, under lull"]
fn service_that_is_ready() {
    let name = std::env::var("NOTIFY_SOCKET").unwrap();
    let to = match name.strip_prefix('@') {
        Some(name) => UnixAddr::new_abstract(name.as_bytes()).unwrap(),
        None => UnixAddr::new(name.as_str()).unwrap(),
    };
    let socket = UnixDatagram::unbound().unwrap();
    let text = format!("READY=1\nMAINPID={}\nSTATUS=up", std::process::id());
    let (reader, writer) = std::io::pipe().unwrap();
    let fds = [reader.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&fds)];
    let send = |text: &str, rights: &[ControlMessage<'_>]| {
        let slices = [IoSlice::new(text.as_bytes())];
        sendmsg(socket.as_raw_fd(), &slices, rights, MsgFlags::empty(), Some(&to)).unwrap();
    };
    send(&text, &rights);
    (&writer).write_all(b"by the descriptor").unwrap();
    // The last word of a service that ends at once is heard, too.
    send("STOPPING=1", &[]);
}

struct Manager(UnixDatagram);

/// Text, sender and descriptors.
type Heard = (String, i32, Vec<OwnedFd>);

impl Manager {
    fn on(socket: UnixDatagram) -> Self {
        setsockopt(&socket, sockopt::PassCred, &true).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        Self(socket)
    }

    fn hear(&self) -> Heard {
        let mut bytes = [0; 4096];
        let mut control = nix::cmsg_space!([i32; 8], UnixCredentials);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.0.as_raw_fd(), &mut slices, Some(&mut control), flags).unwrap();
        let (mut sender, mut fds) = (0, Vec::new());
        for part in message.cmsgs().unwrap() {
            match part {
                ControlMessageOwned::ScmCredentials(credentials) => sender = credentials.pid(),
                ControlMessageOwned::ScmRights(raw) => {
                    // SAFETY: the kernel has just made these descriptors.
                    fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
                _ => {}
            }
        }
        let length = message.bytes;
        (String::from_utf8_lossy(&bytes[..length]).into_owned(), sender, fds)
    }
}

fn a_service_is_heard(socket: UnixDatagram, name: &str) {
    let manager = Manager::on(socket);
    let own = std::env::current_exe().unwrap();
    let words = [own.to_str().unwrap(), "--ignored", "--exact", "--nocapture", "service_that_is_ready"];
    let child = spawn_marked(lull_run(&[], &words).env("NOTIFY_SOCKET", name), &new_marker());
    let front = i32::try_from(child.id()).unwrap();
    let (text, sender, mut fds) = manager.hear();
    assert_eq!((text.as_str(), sender), ("READY=1\nSTATUS=up", front));
    let mut pipe = std::fs::File::from(fds.pop().unwrap());
    let mut told = String::new();
    std::io::Read::read_to_string(&mut pipe, &mut told).unwrap();
    assert_eq!(told, "by the descriptor");
    assert_eq!(manager.hear().0, "STOPPING=1");
    clean_text(&finish(child));
}

#[test]
fn a_manager_hears_the_process_that_it_has_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    a_service_is_heard(UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap());
    let name = format!("lull-test-notify-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    a_service_is_heard(UnixDatagram::bind_addr(&address).unwrap(), &format!("@{name}"));
}

#[test]
fn without_a_manager_there_is_no_socket() {
    let told = clean_text(&common::output(
        lull_run(&[], &["sh", "-c", "echo ${NOTIFY_SOCKET-none}"]).env_remove("NOTIFY_SOCKET"),
    ));
    assert_eq!(told, "none\n");
    let other = "vsock:2:1234";
    let mut run = lull_run(&[], &["sh", "-c", "echo $NOTIFY_SOCKET"]);
    assert_eq!(clean_text(&common::output(run.env("NOTIFY_SOCKET", other))), format!("{other}\n"));
}
