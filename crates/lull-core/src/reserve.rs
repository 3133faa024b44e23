//! Reservations: who gets how much of one resource, as a tree (Eclipse/BSD's `/reserv`, Bruno and others, USENIX 1999).
//!
//! Problem: the idle class says who comes last; it does not say how two that both matter share a resource. Approach: a [`Tree`] per
//! resource. Its root is the whole resource. An *internal* reservation divides what it has among its children, a *queue* is where
//! requests wait. Each has [`Terms`]: a minimum, in the resource's [`Unit`], and a weight.
//!
//! | part | idea |
//! |---|---|
//! | [`mod@unit`] | amounts of a resource, and how they are written |
//! | [`terms`] | minimum and weight: the content of a `share` file |
//! | [`backlog`] | what may wait in a queue: the content of a `backlog` file |
//! | [`apportion`] | who gets what while some are busy |
//! | [`domain`] | who may change what |
//!
//! Rules, by the codes of `docs/papers.md`:
//!
//! - *Admission* (R-5): the minima of siblings add up to their parent's minimum at most, after every change; the root's terms are fixed.
//! - *Apportionment* (R-6): a parent's amount goes to its busy children by weight. The paper's formula knows no minimum; here nobody busy
//!   gets less than its minimum, which admission makes possible ([`apportion`]).
//! - *Collection* (R-9): a reservation whose last reference is gone, that no process uses and that has no child, goes; unless its flag was
//!   cleared.
//!
//! Names are `r0`, `r1`, … and `q0`, `q1`, … and are not given again while their parent lives, so that a stale name means nobody; `q0`, the
//! default queue, is the exception. Units: amounts in the resource's smallest unit ([`mod@unit`]). Source: sections 2.1, 2.2 and 2.4.

use std::collections::BTreeMap;

pub mod apportion;
pub mod backlog;
pub mod domain;
pub mod terms;
pub mod unit;

pub use backlog::{Backlog, Bound};
pub use domain::{Denied, Rights};
pub use terms::{ParseTermsError, Terms};
pub use unit::{Unit, Whole};

/// One reservation of a tree; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u32);

/// What a reservation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May have children.
    Internal,
    /// Takes requests.
    Queue,
}

impl Kind {
    /// The letter with which its names begin.
    const fn letter(self) -> char {
        match self {
            Self::Internal => 'r',
            Self::Queue => 'q',
        }
    }

    /// What a name like `r3` says, and its number.
    pub fn of_name(name: &str) -> Option<(Self, u32)> {
        let kind = match name.chars().next()? {
            'r' => Self::Internal,
            'q' => Self::Queue,
            _ => return None,
        };
        let number: u32 = name.get(1..)?.parse().ok()?;
        // One number has one name.
        (format!("{}{number}", kind.letter()) == name).then_some((kind, number))
    }
}

/// One reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its parent; `None` for the root.
    pub parent: Option<Id>,
    /// `r3`, `q0`; empty for the root.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Minimum and weight.
    pub terms: Terms,
    /// The user to whom it belongs.
    pub owner: u32,
    /// What may wait in it, for a queue.
    pub backlog: Backlog,
    /// … at each of its sockets of what comes, for a queue of an interface.
    pub input: Backlog,
    /// Whether it goes with its last reference.
    pub collect: bool,
    /// Open descriptors and child domains that name it.
    pub references: u32,
    /// Its children, in order of their making.
    pub children: Vec<Id>,
    /// The sum of its children's minima.
    promised: u64,
    /// The next numbers of its children: internal reservations, queues.
    next: [u32; 2],
    /// Its children by name.
    names: BTreeMap<String, Id>,
}

/// Why a change of the tree is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such reservation.
    #[error("there is no such reservation; it may have gone with its last reference")]
    Gone,
    /// The root's terms are fixed.
    #[error("the whole resource has a fixed share: write to the share of a reservation below it")]
    Fixed,
    /// A queue has no children.
    #[error(
        "{0} is a queue, and a queue has no children: create it in an internal reservation, r0 and so on"
    )]
    IsQueue(String),
    /// There is one of this name.
    #[error("there is {0} already")]
    Exists(String),
    /// No such name can be given.
    #[error("'{0}' is not a reservation's name: r0, r1, … are internal, q0, q1, … are queues")]
    BadName(String),
    /// The minima of siblings exceed the parent's.
    #[error(
        "the minima of the children of {parent} would be {sum} together, and its own minimum is {have}: \
         ask for {free} at most, or raise {parent} first"
    )]
    Exceeds {
        /// The parent's path.
        parent: String,
        /// What the minima would add up to.
        sum: String,
        /// The parent's minimum.
        have: String,
        /// What is left for this one.
        free: String,
    },
    /// Its own children have been promised more.
    #[error(
        "the minima of the children of {path} are {promised} together: lower them first, or leave it {promised}"
    )]
    Promised {
        /// Its path.
        path: String,
        /// What its children have.
        promised: String,
    },
    /// It has children.
    #[error("{0} has children: remove them first")]
    HasChildren(String),
}

/// The reservations of one resource.
#[derive(Clone, Debug)]
pub struct Tree {
    name: String,
    whole: Whole,
    reservations: BTreeMap<Id, Reservation>,
    next: u32,
}

/// The root of every tree.
pub const ROOT: Id = Id(0);
/// The number of a root's weight: all of it.
const ROOT_WEIGHT: u32 = 100;
/// The default queue of a domain.
pub const DEFAULT_QUEUE: &str = "q0";

impl Tree {
    /// The whole resource `name`, which belongs to the user `owner`.
    pub fn new(name: impl Into<String>, whole: Whole, owner: u32) -> Self {
        let root = Reservation {
            parent: None,
            name: String::new(),
            kind: Kind::Internal,
            terms: Terms { minimum: whole.amount, weight: ROOT_WEIGHT },
            owner,
            backlog: Backlog::default(),
            input: Backlog::default(),
            collect: false,
            references: 0,
            children: Vec::new(),
            promised: 0,
            next: [0, 0],
            names: BTreeMap::new(),
        };
        Self { name: name.into(), whole, reservations: BTreeMap::from([(ROOT, root)]), next: 1 }
    }

    /// The resource's name: the first part of every path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much of the resource there is.
    pub const fn whole(&self) -> Whole {
        self.whole
    }

    /// One reservation.
    pub fn get(&self, id: Id) -> Option<&Reservation> {
        self.reservations.get(&id)
    }

    /// All of them, each after its parent.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &Reservation)> {
        self.reservations.iter().map(|(id, reservation)| (*id, reservation))
    }

    /// How many there are, the root included.
    pub fn len(&self) -> usize {
        self.reservations.len()
    }

    /// Never: there is always a root.
    pub fn is_empty(&self) -> bool {
        self.reservations.is_empty()
    }

    /// The names from the root down, like `r2/q0`; empty for the root.
    pub fn path(&self, id: Id) -> String {
        let mut names: Vec<&str> = self
            .upwards(id)
            .filter_map(|id| self.get(id))
            .filter(|found| found.parent.is_some())
            .map(|found| found.name.as_str())
            .collect();
        names.reverse();
        names.join("/")
    }

    /// The same with the resource before it, like `cpu/r2/q0`.
    pub fn full_path(&self, id: Id) -> String {
        let path = self.path(id);
        if path.is_empty() { self.name.clone() } else { format!("{}/{path}", self.name) }
    }

    /// The reservation with this path below the root; empty for the root itself.
    pub fn find(&self, path: &str) -> Option<Id> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(ROOT, |id, name| self.child(id, name))
    }

    /// The child of this name.
    pub fn child(&self, parent: Id, name: &str) -> Option<Id> {
        self.get(parent)?.names.get(name).copied()
    }

    /// A reservation and all above it, the root last.
    pub fn upwards(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(self.get(id).map(|_| id), |id| self.get(*id)?.parent)
    }

    /// Whether `id` is `above`, or descends from it.
    pub fn is_within(&self, id: Id, above: Id) -> bool {
        self.upwards(id).any(|found| found == above)
    }

    /// Creates a child with the next number, with no minimum and no weight.
    ///
    /// # Errors
    /// [`Refusal::Gone`], [`Refusal::IsQueue`].
    pub fn create(&mut self, parent: Id, kind: Kind, owner: u32) -> Result<Id, Refusal> {
        let next = self.get(parent).ok_or(Refusal::Gone)?.next[kind as usize];
        self.create_named(parent, &format!("{}{next}", kind.letter()), owner)
    }

    /// Creates a child of a certain name.
    ///
    /// # Errors
    /// [`Refusal::Gone`], [`Refusal::IsQueue`], [`Refusal::BadName`], [`Refusal::Exists`].
    pub fn create_named(&mut self, parent: Id, name: &str, owner: u32) -> Result<Id, Refusal> {
        let above = self.get(parent).ok_or(Refusal::Gone)?;
        if above.kind == Kind::Queue {
            return Err(Refusal::IsQueue(self.full_path(parent)));
        }
        let bad = || Refusal::BadName(name.to_owned());
        let (kind, number) = Kind::of_name(name).ok_or_else(bad)?;
        let after = number.checked_add(1).ok_or_else(bad)?;
        if self.child(parent, name).is_some() {
            return Err(Refusal::Exists(name.to_owned()));
        }
        let id = Id(self.next);
        self.next = self.next.checked_add(1).ok_or_else(bad)?;
        let reservation = Reservation {
            parent: Some(parent),
            name: name.to_owned(),
            kind,
            terms: Terms::default(),
            owner,
            backlog: Backlog::default(),
            input: Backlog::default(),
            collect: true,
            references: 0,
            children: Vec::new(),
            promised: 0,
            next: [0, 0],
            names: BTreeMap::new(),
        };
        self.reservations.insert(id, reservation);
        if let Some(above) = self.reservations.get_mut(&parent) {
            above.children.push(id);
            above.names.insert(name.to_owned(), id);
            above.next[kind as usize] = above.next[kind as usize].max(after);
        }
        self.check();
        Ok(id)
    }

    /// Sets minimum and weight, if the sums allow it.
    ///
    /// # Errors
    /// [`Refusal::Gone`], [`Refusal::Fixed`], [`Refusal::Exceeds`], [`Refusal::Promised`].
    pub fn set(&mut self, id: Id, terms: Terms) -> Result<(), Refusal> {
        let reservation = self.get(id).ok_or(Refusal::Gone)?;
        let parent = reservation.parent.ok_or(Refusal::Fixed)?;
        let above = self.get(parent).ok_or(Refusal::Gone)?;
        let show = |amount| self.whole.tell(amount);
        let others = above.promised - reservation.terms.minimum;
        let sum = others.saturating_add(terms.minimum);
        if sum > above.terms.minimum {
            return Err(Refusal::Exceeds {
                parent: self.full_path(parent),
                sum: show(sum),
                have: show(above.terms.minimum),
                free: show(above.terms.minimum - others),
            });
        }
        if terms.minimum < reservation.promised {
            return Err(Refusal::Promised { path: self.full_path(id), promised: show(reservation.promised) });
        }
        if let Some(above) = self.reservations.get_mut(&parent) {
            above.promised = sum;
        }
        if let Some(reservation) = self.reservations.get_mut(&id) {
            reservation.terms = terms;
        }
        self.check();
        Ok(())
    }

    /// Sets what may wait in a queue.
    ///
    /// # Errors
    /// [`Refusal::Gone`].
    pub fn set_backlog(&mut self, id: Id, backlog: Backlog) -> Result<(), Refusal> {
        self.reservations.get_mut(&id).ok_or(Refusal::Gone)?.backlog = backlog;
        Ok(())
    }

    /// Sets what may wait of what comes.
    ///
    /// # Errors
    /// [`Refusal::Gone`].
    pub fn set_input(&mut self, id: Id, input: Backlog) -> Result<(), Refusal> {
        self.reservations.get_mut(&id).ok_or(Refusal::Gone)?.input = input;
        Ok(())
    }

    /// Gives it to a user.
    ///
    /// # Errors
    /// [`Refusal::Gone`].
    pub fn give(&mut self, id: Id, owner: u32) -> Result<(), Refusal> {
        self.reservations.get_mut(&id).ok_or(Refusal::Gone)?.owner = owner;
        Ok(())
    }

    /// Says whether it goes with its last reference; the root never does.
    ///
    /// # Errors
    /// [`Refusal::Gone`], [`Refusal::Fixed`] for the root.
    pub fn set_collect(&mut self, id: Id, collect: bool) -> Result<(), Refusal> {
        if id == ROOT {
            return Err(Refusal::Fixed);
        }
        self.reservations.get_mut(&id).ok_or(Refusal::Gone)?.collect = collect;
        Ok(())
    }

    /// One more reference. False if it is gone.
    pub fn refer(&mut self, id: Id) -> bool {
        self.reservations.get_mut(&id).map(|found| found.references += 1).is_some()
    }

    /// One reference less.
    pub fn forget(&mut self, id: Id) {
        if let Some(found) = self.reservations.get_mut(&id) {
            debug_assert!(found.references > 0, "more references to {id:?} were forgotten than taken");
            found.references = found.references.saturating_sub(1);
        }
    }

    /// Those that go now, if no process uses them: no reference, no child, and the flag set.
    pub fn collectable(&self) -> impl Iterator<Item = Id> + '_ {
        self.iter()
            .filter(|(id, found)| {
                *id != ROOT && found.collect && found.references == 0 && found.children.is_empty()
            })
            .map(|(id, _)| id)
    }

    /// Removes one without children.
    ///
    /// # Errors
    /// [`Refusal::Gone`], [`Refusal::Fixed`] for the root, [`Refusal::HasChildren`].
    pub fn remove(&mut self, id: Id) -> Result<Reservation, Refusal> {
        let reservation = self.get(id).ok_or(Refusal::Gone)?;
        let parent = reservation.parent.ok_or(Refusal::Fixed)?;
        if !reservation.children.is_empty() {
            return Err(Refusal::HasChildren(self.full_path(id)));
        }
        let (minimum, own_name) = (reservation.terms.minimum, reservation.name.clone());
        if let Some(above) = self.reservations.get_mut(&parent) {
            above.children.retain(|child| *child != id);
            above.names.remove(&own_name);
            above.promised -= minimum;
        }
        let removed = self.reservations.remove(&id).ok_or(Refusal::Gone);
        self.check();
        removed
    }

    /// What is left of its minimum for more children.
    pub fn unpromised(&self, id: Id) -> u64 {
        self.get(id).map_or(0, |found| found.terms.minimum - found.promised)
    }

    /// What must be true between any two operations; what is not, in words.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn invariants(&self) -> Result<(), String> {
        let root = self.get(ROOT).ok_or("there is no root")?;
        let fixed = Terms { minimum: self.whole.amount, weight: ROOT_WEIGHT };
        if root.parent.is_some() || root.terms != fixed || root.kind != Kind::Internal || root.collect {
            return Err(format!("the root is {root:?}"));
        }
        for (id, found) in self.iter() {
            self.one_invariant(id, found).map_err(|what| format!("{}: {what}", self.full_path(id)))?;
        }
        let linked: usize = self.iter().map(|(_, found)| found.children.len()).sum();
        if linked + 1 == self.len() { Ok(()) } else { Err(format!("{linked} links to {} nodes", self.len())) }
    }

    fn one_invariant(&self, id: Id, found: &Reservation) -> Result<(), String> {
        if id.0 >= self.next {
            return Err(format!("its number {id:?} was not given yet"));
        }
        let mut sum = 0_u64;
        for child in &found.children {
            let below = self.get(*child).ok_or("a child is gone")?;
            let (kind, number) = Kind::of_name(&below.name).ok_or("a child has no proper name")?;
            if below.parent != Some(id) || *child <= id || kind != below.kind {
                return Err(format!("child {} is not its own", below.name));
            }
            if number >= found.next[kind as usize] || found.names.get(&below.name) != Some(child) {
                return Err(format!("the name {} can be given again", below.name));
            }
            sum = sum.checked_add(below.terms.minimum).ok_or("its children's minima overflow")?;
        }
        if found.names.len() != found.children.len() {
            return Err("names of children that are gone".to_owned());
        }
        match (found.kind, found.children.is_empty(), found.promised == sum) {
            (Kind::Queue, false, _) => Err("a queue with children".to_owned()),
            (_, _, false) => Err(format!("it has promised {sum} and counts {}", found.promised)),
            _ if sum > found.terms.minimum => {
                Err(format!("it has promised {sum} of a minimum of {}", found.terms.minimum))
            }
            _ => Ok(()),
        }
    }

    /// Debug builds look after every change; large trees only now and then.
    fn check(&self) {
        if cfg!(debug_assertions) && (self.len() < 64 || self.next.is_multiple_of(64)) {
            debug_assert_eq!(self.invariants(), Ok(()));
        }
    }
}

#[cfg(test)]
mod tests;
