//! A comparison for people: who was compared, what changed, every figure, and what cannot be told.

use std::fmt::Write as _;

use super::{Comparison, Difference, Verdict};
use crate::record::{Host, LULL_FLAGS, differing};

/// Rounds with which a difference that stands out from chance can be expected to be found.
const ENOUGH: usize = 5;

fn is_relative(figure: &str) -> bool {
    figure.contains(" / ")
}

fn count(differences: &[Difference], verdict: Verdict) -> usize {
    differences.iter().filter(|difference| difference.verdict == verdict).count()
}

/// The machine alone: what two programs or days share.
fn machine(host: &Host) -> (String, String, usize, u64) {
    (host.kernel.clone(), host.cpu.clone(), host.cpus, host.ram_bytes)
}

fn line(difference: &Difference) -> String {
    let Difference { figure, runs: [a, b], ratio, interval, verdict, .. } = difference;
    let interval = interval.map_or_else(
        || "[too few runs]".to_owned(),
        |interval| format!("[{:.3} to {:.3}]", interval.low, interval.high),
    );
    format!("{figure:18} {ratio:>8.3} {interval:18} {:8} {a} and {b} runs", verdict.word())
}

/// The whole text.
pub(super) fn render(comparison: &Comparison) -> String {
    let mut text = String::from("B over A: ratio with its 95% interval by ranks\n");
    for (side, hosts) in ["A", "B"].iter().zip(&comparison.hosts) {
        for host in hosts {
            let commit = host.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
            let _ = writeln!(
                text,
                "{side}: {}, {}{commit}, Linux {}, {} × {}",
                host.date, host.version, host.kernel, host.cpus, host.cpu
            );
        }
    }
    let [a, b] = comparison.hosts.each_ref().map(|hosts| hosts.iter().map(machine).collect::<Vec<_>>());
    if a.iter().chain(&b).any(|one| Some(one) != a.first()) {
        text.push_str("The machines differ: only figures relative to alone and solo can be compared.\n");
    }
    for (side, hosts) in ["A", "B"].iter().zip(&comparison.hosts) {
        if hosts.iter().any(|host| host.terms.is_empty()) {
            let _ = writeln!(
                text,
                "{side}: rates, seconds and sizes are not recorded; make sure that they are the same."
            );
        }
    }
    if let Some(flags) = differing(comparison.hosts.iter().flatten()).remove(LULL_FLAGS) {
        let shown: Vec<String> = flags.iter().map(|flags| format!("'{flags}'")).collect();
        let _ = writeln!(text, "lull's flags differ: {}.", shown.join(" and "));
    }
    let all = &comparison.differences;
    for verdict in [Verdict::Worse, Verdict::Better] {
        let found: Vec<&Difference> = all.iter().filter(|difference| difference.verdict == verdict).collect();
        if !found.is_empty() {
            let _ = writeln!(text, "\n{}:", verdict.word());
        }
        for difference in found {
            let _ =
                writeln!(text, "  {:20} {:12} {}", difference.case, difference.contender, line(difference));
        }
    }
    let mut latest = (String::new(), String::new());
    for difference in all {
        if latest.0 != difference.case {
            let _ = writeln!(text, "\n{}", difference.case);
        }
        let same = latest == (difference.case.clone(), difference.contender.clone());
        let name = if same { "" } else { &difference.contender };
        let _ = writeln!(text, "  {name:12} {}", line(difference));
        latest = (difference.case.clone(), difference.contender.clone());
    }
    text.push_str(&summary(all));
    text
}

fn summary(all: &[Difference]) -> String {
    let unknown: Vec<&Difference> = all.iter().filter(|one| one.verdict == Verdict::Unknown).collect();
    let mut text = format!(
        "\n{} figures: {} better, {} worse, {} perhaps, {} the same within 5%, {} unknown.\n",
        all.len(),
        count(all, Verdict::Better),
        count(all, Verdict::Worse),
        count(all, Verdict::Perhaps),
        count(all, Verdict::Same),
        unknown.len()
    );
    if count(all, Verdict::Perhaps) > 0 {
        text.push_str(
            "perhaps: the interval does not hold 1, but among so many figures some do by chance.\n",
        );
    }
    let few = all.iter().filter(|one| one.runs.iter().any(|runs| *runs < ENOUGH)).count();
    if few > 0 {
        let _ = writeln!(
            text,
            "{few} figures have fewer than {ENOUGH} runs on a side: hardly any difference can be told from chance there; more --rounds would."
        );
    }
    let widest = unknown.iter().filter(|one| is_relative(one.figure)).filter_map(|one| {
        let interval = one.interval?;
        Some((interval.high / interval.low.max(f64::MIN_POSITIVE), one))
    });
    if let Some((_, one)) = widest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            text,
            "unknown is not unchanged: {} of {} in {} may be anything within its interval.",
            one.figure, one.contender, one.case
        );
    }
    text
}
