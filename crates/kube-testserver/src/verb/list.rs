use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use serde_json::{Map, Value, json};

use super::{Answer, Call, Content};
use crate::{
    failure::Failure,
    registry::Endpoint,
    route::{ListOptions, Match},
    selector::FieldSelector,
    store::{Key, Page, PageRequest},
    watch::{Filter, Start},
    world::World,
};

pub(super) fn list(world: &World, call: &Call) -> Result<Answer, Failure> {
    let options = ListOptions::parse(&call.query)?;
    let filter = filter(&call.endpoint, call.namespace.clone(), &options)?;
    let (at, start) = position(world, call, &options)?;
    let request = PageRequest {
        table: call.endpoint.resource.table,
        namespace: call.namespace.as_deref(),
        at,
        start,
        limit: options.limit,
        matches: &|stored| filter.matches(stored),
    };
    let page = world.store.page(request).map_err(|old| expired(world, call, &options, old.oldest))?;
    let selects_all = options.labels.is_empty() && options.fields.is_empty();
    let more = continuation(&page, call, selects_all);
    let content = Content::List { objects: page.objects, revision: page.revision, more };
    Ok(Answer::ok(content))
}

/// Where a watch starts, for calls that ask for one.
pub(crate) fn watch_start(
    world: &World,
    options: &ListOptions,
    stale: Option<u64>,
) -> Result<Start, Failure> {
    let initial = options.initial_events == Some(true);
    match options.resource_version {
        // A revision that is still to come is waited for without a word, as the genuine server does.
        Some(revision) if revision > 0 && !initial => Ok(Start::After(revision)),
        Some(revision) if revision > world.store.revision() => {
            Err(Failure::too_large_resource_version(revision, world.store.revision()))
        }
        _ if options.initial_events == Some(false) => Ok(Start::After(world.store.revision())),
        _ => Ok(Start::Present { announce_end: initial && options.bookmarks, at: stale }),
    }
}

/// What a list or watch is restricted to.
pub(crate) fn filter(
    endpoint: &Endpoint,
    namespace: Option<String>,
    options: &ListOptions,
) -> Result<Filter, Failure> {
    let check =
        |field: &str| if endpoint.selects(field) { Ok(()) } else { Err(endpoint.refuses_field(field)) };
    let mut fields = FieldSelector::parse(&options.fields, check).map_err(Failure::bad_request)?;
    if let Some(twin) = endpoint.resource.twin {
        fields = fields.renamed(|field| twin.stored_path(field));
    }
    Ok(Filter { namespace, labels: options.labels.clone(), fields })
}

/// Which state to list, and from which key on.
fn position(
    world: &World,
    call: &Call,
    options: &ListOptions,
) -> Result<(Option<u64>, Option<Key>), Failure> {
    let now = world.store.revision();
    if let Some(stale) = call.stale.filter(|stale| *stale < now) {
        return Ok((Some(stale), None));
    }
    if let Some(token) = &options.continue_token {
        if options.resource_version.is_some_and(|version| version > 0) {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Failure::bad_request(message));
        }
        let (revision, key) = read_token(token, call.namespace.as_deref())?;
        return Ok((revision.filter(|revision| *revision != now), Some(key)));
    }
    match (options.resource_version, options.version_match) {
        (Some(asked), _) if asked > now => Err(Failure::too_large_resource_version(asked, now)),
        (Some(asked), Some(Match::Exact)) if asked < now => Ok((Some(asked), None)),
        // Everything else is served from the present, which is never older than what was asked for. With a limit,
        // a plain revision means exactly that one.
        (Some(asked), None) if asked > 0 && asked < now && options.limit > 0 => Ok((Some(asked), None)),
        _ => Ok((None, None)),
    }
}

fn expired(world: &World, call: &Call, options: &ListOptions, oldest: u64) -> Failure {
    let Some(token) = &options.continue_token else {
        let asked = options.resource_version.unwrap_or(0);
        return Failure::expired(format!(
            "The resourceVersion for the provided list is too old: {asked} ({oldest})"
        ));
    };
    let mut failure = Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let rest = read_token(token, call.namespace.as_deref()).ok();
    failure.resume = rest.map(|(_, key)| write_token(None, &key, call.namespace.as_deref()));
    debug_assert!(world.store.revision() >= oldest);
    failure
}

fn continuation(page: &Page, call: &Call, selects_all: bool) -> Map<String, Value> {
    let namespace = call.namespace.as_deref();
    let mut more = no_more(call);
    if let Some(next) = &page.next {
        more.insert("continue".into(), write_token(Some(page.revision), next, namespace).into());
        if selects_all {
            more.insert("remainingItemCount".into(), page.remaining.into());
        }
    }
    more
}

/// The metadata of a list that is complete: of custom resources it has the field all the same.
pub(super) fn no_more(call: &Call) -> Map<String, Value> {
    let custom = call.endpoint.resource.custom;
    custom.then(|| ("continue".to_string(), Value::from(""))).into_iter().collect()
}

/// The token holds the revision of the whole list (none: whatever is present) and the next key below the namespace.
fn write_token(revision: Option<u64>, key: &Key, namespace: Option<&str>) -> String {
    let start = match namespace {
        Some(_) => format!("/{}", key.name()),
        None => format!("/{key}"),
    };
    let revision = revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
    BASE64_STANDARD_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}).to_string())
}

fn read_token(token: &str, namespace: Option<&str>) -> Result<(Option<u64>, Key), Failure> {
    let invalid = || {
        Failure::bad_request(
            "invalid continue token: continue key is not valid: it is none that this server gave out",
        )
    };
    let bytes = BASE64_STANDARD_NO_PAD.decode(token.trim_end_matches('=')).map_err(|_| invalid())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    let start = token["start"].as_str().and_then(|start| start.strip_prefix('/')).ok_or_else(invalid)?;
    let revision = token["rv"].as_i64().ok_or_else(invalid)?;
    let key = match namespace {
        Some(namespace) => Key::new(Some(namespace), start),
        None => Key::raw(start),
    };
    Ok((u64::try_from(revision).ok(), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_went_out() {
        let key = Key::new(Some("ns"), "a").successor();
        for (namespace, revision) in [(Some("ns"), Some(7)), (None, Some(7)), (None, None)] {
            let token = write_token(revision, &key, namespace);
            assert_eq!(read_token(&token, namespace), Ok((revision, key.clone())));
        }
        for bad in ["zzz", "", "e30", "eyJzdGFydCI6ImEifQ"] {
            assert_eq!(read_token(bad, None).unwrap_err().code, 400, "{bad}");
        }
    }
}
