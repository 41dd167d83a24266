//! HTTP/1.1: connections that carry one request at a time, kept for the next one while none of them is suspect.

mod body;
mod client;
mod health;

pub(crate) use body::Http1Body;
pub(super) use client::Http1Client;
