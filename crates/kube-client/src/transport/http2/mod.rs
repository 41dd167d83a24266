//! HTTP/2 connections (RFC 9113), used by whoever has a request: no task and no channel stands between a caller and the wire.

mod alive;
mod body;
mod connection;
mod error;
mod line;
mod upload;

pub(super) use body::Incoming;
pub(super) use connection::{Connection, Exchange};
pub(crate) use error::NotTaken;
pub(super) use line::{Line, Place, ROOM};
