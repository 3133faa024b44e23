//! The test network: that it carries packets, delays them, sorts them, and is gone after its process.

use std::error::Error;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use lull_bench::netbed::{self, Bed, Host, LinkPlan, Queue};
use lull_bench::process::{Options, Proc, lines};
use lull_core::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use super::{HANG, Outcome, ensure, eventually, program};

const RATE_MBIT: u32 = 100;
const ONE_WAY: Nanos = Nanos::from_millis(10);
/// DSCP 1, Lower Effort.
const LOWER_EFFORT: u8 = 0x04;

fn bed(plan: &LinkPlan) -> Result<Option<Bed>, Box<dyn Error>> {
    if let Some(why) = netbed::obstacle() {
        eprintln!("SKIPPED: {why}");
        return Ok(None);
    }
    Ok(Some(Bed::build(plan)?))
}

fn socket(host: &Host, address: IpAddr) -> Result<UdpSocket, Box<dyn Error>> {
    let socket = host.namespace().inside(|| UdpSocket::bind(SocketAddr::new(address, 0)))??;
    socket.set_read_timeout(Some(HANG))?;
    Ok(socket)
}

/// Sends a packet from left to right and back; the time that took.
fn there_and_back(left: &UdpSocket, right: &UdpSocket) -> Result<Duration, Box<dyn Error>> {
    let mut packet = [0; 64];
    let started = Instant::now();
    left.send_to(b"there", right.local_addr()?)?;
    let (len, from) = right.recv_from(&mut packet)?;
    ensure(&packet[..len] == b"there", "another packet came")?;
    right.send_to(b"back", from)?;
    let (len, _) = left.recv_from(&mut packet)?;
    ensure(&packet[..len] == b"back", "another packet came back")?;
    Ok(started.elapsed())
}

fn own_devices() -> Result<Vec<String>, Box<dyn Error>> {
    let devices = nix::net::if_::if_nameindex()?;
    Ok(devices.iter().map(|device| device.name().to_string_lossy().into_owned()).collect())
}

pub(super) fn joins_two_hosts() -> Outcome {
    let before = own_devices()?;
    let Some(bed) = bed(&LinkPlan::of_rate(RATE_MBIT))? else { return Ok(()) };
    for (left, right) in [(bed.left.v4(), bed.right.v4()), (bed.left.v6(), bed.right.v6())] {
        there_and_back(&socket(&bed.left, left)?, &socket(&bed.right, right)?)?;
    }
    ensure(own_devices()? == before, "a device has appeared outside")
}

pub(super) fn delays_both_ways() -> Outcome {
    let Some(bed) = bed(&LinkPlan::of_rate(RATE_MBIT).with_delay(ONE_WAY))? else { return Ok(()) };
    let took = there_and_back(&socket(&bed.left, bed.left.v4())?, &socket(&bed.right, bed.right.v4())?)?;
    ensure(took >= Duration::from_nanos(ONE_WAY.times(2).0), format!("there and back in {took:?}"))?;
    ensure(bed.is_up(), "the relay has ended")
}

pub(super) fn sends_lower_effort_last() -> Outcome {
    let Some(bed) = bed(&LinkPlan::of_rate(RATE_MBIT).with_queue(Queue::LowerEffortLast))? else {
        return Ok(());
    };
    let (left, right) = (socket(&bed.left, bed.left.v4())?, socket(&bed.right, bed.right.v4())?);
    there_and_back(&left, &right)?;
    ensure(!goes_last(&bed)?, "an ordinary packet went last")?;
    setsockopt(&left, sockopt::Ipv4Tos, &i32::from(LOWER_EFFORT))?;
    there_and_back(&left, &right)?;
    ensure(goes_last(&bed)?, "a marked packet did not go last")
}

/// Whether the last class of the left host has sent something.
fn goes_last(bed: &Bed) -> Result<bool, Box<dyn Error>> {
    let mut command = bed.left.command("tc");
    let shown = command.args(["-s", "class", "show", "dev", netbed::DEVICE, "classid", "1:20"]).output()?;
    Ok(!String::from_utf8_lossy(&shown.stdout).contains("Sent 0 bytes"))
}

pub(super) fn tells_background_by_its_address() -> Outcome {
    let Some(bed) = bed(&LinkPlan::of_rate(RATE_MBIT).with_queue(Queue::LowerEffortLast))? else {
        return Ok(());
    };
    // The kernel always has this one; it is the default hardly anywhere.
    let address = bed.add_background_address(Some("reno"))?;
    let congestion = |address: IpAddr| -> Result<String, Box<dyn Error>> {
        let listener = bed.right.namespace().inside(|| TcpListener::bind(SocketAddr::new(address, 0)))??;
        let to = listener.local_addr()?;
        let stream = bed.left.namespace().inside(|| TcpStream::connect(to))??;
        Ok(getsockopt(&stream, sockopt::TcpCongestion)?.to_string_lossy().trim_end_matches('\0').to_owned())
    };
    let default = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")?;
    ensure(congestion(bed.right.v4())? == default.trim(), "another connection has not the default")?;
    ensure(!goes_last(&bed)?, "another connection went last")?;
    ensure(congestion(address)? == "reno", "the congestion control is not the one that was named")?;
    ensure(goes_last(&bed)?, "a connection to that address did not go last")
}

/// Holds a network until it is killed, and says which namespaces it lives in.
pub(super) fn hold_a_network() -> Outcome {
    let bed = Bed::build(&LinkPlan::of_rate(RATE_MBIT).with_delay(ONE_WAY))?;
    println!("{} {}", bed.left.namespace().number()?, bed.right.namespace().number()?);
    loop {
        std::thread::park();
    }
}

/// Whether some process runs in the namespace of this number, or holds it open.
fn is_held(number: u64) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|c| c.is_ascii_digit())).any(
        |process| {
            let runs =
                std::fs::metadata(process.path().join("ns/net")).is_ok_and(|found| found.ino() == number);
            let name = format!("net:[{number}]");
            let open = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
            runs || open
                .filter_map(|fd| std::fs::read_link(fd.path()).ok())
                .any(|link| link.to_string_lossy() == name)
        },
    )
}

pub(super) fn a_killed_network_leaves_nothing() -> Outcome {
    if bed(&LinkPlan::of_rate(RATE_MBIT))?.is_none() {
        return Ok(());
    }
    let mut argv = program()?.load;
    argv.truncate(1);
    argv.push("bed".into());
    let (mut process, stdout) = Proc::spawn(&argv, Options::default())?;
    let line = lines(stdout).recv_timeout(HANG)?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure(numbers.len() == 2 && numbers.iter().all(|number| is_held(*number)), "no namespaces")?;
    kill(process.pid(), Signal::SIGKILL)?;
    process.wait()?;
    eventually("the namespaces are gone", || !numbers.iter().any(|number| is_held(*number)))
}
