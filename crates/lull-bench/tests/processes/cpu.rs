//! Loads of the CPU.

use std::process::{Command, Stdio};

use lull_bench::process::{Options, Proc, lines};

use super::{Outcome, ensure, program, total};

pub(super) fn every_cpu_foreground_reports() -> Outcome {
    for (load, flags) in [
        ("cpu-serve", ["--reads", "10"]),
        ("cpu-wakeup", ["--interval", "1ms"]),
        ("cpu-spin", ["--threads", "1"]),
    ] {
        let mut args = vec![load, "--seconds", "0.1", "--warmup", "10ms", "--json"];
        args.extend(flags);
        let (mut process, stdout) = Proc::spawn(&program()?.load_argv(args), Options::default())?;
        let output: Vec<String> = lines(stdout).iter().collect();
        ensure(process.wait()?.status.success(), format!("{load} failed"))?;
        let report = total(output.last().ok_or("no output")?)?;
        ensure(output.len() == 1 && report.load == load && report.requests > 0, format!("{output:?}"))?;
        ensure((report.seconds - 0.1).abs() < 1e-9, format!("{load} counted {} s", report.seconds))?;
    }
    Ok(())
}

pub(super) fn leashed_hogs_end() -> Outcome {
    let argv = program()?.load_argv(["cpu-hog", "--kind", "integer", "--leash", "--json"]);
    let mut hogs =
        Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    drop(hogs.stdin.take());
    let output = hogs.wait_with_output()?;
    ensure(output.status.success(), format!("{}", output.status))?;
    let report = total(String::from_utf8(output.stdout)?.trim())?;
    ensure(report.cpu_ns.is_some(), format!("{report:?}"))
}
