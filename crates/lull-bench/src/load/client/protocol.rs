//! What is asked, and where an answer ends. Pure.
//!
//! Source: <https://redis.io/docs/latest/develop/reference/protocol-spec/>; RFC 9112.

/// Bytes of a value that is set.
const VALUE_BYTES: usize = 512;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// RESP 2.
    Redis,
    /// HTTP/1.1 with keep-alive.
    Http,
}

impl Protocol {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Http => "http",
        }
    }

    /// Appends a request for one of `items`.
    pub fn request(self, items: u64, random: &mut fastrand::Rng, out: &mut Vec<u8>) {
        let item = random.u64(0..items.max(1));
        match self {
            Self::Http => out.extend(format!("GET /f{item} HTTP/1.1\r\nHost: lull\r\n\r\n").bytes()),
            Self::Redis => {
                let key = format!("key:{item}");
                let length = key.len();
                if random.bool() {
                    out.extend(format!("*2\r\n$3\r\nGET\r\n${length}\r\n{key}\r\n").bytes());
                } else {
                    out.extend(
                        format!("*3\r\n$3\r\nSET\r\n${length}\r\n{key}\r\n${VALUE_BYTES}\r\n").bytes(),
                    );
                    out.extend(std::iter::repeat_n(b'x', VALUE_BYTES));
                    out.extend(b"\r\n");
                }
            }
        }
    }

    /// How long the answer that begins with `bytes` is, once that can be told.
    ///
    /// # Errors
    /// What is wrong with it: not of this protocol, or an error of the server.
    pub fn answer_length(self, bytes: &[u8]) -> Result<Option<usize>, String> {
        match self {
            Self::Redis => redis(bytes),
            Self::Http => http(bytes),
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn redis(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(end) = find(bytes, b"\r\n") else { return Ok(None) };
    let line = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    match line.split_at_checked(1) {
        Some(("+" | ":", _)) => Ok(Some(end + 2)),
        Some(("$", "-1")) => Ok(Some(end + 2)),
        Some(("$", length)) => {
            let length: usize = length.parse().map_err(|_| format!("'{line}' is not a length"))?;
            Ok(Some(end + 2 + length + 2))
        }
        _ => Err(format!("the server said '{line}'")),
    }
}

fn http(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("the server said '{status}'"));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| format!("an answer without a length: '{status}'"))?;
    Ok(Some(end + 4 + length))
}

#[cfg(test)]
mod tests;
