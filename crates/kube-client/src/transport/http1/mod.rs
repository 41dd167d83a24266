//! HTTP/1.1: connections that carry one request at a time, and a client that keeps idle ones.

mod body;
mod client;
mod connection;
mod health;
mod idle;

pub(crate) use body::Http1Body;
pub(super) use client::Http1Client;
pub(super) use connection::Http1Connector;
