//! Server-side apply as pure functions.
