//! May this process hold a job's system calls (seccomp user notification)?
//!
//! The request gate needs: a filter with a listener (4.14/5.0), the answer "continue" (5.5), waits that only a fatal signal
//! ends (`WAIT_KILLABLE_RECV`, 5.19), and a wake-up on the caller's own CPU (`SYNC_WAKE_UP`, 6.6), which makes a held
//! call three times cheaper. A filter can't be taken off again, so a filter that allows everything is installed in a
//! forked child. There is at most one listener per process: under another `lull run`, or under a container runtime that
//! uses one, the trial fails with EBUSY.
//!
//! Source: seccomp(2), seccomp_unotify(2), `include/uapi/linux/seccomp.h`.

use serde::Serialize;

use super::child::{errno_of, in_child};
use super::{Attempt, Kernel};

const FD_SYNC_WAKE_UP: libc::c_ulong = 1;

/// What of seccomp user notification can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeccompFacts {
    /// Does the kernel know the action?
    pub user_notification: Attempt,
    /// Installing a filter with a listener, tried.
    pub listener: Attempt,
    /// Does the filter need no_new_privs, so that setuid programs in the job lose their rights?
    pub needs_no_new_privs: bool,
    /// Does a held call wait on when a signal comes that does not kill?
    pub wait_killable: bool,
    /// Does an answer wake the caller on the answering CPU?
    pub sync_wake_up: bool,
    /// May a held call be answered with "do it yourself"?
    pub can_continue: bool,
    /// Sizes in bytes of a notification, a response, and the described call.
    pub sizes_bytes: Option<(u16, u16, u16)>,
}

impl SeccompFacts {
    /// Asks and tries.
    pub fn read(kernel: &Kernel) -> Self {
        let (user_notification, sizes_bytes) = ask();
        let mut facts = Self {
            user_notification,
            listener: Attempt::fails("not tried"),
            needs_no_new_privs: false,
            wait_killable: false,
            sync_wake_up: false,
            can_continue: kernel.at_least(5, 5),
            sizes_bytes,
        };
        match in_child(install) {
            Ok([listener, privs, killable, sync]) => {
                facts.listener = match listener {
                    libc::EBUSY => Attempt::Fails {
                        errno: listener,
                        why: "another listener already holds this process's calls, and the kernel allows one (EBUSY)"
                            .to_owned(),
                    },
                    errno => Attempt::from_errno(errno),
                };
                let installed = listener == 0;
                facts.needs_no_new_privs = installed && privs != 0;
                facts.wait_killable = installed && killable == 0;
                facts.sync_wake_up = installed && sync == 0;
            }
            Err(error) => facts.listener = Attempt::fails(format!("the trial could not run: {error}")),
        }
        facts
    }

    /// Can a request gate be had?
    pub fn usable(&self) -> bool {
        self.listener.works() && self.can_continue
    }
}

fn ask() -> (Attempt, Option<(u16, u16, u16)>) {
    let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the kernel reads one u32 from the pointer.
    let avail =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    let action = Attempt::from_errno(errno_of(avail));
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the kernel writes one seccomp_notif_sizes to the pointer.
    let told = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes) };
    let sizes = (told == 0).then_some((sizes.seccomp_notif, sizes.seccomp_notif_resp, sizes.seccomp_data));
    (action, sizes)
}

/// In a child: installs a filter that allows everything. Error numbers of: the listener, doing without no_new_privs,
/// killable waits, synchronous wake-ups.
fn install() -> [i32; 4] {
    let killable = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let mut privs = 0;
    let mut wait = 0;
    let mut made = listener(killable);
    if errno_of(made) == libc::EACCES {
        privs = libc::EACCES;
        // SAFETY: sets a flag of this process; no pointers.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        made = listener(killable);
    }
    if errno_of(made) == libc::EINVAL {
        wait = libc::EINVAL;
        made = listener(0);
    }
    let errno = errno_of(made);
    let Ok(fd) = i32::try_from(made) else { return [errno, privs, wait, errno] };
    if errno != 0 {
        return [errno, privs, wait, errno];
    }
    // SAFETY: `fd` is the listener; this request takes its argument by value.
    let sync = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, FD_SYNC_WAKE_UP) };
    [0, privs, wait, errno_of(sync.into())]
}

fn listener(flags: libc::c_ulong) -> libc::c_long {
    let mut code = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
    let program = libc::sock_fprog { len: 1, filter: code.as_mut_ptr() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags;
    // SAFETY: `program` describes one instruction and outlives the call.
    unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) }
}

#[cfg(test)]
mod tests;
