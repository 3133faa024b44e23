//! Who may change what.
//!
//! A process has a root reservation per resource (`rdom`), which is the internal reservation above the queue in which it runs, and one that
//! its children will have (`crdom`). Everybody may list and read. Who wants to write, to create children or to enter needs:
//!
//! 1. The reservation is its root reservation, or below that.
//! 2. Outside of any domain, where the root reservation is the whole resource, the reservation or one above it belongs to the user, or the
//!    user is root. The paper's systems put every user into a domain at login; here most processes are in none, and must not rule the whole.

use super::{Id, ROOT, Tree};

/// The number of the superuser.
pub const SUPERUSER: u32 = 0;

/// Where the mount usually is: a path that begins so is meant from the mount on, wherever that is.
pub const USUAL_MOUNT: &str = "/reserv";

/// A list of reservations, as it is written to `crdom` and `enter`: for each the resource's name and the path below it. A path is absolute, or
/// from the mount on.
pub fn listed<'a>(text: &'a str, mount: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.split_whitespace().map(move |path| {
        let tops = [mount, USUAL_MOUNT].into_iter();
        let below =
            tops.filter(|top| !top.is_empty()).find_map(|top| path.strip_prefix(top)?.strip_prefix('/'));
        let below = below.unwrap_or(path);
        below.split_once('/').unwrap_or((below, ""))
    })
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The user.
    pub user: u32,
    /// The process's root reservation in this tree.
    pub root: Id,
}

/// Why somebody may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Another domain's.
    #[error("{path} is not in the reservation domain of the process, which is {root}")]
    OtherDomain {
        /// The reservation.
        path: String,
        /// The process's root reservation.
        root: String,
    },
    /// Another user's.
    #[error("{path} belongs to user {owner}, not to user {user}")]
    OtherUser {
        /// The reservation.
        path: String,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        user: u32,
    },
}

impl Tree {
    /// Whether somebody may change, divide or enter a reservation.
    ///
    /// # Errors
    /// Why not.
    pub fn may_use(&self, rights: Rights, id: Id) -> Result<(), Denied> {
        let Rights { user, root } = rights;
        if !self.is_within(id, root) {
            return Err(Denied::OtherDomain { path: self.full_path(id), root: self.full_path(root) });
        }
        let mut owners = self.upwards(id).filter_map(|above| self.get(above)).map(|above| above.owner);
        if root != ROOT || user == SUPERUSER || owners.any(|owner| owner == user) {
            return Ok(());
        }
        let owner = self.get(id).map_or(SUPERUSER, |found| found.owner);
        Err(Denied::OtherUser { path: self.full_path(id), owner, user })
    }
}
