//! The status line: the bottom row of the terminal, kept free of the job's output by a scroll region, as package
//! managers do. Drawn by the front while it is in the foreground; wiped before the front stops or ends. What does not fit
//! beside the rest has a page of its own, and the pages take turns.
//!
//! Where there is no such terminal it may be a line of its own every ten seconds instead.

mod text;

use std::io::Write;

use lull_core::Nanos;

use lull_engine::report::status::Status;

/// How often it is told on a row, and where none can be kept.
const ROW_EVERY: Nanos = Nanos::from_millis(250);
const LINE_EVERY: Nanos = Nanos::from_secs(10);

/// Each page is shown for so many reports of the supervisor: three seconds.
const REPORTS_PER_PAGE: usize = 12;

/// Where it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Row,
    Lines,
}

/// Draws the line on stderr.
pub(crate) struct StatusLine {
    place: Place,
    rows: u16,
    columns: u16,
    latest: Option<Status>,
    reports: usize,
    drawn: bool,
}

/// Rows and columns of the terminal at stderr.
fn size() -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: a valid place for the answer.
    let outcome = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (outcome == 0 && size.ws_row > 2 && size.ws_col > 20).then_some((size.ws_row, size.ws_col))
}

/// Whether this process may write to the terminal now: its group is in the foreground.
fn is_in_foreground() -> bool {
    // SAFETY: both only ask.
    unsafe { libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp() }
}

impl StatusLine {
    /// Nothing is told.
    pub(crate) fn off() -> Self {
        Self::on_row(false)
    }

    /// A line that is drawn only if `wanted` and stderr is a terminal of some size.
    pub(crate) fn on_row(wanted: bool) -> Self {
        let size = size().filter(|_| wanted);
        let (rows, columns) = size.unwrap_or((0, 0));
        let place = if size.is_some() { Place::Row } else { Place::Nowhere };
        Self { place, rows, columns, latest: None, reports: 0, drawn: false }
    }

    /// Where no row can be kept, a line now and then.
    #[must_use]
    pub(crate) fn or_lines(self) -> Self {
        let place = if self.place == Place::Nowhere { Place::Lines } else { self.place };
        Self { place, ..self }
    }

    /// How often there has to be something to tell.
    pub(crate) fn every(&self) -> Option<Nanos> {
        match self.place {
            Place::Nowhere => None,
            Place::Row => Some(ROW_EVERY),
            Place::Lines => Some(LINE_EVERY),
        }
    }

    /// How often a row has to be drawn again.
    pub(crate) fn redraws_every(&self) -> Option<Nanos> {
        self.every().filter(|_| self.is_row())
    }

    fn is_row(&self) -> bool {
        self.place == Place::Row
    }

    /// The terminal's height, if the line is drawn there.
    pub(crate) fn rows(&self) -> Option<u16> {
        self.is_row().then_some(self.rows)
    }

    pub(crate) fn set(&mut self, status: Status) {
        self.reports = self.reports.wrapping_add(1);
        // At the start there is nothing to tell.
        if self.place == Place::Lines && self.reports > 1 {
            let _ = std::io::stderr().write_all(text::whole(&status).as_bytes());
        }
        self.latest = Some(status);
    }

    pub(crate) fn resized(&mut self) {
        if self.is_row()
            && let Some((rows, columns)) = size()
        {
            self.clear();
            (self.rows, self.columns) = (rows, columns);
        }
    }

    /// After the shell has continued us, the terminal is as the shell left it.
    pub(crate) fn resumed(&mut self) {
        self.drawn = false;
        self.resized();
    }

    pub(crate) fn draw(&mut self) {
        let Some(status) = self.latest.as_ref().filter(|_| self.is_row() && is_in_foreground()) else {
            return;
        };
        let pages = text::pages(status, usize::from(self.columns) - 1);
        let line = &pages[self.reports / REPORTS_PER_PAGE % pages.len()];
        let mut out = String::new();
        if !self.drawn {
            // Make room for one row, then keep it out of the scrolling part.
            out += &format!("\n\x1b7\x1b[1;{}r\x1b8\x1b[1A", self.rows - 1);
            self.drawn = true;
        }
        out += &format!("\x1b7\x1b[{};1H\x1b[2K\x1b[7m{line}\x1b[0m\x1b8", self.rows);
        let _ = std::io::stderr().write_all(out.as_bytes());
    }

    pub(crate) fn clear(&mut self) {
        if self.drawn {
            let _ = std::io::stderr().write_all(wipe(self.rows).as_bytes());
            self.drawn = false;
        }
    }
}

/// A line to the user. A closed stderr is the user's choice, and the job's status is still to be given.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("lull: {text}\n").as_bytes());
}

/// Gives the whole terminal back to scrolling and empties the row.
pub(crate) fn wipe(rows: u16) -> String {
    format!("\x1b7\x1b[r\x1b[{rows};1H\x1b[2K\x1b8")
}
