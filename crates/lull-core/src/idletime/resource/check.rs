//! Everything that must hold of a resource at any moment, in one function.

use super::Resource;
use crate::base::time::{Interval, Nanos};
use crate::idletime::machine::{Event, State, transition};

impl Resource {
    /// Panics unless all that must hold right after a step at `now` does hold.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub fn check_invariants(&self, now: Nanos) {
        let state = self.state(now);
        let view = self.track.view();
        let wake = self.wake(now);
        assert_eq!(
            self.state,
            self.state(self.now),
            "the state that was kept is the one that follows from the rest"
        );

        let foreground = view.foreground.in_service > 0;
        assert_eq!(foreground, state == State::Foreground, "F exactly while foreground is in service (I-2)");
        if self.setting.interval == Interval::NONE {
            assert_ne!(state, State::Interval, "no interval runs under plain priority (I-5)");
        }
        let seen = view.foreground.last_start.max(view.foreground.last_end) > Nanos::ZERO;
        if self.setting.interval == Interval::Infinite && seen {
            assert!(!state.admits_background(), "nothing after an infinite interval began (I-5)");
        }
        if let (State::Interval, Some(end)) = (state, self.interval_end(now)) {
            assert!(end > now, "an interval that has run out is over");
            assert!(end.since(now) <= end.since(self.interval_from(now)));
        }

        assert!(
            !self.may_start(now, state),
            "a request that may start does not wait ({state:?}, {} waiting)",
            self.waiting.len()
        );
        assert!(
            self.waiting.iter().zip(self.waiting.iter().skip(1)).all(|(a, b)| a.arrived <= b.arrived),
            "requests wait in the order of their arrival"
        );
        assert!(self.waiting.iter().all(|waiting| waiting.arrived <= now), "nobody arrives in the future");
        assert!(self.grants.is_in_order(), "grants are in order");
        assert!(
            self.grants.tickets().all(|ticket| self.waiting.iter().all(|waiting| waiting.ticket != ticket)),
            "no request both waits and runs"
        );

        let nothing = wake.at.is_none() && !wake.foreground_end && !wake.background_end;
        let never = state == State::Interval && self.setting.interval == Interval::Infinite;
        assert_eq!(nothing, self.waiting.is_empty() || never, "whoever waits is woken, and nobody else");
        assert!(wake.at.is_none_or(|at| at > now), "the time to wait for is ahead");
        assert_eq!(
            wake.foreground_end,
            !self.waiting.is_empty() && foreground,
            "the foreground's end is awaited while it is there"
        );

        for state in State::ALL {
            for event in Event::ALL {
                let possible = transition(state, event, self.setting.variant).is_some();
                assert!(
                    possible || self.counters.get(state, event) == 0,
                    "{event:?} cannot happen in {state:?}"
                );
            }
        }
    }
}
