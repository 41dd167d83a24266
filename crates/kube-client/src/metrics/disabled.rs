//! Without the feature `metrics`: nothing is measured.

use http::{Request, StatusCode};

pub(crate) use hyper_util::client::legacy::connect::dns::GaiResolver as Resolver;

/// Does nothing.
pub(crate) struct Waiting;

impl Waiting {
    pub(crate) fn start() -> Self {
        Self
    }

    pub(crate) fn end<B>(self, _: &mut Request<B>) {}
}

pub(crate) fn repeated<B>(_: &mut Request<B>, _: StatusCode) {}

pub(crate) fn plugin_called(_: i32, _: &'static str) {}
