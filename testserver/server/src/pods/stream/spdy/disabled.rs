//! Without the feature `spdy`, no client can agree on SPDY.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    pods::{
        Kubelet,
        stream::{channel::V4, request::StreamRequest},
    },
    status_error::StatusError,
};

/// The websocket protocols of `port-forward`.
pub(super) const FORWARD: &[&str] = &[V4];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {}

type Agreed = (Carrier, &'static str, Vec<(HeaderName, HeaderValue)>);

pub(super) fn agree(_: &str, _: &[&'static str], _: &HeaderMap) -> Option<Result<Agreed, StatusError>> {
    None
}

pub(super) fn carrier(_: &str) -> Option<Carrier> {
    None
}

pub(super) async fn serve_on<I>(carrier: Carrier, _: I, _: StreamRequest, _: &Kubelet) {
    match carrier {}
}
