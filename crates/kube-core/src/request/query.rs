//! Parameters as query strings, checked by the rules of the API.

use super::Error;
use crate::{
    encode::Query,
    params::{GetParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchParams},
};

/// Longest field manager that servers accept, in bytes.
const FIELD_MANAGER_MAX: usize = 128;

pub(super) fn get(gp: &GetParams) -> Query {
    let mut query = Query::default();
    query.push_some("resourceVersion", gp.resource_version.as_deref());
    query
}

pub(super) fn list(lp: &ListParams) -> Result<Query, Error> {
    let mut query = Query::default();
    query.push_some("labelSelector", lp.label_selector.as_deref());
    query.push_some("fieldSelector", lp.field_selector.as_deref());
    query.push_number("limit", lp.limit);
    if let Some(token) = lp.continue_token.as_deref().filter(|token| !token.is_empty()) {
        // The token fixes the version; servers refuse a second one beside it.
        query.push("continue", token);
        return Ok(query);
    }
    let version = lp.resource_version.as_deref().filter(|version| !version.is_empty());
    query.push_some("resourceVersion", version);
    match (&lp.version_match, version) {
        (None, _) => {}
        (Some(VersionMatch::NotOlderThan), Some(_)) => query.push("resourceVersionMatch", "NotOlderThan"),
        (Some(VersionMatch::Exact), Some("0")) => {
            return Err(Error::invalid("version_match Exact needs a resource_version other than \"0\""));
        }
        (Some(VersionMatch::Exact), Some(_)) => query.push("resourceVersionMatch", "Exact"),
        (Some(_), None) => {
            return Err(Error::invalid("version_match needs a resource_version: call `at` as well"));
        }
    }
    Ok(query)
}

pub(super) fn watch(wp: &WatchParams, version: &str) -> Result<Query, Error> {
    if wp.send_initial_events && !wp.bookmarks {
        return Err(Error::invalid(
            "send_initial_events needs bookmarks: one of them tells where the initial events end",
        ));
    }
    let mut query = Query::default();
    query.push("watch", "true");
    query.push_some("labelSelector", wp.label_selector.as_deref());
    query.push_some("fieldSelector", wp.field_selector.as_deref());
    query.push_number("timeoutSeconds", wp.timeout);
    query.push_flag("allowWatchBookmarks", wp.bookmarks);
    query.push_some("resourceVersion", Some(version));
    if wp.send_initial_events {
        query.push("sendInitialEvents", "true");
        query.push("resourceVersionMatch", "NotOlderThan");
    }
    Ok(query)
}

pub(crate) fn post(pp: &PostParams) -> Result<Query, Error> {
    let mut query = Query::default();
    write(&mut query, pp.dry_run, pp.field_manager.as_deref())?;
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
        return Err(Error::invalid("force is for apply patches only"));
    }
    let mut query = Query::default();
    write(&mut query, pp.dry_run, pp.field_manager.as_deref())?;
    query.push_flag("force", pp.force);
    query.push_some("fieldValidation", pp.field_validation.as_ref().map(|directive| directive.as_str()));
    Ok(query)
}

fn write(query: &mut Query, dry_run: bool, field_manager: Option<&str>) -> Result<(), Error> {
    if dry_run {
        query.push("dryRun", "All");
    }
    if let Some(manager) = field_manager {
        check_field_manager(manager)?;
    }
    query.push_some("fieldManager", field_manager);
    Ok(())
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
