//! The index of the OpenAPI v3 documents. It has their hashes: clients that know the hash of a document need not read it again.

use std::fmt::Write as _;

use ring::digest::{Context, SHA512};
use serde_json::{Map, Value, json};

use super::{Scheme, openapi};

/// `/openapi/v3`. URLs contain hashes, so that clients do not use outdated caches.
pub(crate) fn index(scheme: &Scheme) -> Value {
    let mut paths = Map::new();
    for name in openapi::names(scheme) {
        let url = url(&name, &hash_of(scheme, &name).unwrap_or_default());
        paths.insert(name, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// The address of a document.
pub(crate) fn url(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// The hash of a document of OpenAPI v3, by its name in the index.
pub(crate) fn hash_of(scheme: &Scheme, name: &str) -> Option<String> {
    let (group, version) = openapi::group_version(name)?;
    scheme.document_hash(group, version, || {
        let mut context = start();
        context.update(name.as_bytes());
        let mut endpoints = scheme.version(group, version).peekable();
        endpoints.peek()?;
        for endpoint in endpoints {
            if endpoint.resource.custom {
                context.update(openapi::document(scheme, name)?.to_string().as_bytes());
                break;
            }
            // The rest of a document of built-in kinds is part of the program.
            context.update(endpoint.plural().as_bytes());
        }
        Some(finish(context))
    })
}

/// The hash of the document of OpenAPI v2, which is made of those of v3.
pub(crate) fn hash_of_all(scheme: &Scheme) -> String {
    let mut context = start();
    for name in openapi::names(scheme) {
        context.update(hash_of(scheme, &name).unwrap_or_default().as_bytes());
    }
    finish(context)
}

fn start() -> Context {
    let mut context = Context::new(&SHA512);
    context.update(concat!(env!("CARGO_PKG_VERSION"), "\n").as_bytes());
    context.update(openapi::VERSION.as_bytes());
    context
}

fn finish(context: Context) -> String {
    context.finish().as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}
