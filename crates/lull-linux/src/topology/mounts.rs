//! The mount table, `/proc/self/mountinfo`.
//!
//! One mount per line: `id parent major:minor root point options [tags…] - type source super-options`. Blanks, tabs,
//! newlines and backslashes in names are written as `\ooo` (octal), in option values commas too. In overlay options, a
//! colon inside a directory's name has a backslash of its own before it (itself written in octal).
//!
//! Edge cases: a line that does not parse is left out, since one odd mount must not hide the others; of mounts on the
//! same point the last wins, as for the kernel.

use std::path::{Component, Path, PathBuf};

use super::DevT;

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, as `/proc/PID/fdinfo` tells it of a descriptor.
    pub id: u64,
    /// What `st_dev` of its files is (but for btrfs subvolumes, which have numbers of their own).
    pub dev: DevT,
    /// Which directory of the file system is mounted.
    pub fs_root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// File-system type.
    pub fs: String,
    /// What was mounted: a device file, a host's export, or any word.
    pub source: String,
    /// Options of the file system (not of the mount), as written, octal escapes included.
    pub super_options: String,
}

impl Mount {
    /// Where a directory of the file system is to be seen through this mount, which may show a part of it only.
    pub fn directory(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        path.strip_prefix(&self.fs_root).ok().map(|below| self.point.join(below))
    }

    /// Parses one line.
    pub fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ');
        let id = left.next()?.parse().ok()?;
        let dev = left.nth(1)?.parse().ok()?;
        let fs_root = PathBuf::from(unescape(left.next()?));
        let point = PathBuf::from(unescape(left.next()?));
        let mut right = right.splitn(3, ' ');
        Some(Self {
            id,
            dev,
            fs_root,
            point,
            fs: unescape(right.next()?),
            source: unescape(right.next()?),
            super_options: right.next().unwrap_or_default().to_owned(),
        })
    }

    /// Is `option` one of the file system's options?
    pub fn has_option(&self, option: &str) -> bool {
        self.super_options.split(',').any(|found| found == option)
    }

    /// The directories an overlay is made of, the one that takes the writes first.
    pub fn layers(&self) -> Vec<PathBuf> {
        let mut upper = Vec::new();
        let mut lower = Vec::new();
        for option in self.super_options.split(',') {
            let Some((key, value)) = option.split_once('=') else { continue };
            let value = unescape(value);
            match key {
                "upperdir" => upper.push(plain(&value)),
                "lowerdir" => lower.extend(split_unescaped(&value, ':').iter().map(|dir| plain(dir))),
                "lowerdir+" | "datadir+" => lower.push(plain(&value)),
                _ => {}
            }
        }
        let all = upper.into_iter().chain(lower).filter(|dir| !dir.as_os_str().is_empty());
        // The kernel shows a relative one as it was given. Whoever mounted it stood beside the mount point, mostly.
        let beside = self.point.parent().unwrap_or(&self.point);
        all.map(|dir| beside.join(dir)).collect()
    }
}

/// All mounts of this process's namespace, oldest first.
#[derive(Clone, Debug, Default)]
pub struct MountTable(Vec<Mount>);

impl MountTable {
    /// Parses the whole file.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Mount::parse).collect())
    }

    /// All mounts, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// A mount of the file system with this number.
    pub fn by_dev(&self, dev: DevT) -> Option<&Mount> {
        self.0.iter().rev().find(|mount| mount.dev == dev)
    }

    /// The mount that `path` (absolute, without links) lies on.
    pub fn containing(&self, path: &Path) -> Option<&Mount> {
        let depth = |mount: &&Mount| mount.point.components().count();
        self.0.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(depth)
    }
}

/// Turns `\040` and its like back into the characters they stand for.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .filter(|digits| digits.iter().all(|digit| (b'0'..b'8').contains(digit)))
            .map(|digits| digits.iter().fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0')));
        match octal.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Splits at `separator` where no backslash stands before it.
fn split_unescaped(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == separator && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

/// Takes overlay's own backslashes away.
fn plain(text: &str) -> PathBuf {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    PathBuf::from(out)
}

#[cfg(test)]
mod tests;
