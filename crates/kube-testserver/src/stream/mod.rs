//! Connections that leave HTTP behind: `exec`, `attach` and `port-forward` over websockets and SPDY.

mod answer;
mod ask;
mod channel;
mod command;
mod forward;
mod handshake;
mod outcome;
mod sessions;
mod spdy;
mod tunnel;

pub(crate) use answer::answer;
pub(crate) use ask::is_stream;
pub(crate) use sessions::Sessions;
