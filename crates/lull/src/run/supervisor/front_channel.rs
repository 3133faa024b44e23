//! The supervisor's end of the channel to the front, and what is kept to be told at the end.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use lull_linux::job::passing::{Channel, Packet};
use lull_linux::seccomp::Listener;

use crate::run::messages::{FromSupervisor, ToSupervisor};
use lull_engine::resource::News;

/// See the module.
pub(crate) struct FrontChannel {
    channel: Channel,
    /// What could not be had, for a person.
    pub(crate) notes: Vec<String>,
    /// What was asked for and could not be had.
    pub(crate) unmet: Vec<String>,
}

impl FrontChannel {
    /// With what is to be told already.
    pub(crate) const fn new(channel: Channel, notes: Vec<String>) -> Self {
        Self { channel, notes, unmet: Vec::new() }
    }

    /// Sends a message.
    pub(crate) fn tell(&self, message: &FromSupervisor) {
        if let Ok(bytes) = serde_json::to_vec(message) {
            // A front that does not keep up misses a status line; a dead one misses everything.
            let _ = self.channel.send(&bytes, None);
        }
    }

    /// Tells what has to be told now, and keeps all for the end.
    pub(crate) fn take_in(&mut self, news: Vec<News>) {
        for one in news {
            match one {
                News::Note(note) => self.notes.push(note),
                News::Unmet(unmet) => self.unmet.push(unmet),
                News::Told(text) => {
                    self.tell(&FromSupervisor::Told(text.clone()));
                    self.notes.push(text);
                }
            }
        }
    }

    /// Waits for the front's word about the listener. `None`: the front is gone before the job began.
    pub(crate) fn wait_for_listener(&mut self) -> Option<Option<Arc<Listener>>> {
        loop {
            let Ok(Packet::Message(bytes, fd)) = self.channel.receive(false) else { return None };
            match (serde_json::from_slice(&bytes), fd) {
                (Ok(ToSupervisor::Listener), Some(fd)) => {
                    let listener = Listener::new(fd);
                    if !listener.wake_synchronously() {
                        self.notes.push("this kernel cannot wake the gate synchronously (Linux 6.6 can): a gated call takes about three times as long".to_owned());
                    }
                    return Some(Some(Arc::new(listener)));
                }
                (Ok(ToSupervisor::NoListener(why)), _) => {
                    self.notes.extend(why);
                    return Some(None);
                }
                _ => {}
            }
        }
    }

    /// The front's next message; nothing if there is none yet.
    ///
    /// # Errors
    /// When the front is gone.
    pub(crate) fn hear(&self) -> Result<Option<ToSupervisor>, FrontGone> {
        loop {
            match self.channel.receive(true) {
                Ok(Packet::Message(bytes, _)) => {
                    if let Ok(message) = serde_json::from_slice(&bytes) {
                        return Ok(Some(message));
                    }
                }
                Ok(Packet::Nothing) => return Ok(None),
                Ok(Packet::Closed) | Err(_) => return Err(FrontGone),
            }
        }
    }
}

impl AsRawFd for FrontChannel {
    fn as_raw_fd(&self) -> RawFd {
        self.channel.as_raw_fd()
    }
}

/// Nobody is at the other end.
#[derive(Debug)]
pub(crate) struct FrontGone;

#[cfg(test)]
mod tests;
