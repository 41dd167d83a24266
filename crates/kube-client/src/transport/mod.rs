//! Connections, and noticing when they are dead.

mod connector;
mod io;
mod spread;
mod tcp;
mod upgrades;

pub(crate) use connector::DeadlineConnector;
pub(crate) use spread::{ROOM, Spread};
pub(crate) use tcp::tcp_connector;
pub(crate) use upgrades::Upgrades;
