//! Compiles the BPF programs with the newest clang at hand, and the shared policy header natively so that tests can
//! compare it with `lull-core`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

/// Oldest and newest clang that are looked for by versioned name, newest first.
const CLANG_VERSIONS: std::ops::RangeInclusive<u32> = 14..=23;

fn runs(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// `$CLANG`, else the highest `clang-N`, else `clang`.
fn find_clang() -> io::Result<PathBuf> {
    if let Some(named) = env::var_os("CLANG") {
        return Ok(named.into());
    }
    CLANG_VERSIONS
        .rev()
        .map(|version| PathBuf::from(format!("clang-{version}")))
        .chain([PathBuf::from("clang")])
        .find(|program| runs(program))
        .ok_or_else(|| {
            io::Error::other(
                "clang 14 or newer is needed to build the BPF programs: run scripts/deps.sh, or set CLANG",
            )
        })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    let multiarch = format!("/usr/include/{arch}-linux-gnu");
    let clang = find_clang()?;
    for name in ["block", "net", "pages", "reserve", "restart", "sched"] {
        libbpf_cargo::SkeletonBuilder::new()
            .source(format!("src/bpf/{name}.bpf.c"))
            .obj(out.join(format!("{name}.bpf.o")))
            .clang(&clang)
            .clang_args(["-mcpu=v3", "-Wall", "-Werror", "-I", &multiarch])
            .build()?;
    }
    cc::Build::new().file("src/bpf/policy_check.c").warnings_into_errors(true).compile("lull_bpf_policy");
    Ok(())
}
