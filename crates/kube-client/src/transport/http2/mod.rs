//! HTTP/2 connections (RFC 9113) by h2: callers write to the connection directly, without a task or channel in between.
//!
//! `connection` takes a request: `streams` counts it, `upload` sends its body, `body` is that of the response. `keepalive` pings, and ends
//! what is not used; `error` says why a response is missing.

mod body;
mod connection;
mod error;
mod keepalive;
mod streams;
mod upload;

pub(super) use body::Http2Body;
pub(super) use connection::Http2Connection;
pub(crate) use error::NotProcessed;
pub(super) use streams::{Closed, MAX_STREAMS, OpenStream, Streams};
