//! HTTP/2 connections (RFC 9113) by hyper, each with the streams of its requests counted.

mod body;
mod connection;
mod error;
mod settings;
mod streams;

pub(super) use body::Http2Body;
pub(super) use connection::{Http2Connection, SendError};
pub(crate) use error::NotProcessed;
pub(super) use streams::{Closed, MAX_STREAMS, OpenStream, Streams};
