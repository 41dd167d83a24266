//! Connections, and noticing when they are dead.

mod any;
mod connector;
mod io;
mod spread;
mod tcp;
mod upgrades;

#[cfg(feature = "openssl-tls")]
pub(crate) use any::AnyIo;
pub(crate) use any::{AnyConnector, Connects, any};
pub(crate) use connector::DeadlineConnector;
pub(crate) use spread::{ROOM, Spread};
pub(crate) use tcp::{plain_tcp_connector, tcp_connector};
pub(crate) use upgrades::Upgrades;
