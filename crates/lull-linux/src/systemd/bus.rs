//! Asking a systemd manager, over its private socket, and hearing what is told on the system's bus.
//!
//! Problem: libraries for D-Bus bring a runtime of threads, and whoever calls this forks right after, which only a process with one thread
//! may do freely. Approach: `zvariant` knows the wire format; the rest is a line of greeting and one message each way, written
//! and read in turn. The private socket is there wherever the manager is, also without a bus daemon, and takes root and the manager's own user.
//!
//! Every wait for an answer is bounded by [`PATIENCE`]. Messages that answer nothing (signals) are skipped, but by [`Bus::hear`].
//!
//! Source: D-Bus specification ("Message Protocol", "Authentication Protocol"), org.freedesktop.systemd1(5).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use zvariant::serialized::{Context, Data};
use zvariant::{DynamicType, Endian, Value, to_bytes};

/// How long an answer may take; a manager that has no CPU is late.
const PATIENCE: Duration = Duration::from_secs(3);
const DESTINATION: &str = "org.freedesktop.systemd1";
pub(super) const MANAGER: &str = "org.freedesktop.systemd1.Manager";
pub(super) const MANAGER_PATH: &str = "/org/freedesktop/systemd1";

/// Length of the part of a message that tells the length of the rest, and where it ends on: multiples of this.
const FIXED_BYTES: usize = 16;
const ALIGNMENT: usize = 8;
/// More is no answer to what is asked here.
const MOST_BYTES: usize = 1 << 20;

const CALL: u8 = 1;
const ANSWER: u8 = 2;
const REFUSAL: u8 = 3;
const SIGNAL: u8 = 4;
const VERSION: u8 = 1;
/// Header fields, by their codes.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINED: u8 = 6;
const SIGNATURE: u8 = 8;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The connection.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The format.
    #[error("{0}")]
    Format(#[from] zvariant::Error),
    /// The manager's own answer.
    #[error("{name}: {text}")]
    Refused {
        /// The error's name.
        name: String,
        /// What it says.
        text: String,
    },
}

/// A field of a header, by its code.
type Field<'a> = (u8, Value<'a>);
/// Whose method is called: name, path and interface.
type Object<'a> = (&'a str, &'a str, &'a str);
type Header<'a> = (u8, u8, u8, u8, u32, u32, Vec<Field<'a>>);

/// A connection to a manager.
pub(super) struct Bus {
    stream: BufReader<UnixStream>,
    serial: u32,
}

impl Bus {
    /// Connects and greets.
    pub(super) fn connect(socket: &Path) -> Result<Self, BusError> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut bus = Self { stream: BufReader::new(stream), serial: 0 };
        let id = nix::unistd::geteuid().to_string();
        let digits: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
        bus.send(format!("\0AUTH EXTERNAL {digits}\r\n").as_bytes())?;
        let mut line = String::new();
        bus.stream.read_line(&mut line)?;
        if !line.starts_with("OK") {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, line.trim().to_owned()).into());
        }
        bus.send(b"BEGIN\r\n")?;
        Ok(bus)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Calls a method of the manager itself.
    pub(super) fn call<B>(&mut self, member: &str, body: &B) -> Result<Answer, BusError>
    where
        B: serde::Serialize + DynamicType,
    {
        self.call_on(MANAGER_PATH, MANAGER, member, body)
    }

    /// Calls a method of one of its objects.
    pub(super) fn call_on<B>(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        body: &B,
    ) -> Result<Answer, BusError>
    where
        B: serde::Serialize + DynamicType,
    {
        self.ask((DESTINATION, path, interface), member, body)
    }

    /// Calls a method of somebody's on the bus: by name, path and interface.
    pub(super) fn ask<B>(&mut self, of: Object<'_>, member: &str, body: &B) -> Result<Answer, BusError>
    where
        B: serde::Serialize + DynamicType,
    {
        self.serial += 1;
        let message = message(self.serial, of, member, body)?;
        self.send(&message)?;
        loop {
            let (kind, fields, body) = self.receive()?;
            let field = |code| fields.iter().find(|(found, _)| *found == code).map(|(_, value)| value);
            let Some(Value::U32(answered)) = field(REPLY_SERIAL) else { continue };
            if *answered != self.serial {
                continue;
            }
            let answer = Answer(body);
            return match kind {
                ANSWER => Ok(answer),
                REFUSAL => Err(BusError::Refused {
                    name: field(ERROR_NAME).and_then(text).unwrap_or_default(),
                    text: answer.get::<String>().unwrap_or_default(),
                }),
                _ => continue,
            };
        }
    }

    /// Waits for the next signal, for as long as that takes.
    pub(super) fn hear(&mut self) -> Result<Signal, BusError> {
        self.stream.get_ref().set_read_timeout(None)?;
        loop {
            let (kind, fields, body) = self.receive()?;
            let member = fields.iter().find(|(code, _)| *code == MEMBER).and_then(|(_, value)| text(value));
            if let (SIGNAL, Some(member)) = (kind, member) {
                return Ok(Signal { member, body: Answer(body) });
            }
        }
    }

    fn receive(&mut self) -> Result<(u8, Vec<Field<'static>>, Vec<u8>), BusError> {
        let mut bytes = vec![0; FIXED_BYTES];
        self.stream.read_exact(&mut bytes)?;
        let number = |at: usize| {
            let four = bytes.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
            usize::try_from(u32::from_le_bytes(four.unwrap_or_default())).unwrap_or(usize::MAX)
        };
        let (body, fields) = (number(4), number(12));
        if bytes.first() != Some(&b'l') || body > MOST_BYTES || fields > MOST_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        let header = (FIXED_BYTES + fields).next_multiple_of(ALIGNMENT);
        bytes.resize(header + body, 0);
        self.stream.read_exact(&mut bytes[FIXED_BYTES..])?;
        let body = bytes.split_off(header);
        let data = Data::new(bytes, Context::new_dbus(Endian::Little, 0));
        let ((_, kind, _, _, _, _, fields), _): (Header<'_>, usize) = data.deserialize()?;
        let fields = fields
            .into_iter()
            .map(|(code, value)| Ok((code, value.try_to_owned()?.into())))
            .collect::<Result<Vec<Field<'static>>, zvariant::Error>>()?;
        Ok((kind, fields, body))
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.to_string()),
        _ => None,
    }
}

fn message<B>(
    serial: u32,
    (destination, path, interface): Object<'_>,
    member: &str,
    body: &B,
) -> Result<Vec<u8>, BusError>
where
    B: serde::Serialize + DynamicType,
{
    // The body of a message is its arguments one after the other, without the brackets of a structure.
    let arguments = body.signature().to_string_no_parens();
    let body = to_bytes(Context::new_dbus(Endian::Little, 0), body)?;
    let number =
        |count: usize| u32::try_from(count).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let mut fields = Vec::new();
    for (code, kind, value) in [
        (PATH, b'o', path),
        (INTERFACE, b's', interface),
        (MEMBER, b's', member),
        (DESTINED, b's', destination),
        (SIGNATURE, b'g', &arguments),
    ] {
        fields.resize(usize::next_multiple_of(fields.len(), ALIGNMENT), 0);
        fields.extend_from_slice(&[code, 1, kind, 0]);
        // After code and kind a string's length stands where it should; a signature's takes one byte.
        let length = number(value.len())?.to_le_bytes();
        fields.extend_from_slice(if kind == b'g' { &length[..1] } else { &length });
        fields.extend_from_slice(value.as_bytes());
        fields.push(0);
    }
    let mut bytes = vec![b'l', CALL, 0, VERSION];
    for count in [number(body.len())?, serial, number(fields.len())?] {
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    bytes.extend_from_slice(&fields);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// What somebody has told everybody.
pub(super) struct Signal {
    pub(super) member: String,
    pub(super) body: Answer,
}

/// What a method has returned.
#[derive(Debug)]
pub(super) struct Answer(Vec<u8>);

impl Answer {
    /// Its only value.
    pub(super) fn get<T>(&self) -> Result<T, BusError>
    where
        T: for<'a> serde::Deserialize<'a> + zvariant::Type,
    {
        let data = Data::new(self.0.as_slice(), Context::new_dbus(Endian::Little, 0));
        Ok(data.deserialize::<T>()?.0)
    }
}

#[cfg(test)]
mod tests;
