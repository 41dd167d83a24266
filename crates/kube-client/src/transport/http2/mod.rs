//! HTTP/2 connections (RFC 9113). Callers write to the h2 connection directly, without a task or channel in between.

mod body;
mod connection;
mod error;
mod keepalive;
mod read_ahead;
mod slots;
mod upload;

pub(super) use body::Http2Body;
pub(super) use connection::{Http2Connection, ResponseFuture};
pub(crate) use error::NotProcessed;
pub(super) use slots::{MAX_STREAMS, Slot, StreamSlots};
