use super::cpu::CpuSetting;
use super::disk::DiskSetting;
use super::link::LinkSetting;
use super::ssd::SsdSetting;
use super::*;

fn request(client: u32, offset: u64, bytes: u64) -> Request {
    let class = Class::Foreground;
    Request { client, class, offset, bytes, work: None, arrived: Nanos::ZERO, loaded: false, head: false }
}

#[test]
fn the_papers_disk_takes_twenty_milliseconds_for_a_random_block() {
    let mut disk = Disk::new(DiskSetting::default());
    let mut random = Random::new(1, 1);
    let (mut now, rounds) = (Nanos::from_secs(1), 20_000);
    for _ in 0..rounds {
        let offset = random.below(disk.capacity()) / 512 * 512;
        now = now.plus(disk.serve(now, &request(0, offset, 512), &mut Random::new(1, 2)).busy);
    }
    let mean_ms = now.since(Nanos::from_secs(1)).0 as f64 / 1e6 / f64::from(rounds);
    assert!((19.5..20.5).contains(&mean_ms), "{mean_ms}");
}

#[test]
fn the_elevator_goes_up_and_returns_to_the_lowest() {
    let mut disk = Disk::new(DiskSetting::default());
    disk.serve(Nanos(5), &request(0, 500, 12), &mut Random::new(1, 1));
    let device = Device::Disk(disk);
    let mut waiting: VecDeque<Request> = [600, 20, 512, 900].map(|offset| request(0, offset, 1)).into();
    assert_eq!(device.pick(&waiting), 2, "512 is where the arm is");
    waiting.remove(2);
    assert_eq!(device.pick(&waiting), 0);
    waiting.retain(|r| r.offset < 500);
    assert_eq!(waiting[device.pick(&waiting)].offset, 20);
}

#[test]
fn sequential_blocks_need_neither_seek_nor_rotation() {
    let mut disk = Disk::new(DiskSetting::default());
    let mut random = Random::new(1, 1);
    let first = disk.serve(Nanos(1), &request(0, 100_000, 512), &mut random).busy;
    let second = disk.serve(Nanos(1).plus(first), &request(0, 100_512, 512), &mut random).busy;
    assert!(first > Nanos::from_millis(2) && second < Nanos::from_millis(1), "{first} {second}");
}

#[test]
fn channels_work_side_by_side_and_one_channel_does_not() {
    let setting = SsdSetting {
        channels: 4,
        read: Span::Fixed(Nanos(1_000)),
        bytes_per_second: u64::MAX,
        overhead: Nanos(10),
        ..SsdSetting::default()
    };
    let mut ssd = Ssd::new(setting);
    let stripe = 16 * 1024;
    let mut random = Random::new(1, 1);
    let now = Nanos(5);
    let busy: Vec<u64> = [0, stripe, 0, 2 * stripe]
        .map(|offset| ssd.serve(now, &request(0, offset, 4_096), &mut random).busy.0)
        .into();
    assert_eq!(busy[..2], [1_010, 1_010], "two channels");
    assert_eq!(busy[2], 2_010, "the same channel again");
    let large = ssd.serve(Nanos(1_000_000), &request(0, 0, 8 * stripe), &mut random).busy;
    assert_eq!(large.0, 2_010, "eight pieces on four channels");
}

#[test]
fn a_packet_takes_its_bytes_at_the_rate_and_arrives_a_delay_later() {
    let link = Link::new(LinkSetting { bits_per_second: 1_000_000_000, delay: Nanos(7), queue: 50 });
    let service = link.serve(&request(0, 0, 1_462));
    assert_eq!((service.busy, service.after), (Nanos(12_000), Nanos(7)));
}

#[test]
fn a_core_pays_for_switches_and_for_what_others_left_of_the_cache() {
    let setting =
        CpuSetting { quantum: Nanos(1_000), switch: Nanos(5), reload: Nanos(100), eviction: Nanos(2_000) };
    let mut cpu = Cpu::new(setting);
    let mut run = |client, work| {
        let service = cpu.serve(&Request { work: Some(Nanos(work)), ..request(client, 0, 0) });
        (service.busy.0, service.left.0)
    };
    assert_eq!(run(0, 1_500), (1_005, 500), "a switch onto an empty core, and a quantum");
    assert_eq!(run(0, 500), (500, 0), "no switch to oneself");
    assert_eq!(run(1, 1_000), (1_080, 0), "1,500 ns of others: three quarters of the cache");
    assert_eq!(run(0, 10), (5 + 50 + 10, 0), "1,000 ns of others: half");
}
