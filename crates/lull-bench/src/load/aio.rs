//! Background: a fixed number of random reads in flight through libaio, as databases do.
//!
//! The four system calls are made directly: every finished read is replaced by one `io_submit` of a single
//! new one, so that a gate on `io_submit` sees each request. O_DIRECT always; without it libaio is
//! synchronous.
//!
//! On stop the reads in flight are waited for, so that the kernel never writes into freed buffers; they
//! count.

use std::io;
use std::ptr;

use crate::Error;
use crate::error::Context;
use crate::load::file::{BlockFile, Buffer};
use crate::load::tally::Tally;
use crate::load::{CommonArgs, LoadReport};

const IOCB_CMD_PREAD: u16 = 0;

/// Arguments of `load disk-aio`.
#[derive(Clone, Debug, clap::Args)]
pub struct AioArgs {
    /// What every load takes.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Reads in flight.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: u32,
}

/// One finished read as the kernel reports it (`struct io_event`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    control_block: u64,
    result: i64,
    result2: i64,
}

/// A kernel queue of asynchronous requests; destroying it waits for those in flight.
struct Queue(libc::c_ulong);

impl Queue {
    fn new(depth: u32) -> Result<Self, Error> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: io_setup writes one word through the valid pointer.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if result == 0 { Ok(Self(context)) } else { Err(io::Error::last_os_error()) }.to("set up libaio")
    }

    /// Submits one request; again after EINTR and EAGAIN.
    fn submit(&self, block: *mut libc::iocb) -> Result<(), Error> {
        loop {
            let mut list = [block];
            // SAFETY: `list` holds one pointer to an iocb that, with its buffer, outlives the request (see
            // `run`).
            let result = unsafe { libc::syscall(libc::SYS_io_submit, self.0, 1_i64, list.as_mut_ptr()) };
            if result == 1 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN) => {}
                _ => return Err(error).to("submit a read"),
            }
        }
    }

    /// Waits for at least one finished request; none if a signal came first.
    fn wait(&self, events: &mut [Event]) -> Result<usize, Error> {
        let room = libc::c_long::try_from(events.len()).unwrap_or(libc::c_long::MAX);
        let no_limit: *mut libc::timespec = ptr::null_mut();
        // SAFETY: `events` has room for `room` events; the null time-out means no limit.
        let result = unsafe {
            libc::syscall(libc::SYS_io_getevents, self.0, 1_i64, room, events.as_mut_ptr(), no_limit)
        };
        match usize::try_from(result) {
            Ok(count) => Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
                error => Err(error).to("wait for asynchronous reads"),
            },
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the context came from io_setup; io_destroy waits until nothing is in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// A control block for reading into `buffer`; the offset is set per request.
fn control_block(source: &BlockFile, buffer: &Buffer, slot: u64) -> libc::iocb {
    use std::os::fd::AsRawFd;
    // SAFETY: iocb is a plain struct of integers; all zero is a valid one.
    let mut block: libc::iocb = unsafe { std::mem::zeroed() };
    block.aio_data = slot;
    block.aio_lio_opcode = IOCB_CMD_PREAD;
    block.aio_fildes = u32::try_from(source.file.as_raw_fd()).unwrap_or(u32::MAX);
    block.aio_buf = buffer.address();
    block.aio_nbytes = source.block.0;
    block
}

/// Reads until stopped.
pub fn run(args: &AioArgs) -> Result<LoadReport, Error> {
    let common = &args.common;
    let source = BlockFile::open(&common.file, common.block, true)?;
    let mut random = fastrand::Rng::with_seed(common.seed);
    let buffers: Vec<Buffer> =
        (0..args.depth).map(|_| Buffer::new(common.block.as_usize())).collect::<Result<_, _>>()?;
    let mut blocks: Vec<libc::iocb> =
        (0..).zip(&buffers).map(|(slot, buffer)| control_block(&source, buffer, slot)).collect();
    let mut events = vec![Event::default(); buffers.len()];
    // Declared last, so dropped first: what is in flight ends before buffers and control blocks are freed.
    let queue = Queue::new(args.depth)?;

    let tally = Tally::of(common)?;
    let mut in_flight = 0_u64;
    let mut issue = |slot: usize, in_flight: &mut u64| -> Result<(), Error> {
        let offset = source.offset(random.u64(0..source.blocks));
        if let Some(block) = blocks.get_mut(slot).filter(|_| tally.goes_on()) {
            block.aio_offset = i64::try_from(offset).unwrap_or(i64::MAX);
            queue.submit(block)?;
            *in_flight += 1;
        }
        Ok(())
    };
    for slot in 0..buffers.len() {
        issue(slot, &mut in_flight)?;
    }
    while in_flight > 0 {
        let count = queue.wait(&mut events)?;
        for event in events.iter().take(count) {
            if u64::try_from(event.result) != Ok(common.block.0) {
                let error = match i32::try_from(-event.result) {
                    Ok(errno) if event.result < 0 => io::Error::from_raw_os_error(errno),
                    _ => io::Error::from(io::ErrorKind::UnexpectedEof),
                };
                return Err(error).at("read", &common.file);
            }
            in_flight -= 1;
            tally.add(common.block.0);
            issue(usize::try_from(event.data).unwrap_or(usize::MAX), &mut in_flight)?;
        }
    }
    Ok(tally.report("disk-aio"))
}

#[cfg(test)]
mod tests;
