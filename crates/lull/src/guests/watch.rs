//! What a node shows of its owner and of guests, span by span.
//!
//! | of a span | from |
//! |---|---|
//! | CPUs that the owner uses | processor time of all that is neither guest nor batch system (`lull_linux::sense::tenants`) |
//! | when the console was touched | last input on a terminal (`/dev/tty*`, `/dev/pts/*`), as `w` has it |
//! | share that a guest gets | time that guests ran, of the time that they wanted to; where none wanted, what the owner left, one CPU at most |
//! | loss of the owner | time that he waited for a CPU, of the time that he wanted one, in all spans of his episode in which a guest ran |
//!
//! The loss is an upper bound: an owner's programs wait for each other, too. It is of the whole episode since a span in which he hardly wanted
//! anything says little.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lull_core::Nanos;
use lull_core::linger::episode::{Episode, OwnerSetting, Sample};
use lull_linux::clock;
use lull_linux::root::Root;
use lull_linux::sense::tenants::{Count, Daemons, Tenants, Use};

/// Guests that wanted less of a span than this tell nothing about what they would get.
const WANTED: f64 = 0.05;

/// What is known of a node at the end of a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Seconds since the epoch.
    pub(crate) time_s: f64,
    /// The node's CPUs, as far as this process may use them.
    pub(crate) cpus: f64,
    /// CPUs that the owner used.
    pub(crate) owner_cpus: f64,
    /// Whether he is at work.
    pub(crate) in_use: bool,
    /// Since when he is, or is not, in seconds since the epoch.
    pub(crate) since_s: f64,
    /// What a guest got of a CPU since then.
    pub(crate) share: f64,
    /// What the owner lost at most, as a share of the CPU time that he wanted since then.
    pub(crate) loss: f64,
    /// CPUs that guests used.
    pub(crate) guest_cpus: f64,
    /// How many guests there are.
    pub(crate) guests: usize,
}

impl Seen {
    /// What a guest more would get of a CPU, were all to share alike what the owner leaves.
    pub(crate) fn share_of_one_more(&self) -> f64 {
        let guests = u32::try_from(self.guests).unwrap_or(u32::MAX);
        (self.idle_cpus() / (f64::from(guests) + 1.0)).min(1.0)
    }

    /// CPUs that the owner leaves.
    pub(crate) fn idle_cpus(&self) -> f64 {
        (self.cpus - self.owner_cpus).max(0.0)
    }
}

/// Watches a node.
pub(crate) struct Watch {
    daemons: Daemons,
    cpus: f64,
    episode: Episode,
    /// What the owner wanted and missed in this episode, beside guests.
    beside: Use,
    /// Guests at the last look.
    guests: usize,
    count: Count,
    counted: Nanos,
}

impl Watch {
    /// Begins now.
    pub(crate) fn new(daemons: Daemons, setting: OwnerSetting) -> Self {
        let now = clock::now();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            daemons,
            cpus: f64::from(u32::try_from(cpus).unwrap_or(u32::MAX)),
            episode: Episode::new(setting, now),
            beside: Use::default(),
            guests: 0,
            count: Count::now(&Root::real(), daemons),
            counted: now,
        }
    }

    /// What was to be seen since the last look.
    pub(crate) fn look(&mut self) -> Seen {
        let now = clock::now();
        let count = self.count.next(&Root::real(), self.daemons);
        let span = now.since(self.counted);
        let tenants = count.since(&self.count);
        (self.count, self.counted) = (count, now);
        let wall = SystemTime::now();
        let seen = self.take(now, span, &tenants, console_idle(wall));
        let time_s = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Seen { time_s, since_s: time_s - now.since(self.episode.since()).as_secs_f64(), ..seen }
    }

    fn take(&mut self, now: Nanos, span: Nanos, tenants: &Tenants, console_idle: Option<Nanos>) -> Seen {
        let of_span = |time: Nanos| time.as_secs_f64() / span.as_secs_f64().max(1e-9);
        let owner_cpus = of_span(tenants.owner.cpu);
        let share = share(&tenants.guests, span).unwrap_or_else(|| (self.cpus - owner_cpus).clamp(0.0, 1.0));
        let began = self.episode.since();
        if tenants.guest_count < self.guests {
            // Who stays has the CPUs of the one that left: what they shared before says nothing of that.
            self.episode.forget_share();
        }
        self.guests = tenants.guest_count;
        self.episode.add(now, &Sample { span, owner_cpus, console_idle, share });
        if self.episode.since() != began {
            self.beside = Use::default();
        }
        if tenants.guests.ran > Nanos::ZERO {
            self.beside.ran = self.beside.ran.plus(tenants.owner.ran);
            self.beside.waited = self.beside.waited.plus(tenants.owner.waited);
        }
        Seen {
            time_s: 0.0,
            cpus: self.cpus,
            owner_cpus,
            in_use: self.episode.in_use(),
            since_s: 0.0,
            share: self.episode.share(),
            loss: self.beside.missed().unwrap_or(0.0),
            guest_cpus: of_span(tenants.guests.cpu),
            guests: tenants.guest_count,
        }
    }
}

/// What guests got of what they wanted, if they wanted enough to tell.
fn share(guests: &Use, span: Nanos) -> Option<f64> {
    let wanted_s = guests.ran.plus(guests.waited).as_secs_f64();
    let missed = guests.missed().filter(|_| wanted_s >= WANTED * span.as_secs_f64())?;
    Some(1.0 - missed)
}

/// How long ago somebody last typed at a terminal of this machine.
fn console_idle(now: SystemTime) -> Option<Nanos> {
    let terminals =
        ["/dev", "/dev/pts"].into_iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten());
    let is_terminal = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let console =
            name.strip_prefix("tty").is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        (console && name != "tty0") || (path.starts_with("/dev/pts") && name != "ptmx")
    };
    let touched = |path: &Path| {
        let seconds = u64::try_from(std::fs::metadata(path).ok()?.atime()).ok()?;
        now.duration_since(UNIX_EPOCH + Duration::from_secs(seconds)).ok()
    };
    let paths = terminals.flatten().map(|entry| entry.path()).filter(|path| is_terminal(path));
    let least = paths.filter_map(|path| touched(&path)).min()?;
    Some(Nanos(u64::try_from(least.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests;
