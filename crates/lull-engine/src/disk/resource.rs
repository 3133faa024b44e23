//! The disks as a resource: what they and the calls that wait for them do in a turn, and what is told of them.

use std::os::fd::RawFd;

use lull_bpf::BlockSensor;
use lull_core::{Input, LEAST_BYTES, Nanos, Ticket};
use lull_linux::root::Root;
use lull_linux::sense::locks;
use lull_linux::topology::DevT;

use super::Disk;
use super::calls::{CALL_AT_MOST, Disks, Waiter, find_disk};
use crate::memory::exchange::Wish;
use crate::promise::Account;
use crate::report::Report;
use crate::report::disk::bound_text;
use crate::report::status::Status;
use crate::resource::{Resource, sooner};
use crate::signals;

/// A held call is looked at again after this long: its thread may have been sent a signal that it must see.
const SIGNAL_CHECK: Nanos = Nanos::from_millis(50);
/// Pieces of read-ahead that one turn starts at most.
const PIECES_AT_ONCE: usize = 16;
/// A call that syncs waits no longer than this for the pages to be written before.
const PIECES_AT_MOST: Nanos = Nanos::from_secs(2);
/// Whoever waits for the job (for a lock, say) waits no longer than this for the oldest of its calls. One is let go so at a time: about what
/// the floor of a slow disk is, 20 ms in each second.
const CALL_WAITS_AT_MOST: Nanos = Nanos::from_secs(1);
/// While somebody is seen to wait for a file lock of the job's, its calls pass for so long.
const AWAITED: Nanos = Nanos::from_millis(100);
/// How often requests whose end was missed are looked for.
const HEAL_EVERY: Nanos = Nanos::from_millis(50);

impl Disks {
    /// Lets calls queue whose pages are written, or have had the time for it; when to look again at the latest.
    fn queue_syncs(&mut self, now: Nanos) -> Option<Nanos> {
        let pages = self.terms.pages.get().cloned()?;
        let is_due = |waiter: &Waiter| {
            waiter
                .unwritten
                .is_some_and(|wanted| pages.is_written(wanted) || now.since(waiter.since) >= PIECES_AT_MOST)
        };
        let due: Vec<(u64, Waiter)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| is_due(waiter))
            .map(|(id, waiter)| (*id, *waiter))
            .collect();
        for (id, waiter) in due {
            self.waiters.entry(id).and_modify(|waiter| waiter.unwritten = None);
            // What was dirty is written: what is left is a journal's.
            self.step(waiter.disk, now, Input::Arrive(Ticket(id), waiter.bytes.min(LEAST_BYTES)));
        }
        let left = self.waiters.values().filter(|waiter| waiter.unwritten.is_some());
        left.map(|waiter| waiter.since.plus(PIECES_AT_MOST)).min()
    }

    /// Lets pieces of the job's dirty pages queue at their disks.
    fn write_back(&mut self, now: Nanos) {
        let Some(pages) = self.terms.pages.get().cloned() else { return };
        let windows = self.disks.iter().map(|disk| disk.resource.window_bytes(now));
        for Wish { dev, ticket, bytes } in pages.take_wishes(windows.min().unwrap_or(u64::MAX)) {
            let dev = DevT::from_kernel(dev);
            match self.disk_of(libc::makedev(dev.major, dev.minor)) {
                Some(disk) => self.step(disk, now, Input::Arrive(ticket, bytes)),
                None => pages.answer_unwatched(ticket),
            }
        }
    }

    /// Reads ahead for the job while the foreground is at work and the job reads without being trapped.
    fn read_ahead(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        if !self.disks.iter().any(|disk| disk.is_contended(now)) {
            if self.reader.is_following() {
                for (disk, ticket) in self.reader.stop() {
                    self.step(disk, now, Input::Withdraw(ticket));
                }
            }
            return None;
        }
        // Requests beyond one per call that was let go are those of a job that reads around the gate.
        let started: u64 = self.disks.iter().map(|disk| disk.latest().background.started).sum();
        let background = started.saturating_sub(self.granted_calls);
        if self.reader.is_due(now, is_held) {
            self.reader.let_closed_go(now);
            let pids = if background > self.background_seen || self.reader.wants_look() {
                self.terms.job_processes.pids()
            } else {
                Vec::new()
            };
            self.background_seen = background;
            let (disks, known) = (&self.disks, &mut self.disk_of_dev);
            let was_following = self.reader.is_following();
            self.reader.look(is_held, &pids, |dev| {
                let disk = *known.entry(dev).or_insert_with(|| find_disk(disks, dev));
                disk.map(|disk| (disk, disks[disk].traits.read_ahead_bytes))
            });
            if !was_following && self.reader.is_following() {
                // What the kernel's bursts cost says nothing of the pieces that replace them.
                self.disks.iter_mut().for_each(|disk| disk.control.restart_costs());
            }
        }
        // A piece that starts at once may be followed by the next one.
        for _ in 0..PIECES_AT_ONCE {
            let asked = self.reader.ask();
            if asked.is_empty() {
                break;
            }
            for (disk, ticket, bytes) in asked {
                self.step(disk, now, Input::Arrive(ticket, bytes));
            }
        }
        self.reader.next_look(is_held)
    }

    /// A call that waits delays the handling of a signal sent to its thread, the freezing of its group by others, and whoever waits for a
    /// lock that the job has: such calls are let go, and the oldest one when it has waited for long. Calls of dead threads are dropped.
    fn let_awaited_go(&mut self, now: Nanos) -> Option<Nanos> {
        let mut due: Vec<(u64, Waiter)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| self.sleeps() || now.since(waiter.checked) >= SIGNAL_CHECK)
            .map(|(id, waiter)| (*id, *waiter))
            .collect();
        let is_awaited = !due.is_empty()
            && self.terms.spares_the_oldest
            && locks::is_awaited(&Root::real(), || self.terms.job_processes.pids());
        if is_awaited {
            self.awaited_until = now.plus(AWAITED);
            due = self.waiters.iter().map(|(id, waiter)| (*id, *waiter)).collect();
        }
        let oldest =
            due.iter().min_by_key(|(_, waiter)| waiter.since).map(|(id, waiter)| (*id, waiter.since));
        let is_long = |since: Nanos| now.since(since.max(self.spared)) >= CALL_WAITS_AT_MOST;
        let overdue =
            oldest.filter(|(_, since)| self.terms.spares_the_oldest && is_long(*since)).map(|(id, _)| id);
        if overdue.is_some() {
            self.spared = now;
        }
        for (id, waiter) in due {
            // Whoever freezes it from outside waits until its last thread stands still.
            let stands_in_the_way = || {
                self.sleeps()
                    || signals::is_pending(waiter.tid)
                    || self.terms.job_processes.is_frozen(waiter.tid)
            };
            if is_awaited || overdue == Some(id) || stands_in_the_way() {
                self.counts.signalled += u64::from(!is_awaited && overdue != Some(id));
                self.step(waiter.disk, now, Input::Withdraw(Ticket(id)));
                self.release(now, id);
            } else if let Some(waiter) = self.waiters.get_mut(&id) {
                waiter.checked = now;
            }
        }
        self.waiters.values().map(|waiter| waiter.checked.plus(SIGNAL_CHECK)).min()
    }
}

impl Resource for Disks {
    /// Wake-ups are asked for before the last look, so that none is lost.
    fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos> {
        let mut next = None;
        self.was_held = was_held;
        let seen = self.open.count();
        for disk in 0..self.disks.len() {
            let observation = self.disks[disk].observe(now);
            self.step(disk, now, Input::Observe(observation));
            let wake = self.disks[disk].resource.wake(now);
            if wake.foreground_end || wake.background_end {
                self.disks[disk].ask_wake(wake);
                let observation = self.disks[disk].observe(now);
                self.step(disk, now, Input::Observe(observation));
            }
            next = sooner(next, self.disks[disk].resource.wake(now).at);
            next = sooner(next, self.disks[disk].next_sample(now, &wake));
            next = sooner(next, self.disks[disk].control(now, was_held));
            let covered =
                self.granted.values().any(|grant| grant.disk == disk && now.since(grant.at) < CALL_AT_MOST);
            next = sooner(next, self.disks[disk].hold(now, covered));
        }
        self.set_open(now, seen);
        next
    }

    fn follow(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        let next = self.read_ahead(now, is_held);
        self.write_back(now);
        let next = sooner(next, self.queue_syncs(now));
        // Who is held handles none; the engine sees to them.
        if self.was_held { next } else { sooner(next, self.let_awaited_go(now)) }
    }

    fn tend(&mut self, now: Nanos) {
        if let Some(sensor) = self.sensor.as_ref().filter(|_| now.since(self.healed) >= HEAL_EVERY) {
            self.healed = now;
            for (device, oldest) in self.disks.iter().filter_map(|disk| disk.oldest(now)) {
                // A sensor that cannot be mended now is tried again.
                let _ = sensor.heal(device, oldest);
            }
        }
    }

    fn wants_hold(&self) -> bool {
        self.disks.iter().any(Disk::wants_hold)
    }

    fn accounts(&mut self) -> Vec<&mut dyn Account> {
        self.disks.iter_mut().map(|disk| disk as &mut dyn Account).collect()
    }

    fn wake_fd(&self) -> RawFd {
        self.sensor.as_ref().map_or(-1, BlockSensor::wake_fd)
    }

    fn drain(&self) {
        self.sensor.iter().for_each(BlockSensor::drain);
    }

    fn status(&self, now: Nanos, status: &mut Status) {
        status.waiting = self.waiters.len();
        let busiest = self.disks.iter().max_by_key(|disk| disk.latest().background.started);
        let Some(disk) = busiest else { return };
        let report = disk.report();
        status.disk.clone_from(&disk.traits.name);
        status.state = disk.resource.state(now).letter();
        status.background_bytes = report.background_bytes;
        status.quiet_ns = report.quiet.mean().map(|mean| mean.0);
        status.loaded_ns = report.loaded.mean().map(|mean| mean.0);
        status.interval = disk.resource.setting().interval.to_string();
        status.bound = bound_text(disk.resource.setting().depth, disk.resource.window_bytes(now));
        status.disk_slowdown = disk.control.slowdown().map(Into::into);
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.gate = self.counts();
        report.read_ahead_bytes = self.terms.read_ahead.bytes();
        report.disks = self.disks.iter().map(Disk::summary).collect();
    }

    fn end(&mut self, now: Nanos) {
        self.reader.stop();
        let ids: Vec<u64> = self.waiters.keys().copied().collect();
        for id in ids {
            self.release(now, id);
        }
    }
}

#[cfg(test)]
mod tests;
