//! The states of a watcher, one struct each.

use tokio::time::Instant;

/// Where a watcher is.
#[derive(Debug)]
pub(super) enum State {
    InitPage(InitPage),
    /// A streaming list is requested.
    InitialWatch,
    /// A streaming list runs, its end is not reached.
    InitialEvents,
    InitListed(InitListed),
    /// A watch is over, and the server is asked whether it still knows what it knew.
    Doubtful(InitListed),
    Watching(Watching),
}

/// A page of a list is on its way.
#[derive(Debug)]
pub(super) struct InitPage {
    pub(super) page: Page,
}

/// Which part of the list.
#[derive(Debug)]
pub(super) enum Page {
    First,
    /// The one this continue token stands for.
    Next(String),
    /// Everything at once, because the token of a page had expired.
    Whole,
}

/// Everything up to a version is known, a watch from there is requested.
#[derive(Debug)]
pub(super) struct InitListed {
    pub(super) version: String,
}

/// A watch runs.
#[derive(Debug)]
pub(super) struct Watching {
    pub(super) version: String,
    pub(super) since: Instant,
    /// Whether it brought news.
    pub(super) progressed: bool,
    /// Whether it brought anything, so that the server's version is known to be no older.
    pub(super) heard: bool,
}
