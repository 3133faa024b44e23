//! How many events per second the simulator handles, and how that changes with the number of resources.
//!
//! An event is what is taken from an agenda, with all that follows from it at that moment: a client makes a request, a request
//! is over, a timer goes off, control looks at what it has measured. In these worlds most events are ends of background
//! requests: each brings a step of the policy with the view of the sensor, a step with the next request of the client,
//! the choice of what is served next and the counting of latencies. A run has no output, and all events count.
//!
//! - `resources/N`: a closed foreground and two greedy background clients on an ideal server, the case of figure 7, N times in
//!   one world and for the same 200 ms of simulated time (about 2,000 events each): the time may grow only as N does.
//! - `disk`, `auto`: one resource with the model of a disk; with automatic control, which looks every 25 ms (about 240
//!   events).

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lull_core::{ControlSetting, Interval, Nanos, Setting};
use lull_sim::device::disk::{Disk, DiskSetting};
use lull_sim::device::{Device, Server};
use lull_sim::policy::Policy;
use lull_sim::span::Span;
use lull_sim::workload::Workload;
use lull_sim::{Class, Client, World};

const SERVICE: Nanos = Nanos::from_micros(100);

fn server() -> Device {
    let span = Span::Fixed(SERVICE);
    Device::Server(Server { slots: 1, foreground: span, background: span, drag: 0.0 })
}

fn fixed() -> Policy {
    Policy::Fixed(Setting { interval: Interval::Finite(SERVICE.times(2)), ..Setting::default() })
}

fn world(resources: u32, device: &Device, policy: &Policy, think: Nanos) -> World {
    let mut world = World::new(1);
    for _ in 0..resources {
        let station = world.add_station(device.clone(), policy);
        for (class, think) in [
            (Class::Foreground, Span::Exponential(think)),
            (Class::Background, Span::ZERO),
            (Class::Background, Span::ZERO),
        ] {
            let workload = Workload::Closed { think };
            world.add_client(Client {
                station,
                class,
                workload,
                bytes: 4_096,
                work: None,
                sequential: false,
            });
        }
    }
    world
}

fn run(mut world: World, length: Nanos) -> u64 {
    world.run_until(length);
    black_box(world.events())
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    for resources in [1_u32, 10, 100, 1_000] {
        let length = Nanos::from_millis(200);
        let world = world(resources, &server(), &fixed(), SERVICE.times(10));
        group.throughput(Throughput::Elements(run(world.clone(), length)));
        group.bench_function(BenchmarkId::new("resources", resources), |bencher| {
            bencher.iter_batched(|| world.clone(), |world| run(world, length), BatchSize::PerIteration);
        });
    }
    let think = Nanos::from_millis(100);
    for (name, device, policy, length) in [
        ("disk", Device::Disk(Disk::new(DiskSetting::default())), fixed(), Nanos::from_secs(200)),
        ("auto", server(), Policy::Auto(ControlSetting::default()), Nanos::from_secs(2)),
    ] {
        let think = if name == "disk" { think } else { SERVICE.times(10) };
        let world = world(1, &device, &policy, think);
        group.throughput(Throughput::Elements(run(world.clone(), length)));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| world.clone(), |world| run(world, length), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group! {
    name = engine;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(2));
    targets = benches
}
criterion_main!(engine);
