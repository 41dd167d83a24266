//! Hashes of the OpenAPI documents: clients that know the hash of a document need not read it again.

use std::{collections::BTreeMap, fmt::Write as _};

use parking_lot::Mutex;
use ring::digest::{Context, SHA512};

use super::{Scheme, openapi};

/// The hashes of the documents by name, until a resource of their group changes.
#[derive(Debug, Default)]
pub(super) struct Hashes(Mutex<BTreeMap<String, String>>);

impl Hashes {
    pub(super) fn forget(&self, group: &str) {
        self.0.lock().retain(|name, _| openapi::group_version(name).is_none_or(|(of, _)| of != group));
    }
}

/// The hash of a document of OpenAPI v3, by its name in the index.
pub(crate) fn of_document(scheme: &Scheme, name: &str) -> Option<String> {
    if let Some(known) = scheme.hashes.0.lock().get(name) {
        return Some(known.clone());
    }
    let (group, version) = openapi::group_version(name)?;
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
    let hash = finish(context);
    scheme.hashes.0.lock().insert(name.to_owned(), hash.clone());
    Some(hash)
}

/// The hash of the document of OpenAPI v2, which is made of those of v3.
pub(crate) fn of_all(scheme: &Scheme) -> String {
    let mut context = start();
    for name in openapi::names(scheme) {
        context.update(of_document(scheme, &name).unwrap_or_default().as_bytes());
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
