//! GET of an object or a list, with pages and earlier revisions.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use serde_json::{Map, Value, json};

use crate::{
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    route::{ListOptions, ResourceVersionMatch},
    status_error::StatusError,
    storage::{Key, Page, PageRequest, Stored},
    watch::{self, Filter},
    webhook::Interruption,
};

pub(super) fn get(cluster: &ClusterState, call: &Call) -> Result<ApiResponse, StatusError> {
    if let Some(version) = call.query.get("resourceVersion") {
        let requested: u64 =
            version.parse().map_err(|_| StatusError::unreadable_resource_version(version))?;
        if requested > cluster.store().revision() {
            return Err(StatusError::too_large_resource_version(requested, cluster.store().revision()));
        }
    }
    if let Some(stale) = call.stale.filter(|stale| *stale < cluster.store().revision()) {
        let was = cluster.store().get_at(call.endpoint.resource.table, &call.key(), stale);
        let was = was.map_err(|old| {
            StatusError::expired(format!("The resourceVersion is too old: {stale} ({})", old.oldest))
        })?;
        return Ok(ApiResponse::ok(Content::Object(was.ok_or_else(|| call.not_found())?.clone())));
    }
    let stored =
        cluster.store().get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?;
    Ok(ApiResponse::ok(Content::Object(stored.clone())))
}

pub(super) fn list(cluster: &ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let options = ListOptions::parse(&call.query)?;
    let filter = watch::filter(&call.endpoint, call.namespace.clone(), &options)?;
    let (at, start) = position(cluster, call, &options)?;
    let oldest = cluster.oldest_listed();
    if call.stale.is_none() && at.is_some_and(|at| at < oldest) {
        return Err(expired(cluster, call, &options, oldest).into());
    }
    let from = start.clone();
    let request = PageRequest {
        table: call.endpoint.resource.table,
        namespace: call.namespace.as_deref(),
        at,
        start,
        limit: options.limit,
        matches: &|stored| filter.matches(stored),
    };
    let mut page =
        cluster.store().page(request).map_err(|old| expired(cluster, call, &options, old.oldest))?;
    if call.endpoint.resource.conversion.is_some() {
        page.objects = converted(cluster, call, &filter, &options, (at, from), page.objects)?;
    }
    let selects_all = options.labels.is_empty() && options.fields.is_empty();
    let more = continuation(cluster, &page, call, selects_all);
    let content = Content::List { objects: page.objects, revision: page.revision, more };
    Ok(ApiResponse::ok(content))
}

/// The objects of a page in the version of the call. A genuine server reads objects before it selects them: also one that the list does
/// not show fails it if it cannot be converted.
fn converted(
    cluster: &ClusterState,
    call: &Call,
    filter: &Filter,
    options: &ListOptions,
    (at, start): (Option<u64>, Option<Key>),
    page: Vec<Arc<Stored>>,
) -> Result<Vec<Arc<Stored>>, Interruption> {
    if options.limit > 0 {
        return call.read_all(cluster.storage(), &page);
    }
    let read = PageRequest {
        table: call.endpoint.resource.table,
        namespace: call.namespace.as_deref(),
        at,
        start,
        limit: 0,
        matches: &|stored| filter.fields.name().is_none_or(|name| name == stored.key.name()),
    };
    let read = cluster.store().page(read).map_err(|old| expired(cluster, call, options, old.oldest))?.objects;
    let converted = call.read_all(cluster.storage(), &read)?;
    let both = read.iter().zip(converted);
    Ok(both.filter(|(stored, _)| filter.matches(stored)).map(|(_, converted)| converted).collect())
}

/// The revision to list and the first key.
fn position(
    cluster: &ClusterState,
    call: &Call,
    options: &ListOptions,
) -> Result<(Option<u64>, Option<Key>), StatusError> {
    let now = cluster.store().revision();
    if let Some(stale) = call.stale.filter(|stale| *stale < now) {
        return Ok((Some(stale), None));
    }
    if let Some(token) = &options.continue_token {
        if options.resource_version.is_some_and(|version| version > 0) {
            let message = "specifying resource version is not allowed when using continue";
            return Err(StatusError::bad_request(message));
        }
        let token = ContinueToken::decode(token, call.namespace.as_deref())?;
        // The state that the token refers to was replaced by an earlier one, so that its revision means something else now.
        let replaced =
            token.incarnation != cluster.incarnation() || token.revision.is_some_and(|at| at > now);
        if token.revision.is_some() && replaced {
            return Err(expired(cluster, call, options, now));
        }
        return Ok((token.revision.filter(|revision| *revision != now), Some(token.start)));
    }
    match (options.resource_version, options.version_match) {
        (Some(requested), _) if requested > now => {
            Err(StatusError::too_large_resource_version(requested, now))
        }
        (Some(requested), Some(ResourceVersionMatch::Exact)) if requested < now => {
            Ok((Some(requested), None))
        }
        // Anything else is served from the current state, which is never older than requested. With a limit, a plain resourceVersion is
        // exact.
        (Some(requested), None) if requested > 0 && requested < now && options.limit > 0 => {
            Ok((Some(requested), None))
        }
        _ => Ok((None, None)),
    }
}

fn expired(cluster: &ClusterState, call: &Call, options: &ListOptions, oldest: u64) -> StatusError {
    let Some(token) = &options.continue_token else {
        let requested = options.resource_version.unwrap_or(0);
        return StatusError::expired(format!(
            "The resourceVersion for the provided list is too old: {requested} ({oldest})"
        ));
    };
    let mut failure = StatusError::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let rest = ContinueToken::decode(token, call.namespace.as_deref()).ok();
    failure.resume = rest.map(|rest| {
        let rest = ContinueToken { revision: None, incarnation: cluster.incarnation(), ..rest };
        rest.encode(call.namespace.as_deref())
    });
    debug_assert!(cluster.store().revision() >= oldest);
    failure
}

fn continuation(cluster: &ClusterState, page: &Page, call: &Call, selects_all: bool) -> Map<String, Value> {
    let mut more = no_more(call);
    if let Some(next) = page.next.clone() {
        let token =
            ContinueToken { revision: Some(page.revision), incarnation: cluster.incarnation(), start: next };
        more.insert("continue".into(), token.encode(call.namespace.as_deref()).into());
        if selects_all {
            more.insert("remainingItemCount".into(), page.remaining.into());
        }
    }
    more
}

/// The metadata of a complete list: custom resources have an empty `continue`.
pub(super) fn no_more(call: &Call) -> Map<String, Value> {
    let custom = call.endpoint.resource.custom;
    custom.then(|| ("continue".to_string(), Value::from(""))).into_iter().collect()
}

/// Where the next page of a list starts. Clients treat the encoded form as opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContinueToken {
    /// The revision of the list; `None`: the current state.
    revision: Option<u64>,
    /// The cluster's incarnation, which the revision belongs to.
    incarnation: u64,
    start: Key,
}

impl ContinueToken {
    fn encode(&self, namespace: Option<&str>) -> String {
        let start = match namespace {
            Some(_) => format!("/{}", self.start.name()),
            None => format!("/{}", self.start),
        };
        let revision = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let token =
            json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start, "incarnation": self.incarnation});
        BASE64_STANDARD_NO_PAD.encode(token.to_string())
    }

    fn decode(token: &str, namespace: Option<&str>) -> Result<Self, StatusError> {
        let invalid = || {
            StatusError::bad_request(
                "invalid continue token: continue key is not valid: it was not issued by this server",
            )
        };
        let bytes = BASE64_STANDARD_NO_PAD.decode(token.trim_end_matches('=')).map_err(|_| invalid())?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
        let start = token["start"].as_str().and_then(|start| start.strip_prefix('/')).ok_or_else(invalid)?;
        let revision = token["rv"].as_i64().ok_or_else(invalid)?;
        let incarnation = token["incarnation"].as_u64().ok_or_else(invalid)?;
        let start = match namespace {
            Some(namespace) => Key::new(Some(namespace), start),
            None => Key::raw(start),
        };
        Ok(Self { revision: u64::try_from(revision).ok(), incarnation, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continue_tokens_round_trip() {
        let start = Key::new(Some("ns"), "a").successor();
        for (namespace, revision) in [(Some("ns"), Some(7)), (None, Some(7)), (None, None)] {
            let token = ContinueToken { revision, incarnation: 2, start: start.clone() };
            assert_eq!(ContinueToken::decode(&token.encode(namespace), namespace), Ok(token));
        }
        for bad in ["zzz", "", "e30", "eyJzdGFydCI6ImEifQ"] {
            assert_eq!(ContinueToken::decode(bad, None).unwrap_err().code, 400, "{bad}");
        }
    }
}
