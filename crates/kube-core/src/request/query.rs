//! Parameters as query strings, validated by the rules of the API.

use super::Error;
use crate::{
    encode::Query,
    params::{GetParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchParams},
};

/// The longest field manager that servers accept, in bytes.
const FIELD_MANAGER_MAX: usize = 128;

/// Default `timeoutSeconds` of a watch: just under the five minutes after which many proxies close it.
const WATCH_TIMEOUT_SECS: u32 = 290;

/// `get` is the only verb with parameters whose URL has no `?` without them, as in kube 5.0.
pub(super) fn get(gp: &GetParams) -> Option<Query> {
    let version = gp.resource_version.as_deref()?;
    let mut query = Query::default();
    query.push("resourceVersion", version);
    Some(query)
}

pub(super) fn list(lp: &ListParams) -> Result<Query, Error> {
    let mut query = Query::default();
    query.push_some("fieldSelector", lp.field_selector.as_deref());
    query.push_some("labelSelector", lp.label_selector.as_deref());
    query.push_number("limit", lp.limit);
    query.push_some("continue", lp.continue_token.as_deref());
    if lp.continue_token.as_deref().is_some_and(|token| !token.is_empty()) {
        // The token determines the version; servers reject a second one.
        return Ok(query);
    }
    if lp.limit.is_some_and(|limit| limit > 0) && lp.resource_version.as_deref() == Some("0") {
        // For version 0 servers return the whole list from their cache and ignore the limit.
        return match lp.version_match {
            Some(VersionMatch::Exact) => Err(exact_needs_a_version()),
            _ => Ok(query),
        };
    }
    let version = lp.resource_version.as_deref().filter(|version| !version.is_empty());
    query.push_some("resourceVersion", lp.resource_version.as_deref());
    match (&lp.version_match, version) {
        (None, _) => {}
        (Some(VersionMatch::NotOlderThan), Some(_)) => query.push("resourceVersionMatch", "NotOlderThan"),
        (Some(VersionMatch::Exact), Some("0")) => {
            return Err(exact_needs_a_version());
        }
        (Some(VersionMatch::Exact), Some(_)) => query.push("resourceVersionMatch", "Exact"),
        (Some(_), None) => {
            return Err(Error::invalid("A resource_version is required when using an explicit match"));
        }
    }
    Ok(query)
}

fn exact_needs_a_version() -> Error {
    Error::invalid("A non-zero resource_version is required when using an Exact match")
}

pub(super) fn watch(wp: &WatchParams, version: &str) -> Result<Query, Error> {
    if wp.send_initial_events && !wp.bookmarks {
        return Err(Error::invalid("WatchParams::bookmarks must be set when using send_initial_events"));
    }
    let mut query = Query::default();
    query.push("watch", "true");
    query.push_number("timeoutSeconds", Some(wp.timeout.unwrap_or(WATCH_TIMEOUT_SECS)));
    query.push_some("fieldSelector", wp.field_selector.as_deref());
    query.push_some("labelSelector", wp.label_selector.as_deref());
    query.push_flag("allowWatchBookmarks", wp.bookmarks);
    if wp.send_initial_events {
        query.push("sendInitialEvents", "true");
        query.push("resourceVersionMatch", "NotOlderThan");
    }
    query.push("resourceVersion", version);
    Ok(query)
}

pub(crate) fn post(pp: &PostParams) -> Result<Query, Error> {
    let mut query = Query::default();
    dry_run(&mut query, pp.dry_run);
    field_manager(&mut query, pp.field_manager.as_deref())?;
    Ok(query)
}

pub(super) fn patch<P: serde::Serialize>(pp: &PatchParams, patch: &Patch<P>) -> Result<Query, Error> {
    let is_apply = matches!(patch, Patch::Apply(_));
    if is_apply && pp.field_manager.as_deref().is_none_or(str::is_empty) {
        return Err(Error::invalid(
            "an apply patch needs a field manager: use `PatchParams::apply(\"name\")`",
        ));
    }
    if pp.force && !is_apply {
        return Err(Error::invalid("PatchParams::force only works with Patch::Apply"));
    }
    let mut query = Query::default();
    dry_run(&mut query, pp.dry_run);
    query.push_flag("force", pp.force);
    field_manager(&mut query, pp.field_manager.as_deref())?;
    query.push_some("fieldValidation", pp.field_validation.as_ref().map(|directive| directive.as_str()));
    Ok(query)
}

fn dry_run(query: &mut Query, set: bool) {
    query.push_some("dryRun", set.then_some("All"));
}

fn field_manager(query: &mut Query, manager: Option<&str>) -> Result<(), Error> {
    query.push_some("fieldManager", manager);
    manager.map_or(Ok(()), check_field_manager)
}

fn check_field_manager(manager: &str) -> Result<(), Error> {
    if manager.len() > FIELD_MANAGER_MAX {
        return Err(Error::invalid(format!(
            "the field manager has {} bytes, at most {FIELD_MANAGER_MAX} are allowed: {manager:?}",
            manager.len()
        )));
    }
    if manager.chars().any(|c| c.is_control() || (c.is_whitespace() && c != ' ')) {
        return Err(Error::invalid(format!("the field manager must be printable: {manager:?}")));
    }
    Ok(())
}
