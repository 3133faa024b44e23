//! Loop devices: a block device in front of a file, detached on every path.
//!
//! The device is configured with direct I/O (with it off, page-cache hits would hide the file's service
//! times) and with autoclear: when the last process that has it open is gone, killed or not, the kernel
//! detaches it. Source: include/uapi/linux/loop.h.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::Error;
use crate::error::Context;

const LOOP_CLR_FD: u64 = 0x4C01;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
const SECTOR_BYTES: u32 = 512;
const ATTEMPTS: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Configuration {
    file: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// An attached loop device.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    device: File,
}

impl LoopDevice {
    /// Attaches the first free device to `backing`, which must be open for reading and writing.
    pub fn attach(backing: BorrowedFd<'_>) -> Result<Self, Error> {
        let control_path = Path::new("/dev/loop-control");
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .open(control_path)
            .at("open (loop devices need root)", control_path)?;
        for _ in 0..ATTEMPTS {
            // SAFETY: LOOP_CTL_GET_FREE takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            let number = Errno::result(number).at("find a free loop device with", control_path)?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = OpenOptions::new().read(true).write(true).open(&path).at("open", &path)?;
            let configuration = configuration(backing);
            // SAFETY: the kernel reads one loop_config, which `configuration` is laid out as.
            let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const configuration) };
            match Errno::result(result) {
                Ok(_) => return Ok(Self { path, device }),
                // Somebody else took it since.
                Err(Errno::EBUSY) => {}
                Err(error) => return Err(error).at("attach the loop device", &path),
            }
        }
        Err(Errno::EBUSY).at("find a free loop device with", control_path)
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `loopN`, the name under `/sys/block`.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // If it is still open elsewhere the kernel detaches it at the last close; nothing else can fail here.
        // SAFETY: LOOP_CLR_FD takes no argument.
        unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD, 0) };
    }
}

fn configuration(backing: BorrowedFd<'_>) -> Configuration {
    let mut file_name = [0; 64];
    for (slot, byte) in file_name.iter_mut().zip(b"lull-bench") {
        *slot = *byte;
    }
    Configuration {
        file: u32::try_from(backing.as_raw_fd()).unwrap_or(u32::MAX),
        block_size: SECTOR_BYTES,
        info: Info {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    }
}

const _: () = assert!(size_of::<Info>() == 232 && size_of::<Configuration>() == 304);
