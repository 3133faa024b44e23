//! TUN and TAP devices: network interfaces whose other end is a descriptor.
//!
//! A device belongs to the descriptor: it goes with it, also by kill -9, and whatever waits in its queue goes too. It is made in
//! the network namespace of the calling thread.
//!
//! Source: `Documentation/networking/tuntap.rst`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// What a device carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// IP packets, without a link header (TUN).
    Packets,
    /// Ethernet frames (TAP).
    Frames,
}

nix::ioctl_write_int!(
    /// Makes the descriptor a TUN or TAP device.
    set_iff,
    b'T',
    202
);

/// A new device and its name; reading and writing its descriptor does not block. `name` may hold one `%d`, for the first free
/// number.
///
/// # Errors
/// Without CAP_NET_ADMIN, without /dev/net/tun, or when the name is taken.
pub fn open(name: &str, layer: Layer) -> io::Result<(File, String)> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zero is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    let kind = match layer {
        Layer::Packets => libc::IFF_TUN,
        Layer::Frames => libc::IFF_TAP,
    };
    request.ifr_ifru.ifru_flags = i16::try_from(kind | libc::IFF_NO_PI).map_err(io::Error::other)?;
    // SAFETY: the request is as this call wants it and lives through it; the kernel writes the name back.
    unsafe { set_iff(file.as_raw_fd(), (&raw mut request).expose_provenance() as u64) }?;
    let named = request.ifr_name.iter().take_while(|byte| **byte != 0).map(|byte| byte.cast_unsigned());
    Ok((file, String::from_utf8_lossy(&named.collect::<Vec<u8>>()).into_owned()))
}
