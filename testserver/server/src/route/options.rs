//! The options of lists, writes and deletions, parsed from queries and bodies.

use bytes::Bytes;
use serde_json::Value;

use super::Query;
use crate::{
    object::selector::LabelSelector,
    schema::{ErrorList, FieldError, golang},
    status_error::StatusError,
};

/// The propagation policy of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceVersionMatch {
    Exact,
    NotOlderThan,
}

/// The options of get, list and watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) watch: bool,
    pub(crate) labels: LabelSelector,
    /// Validated against the resource later.
    pub(crate) fields: String,
    pub(crate) limit: usize,
    pub(crate) continue_token: Option<String>,
    /// `None` when missing or empty; 0 has a special meaning.
    pub(crate) resource_version: Option<u64>,
    pub(crate) version_match: Option<ResourceVersionMatch>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) bookmarks: bool,
    /// `None` when missing.
    pub(crate) initial_events: Option<bool>,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, StatusError> {
        let labels = LabelSelector::parse(query.get("labelSelector").unwrap_or_default())
            .map_err(StatusError::bad_request)?;
        let options = Self {
            watch: query.flag("watch"),
            labels,
            fields: query.get("fieldSelector").unwrap_or_default().into(),
            limit: usize::try_from(integer(query, "limit")?.unwrap_or(0).max(0)).unwrap_or(usize::MAX),
            continue_token: query.get("continue").map(Into::into),
            resource_version: resource_version(query, query.flag("watch"))?,
            version_match: version_match(query)?,
            timeout_seconds: integer(query, "timeoutSeconds")?
                .and_then(|seconds| u64::try_from(seconds).ok()),
            bookmarks: query.flag("allowWatchBookmarks"),
            initial_events: query.has("sendInitialEvents").then(|| query.flag("sendInitialEvents")),
        };
        let mut errors = ErrorList::default();
        if options.watch {
            options.validate_watch(&mut errors);
        } else {
            options.validate_list(query, &mut errors);
        }
        if errors.is_empty() { Ok(options) } else { Err(StatusError::invalid_option("ListOptions", &errors)) }
    }

    fn validate_list(&self, query: &Query, errors: &mut ErrorList) {
        if self.version_match.is_some() {
            if query.get("resourceVersion").is_none() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.forbidden("resourceVersionMatch", detail);
            }
            if self.continue_token.is_some() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                errors.forbidden("resourceVersionMatch", detail);
            }
            if self.version_match == Some(ResourceVersionMatch::Exact) && self.resource_version == Some(0) {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.forbidden("resourceVersionMatch", detail);
            }
        }
        if self.initial_events.is_some() {
            errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
    }

    fn validate_watch(&self, errors: &mut ErrorList) {
        match (self.initial_events, self.version_match) {
            (Some(_), Some(ResourceVersionMatch::NotOlderThan)) | (None, None) => {}
            (Some(_), _) => {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.forbidden("resourceVersionMatch", detail);
                if self.version_match.is_some() {
                    errors.not_supported("resourceVersionMatch", "\"Exact\"", &["NotOlderThan"]);
                }
            }
            (None, Some(_)) => {
                let detail =
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.forbidden("resourceVersionMatch", detail);
            }
        }
    }
}

/// The handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// The options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) manager: Option<String>,
    pub(crate) validation: FieldValidation,
    pub(crate) force: Option<bool>,
    /// Reports of duplicate fields of the body; set by the handler.
    pub(crate) duplicates: Vec<String>,
    /// The JSON body that is decoded into a Go type, which reports its problems in the order of the text; set by the handler.
    pub(crate) text: Option<Bytes>,
}

impl WriteOptions {
    /// `name` is the options type in errors, such as `CreateOptions`.
    pub(crate) fn parse(query: &Query, name: &str) -> Result<Self, StatusError> {
        let mut errors = ErrorList::default();
        let dry_run = dry_run(query.all("dryRun").map(Value::from).collect(), &mut errors);
        let validation = match query.get("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.not_supported("fieldValidation", format!("{other:?}"), &supported);
                FieldValidation::Ignore
            }
        };
        let manager = query.get("fieldManager").map(str::to_string);
        if manager.as_ref().is_some_and(|manager| manager.chars().count() > 128) {
            errors.too_long("fieldManager", 128);
        }
        errors.extend(manager.as_deref().and_then(unprintable));
        let force = query.has("force").then(|| query.flag("force"));
        if errors.is_empty() {
            return Ok(Self { dry_run, manager, validation, force, duplicates: Vec::new(), text: None });
        }
        Err(StatusError::invalid_option(name, &errors))
    }
}

/// The options of a delete, from body and query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// The grace period in seconds; the object's own if missing.
    pub(crate) grace: Option<i64>,
    /// Delete what cannot be read.
    pub(crate) ignores_unreadable: bool,
    /// `orphanDependents: false`, for which a deletion that has to wait is 202.
    pub(crate) cascades: bool,
}

impl DeleteOptions {
    pub(crate) fn parse(query: &Query, body: &Value) -> Result<Self, StatusError> {
        if let Some(why) = mistyped(body) {
            return Err(StatusError::bad_request(why));
        }
        let mut errors = ErrorList::default();
        let text = |value: &Value| value.as_str().map(str::to_string);
        let in_body = body["dryRun"].as_array().into_iter().flatten().cloned();
        let dry_run = dry_run(query.all("dryRun").map(Value::from).chain(in_body).collect(), &mut errors);
        let policy = body["propagationPolicy"].as_str().or(query.first("propagationPolicy"));
        let in_query = query.has("orphanDependents").then(|| query.flag("orphanDependents"));
        let orphan = body["orphanDependents"].as_bool().or(in_query);
        if let (Some(policy), Some(_)) = (policy, orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.invalid("propagationPolicy", format!("{policy:?}"), detail);
        }
        let propagation = match (policy, orphan) {
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, None) => None,
            (Some(other), _) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.not_supported("propagationPolicy", format!("{other:?}"), &supported);
                None
            }
        };
        if !errors.is_empty() {
            return Err(StatusError::invalid_option("DeleteOptions", &errors));
        }
        let conditions = &body["preconditions"];
        Ok(Self {
            dry_run,
            propagation,
            ignores_unreadable: body["ignoreStoreReadErrorWithClusterBreakingPotential"] == true,
            cascades: orphan == Some(false),
            uid: text(&conditions["uid"]),
            resource_version: text(&conditions["resourceVersion"]),
            grace: match body["gracePeriodSeconds"].as_i64() {
                Some(seconds) => Some(seconds),
                None => integer(query, "gracePeriodSeconds")?,
            },
        })
    }
}

/// A value of `dryRun` that is not known must not become a write.
fn dry_run(provided: Vec<Value>, errors: &mut ErrorList) -> bool {
    if provided.iter().any(|value| value != "All") {
        let value = Value::from(provided).to_string();
        errors.not_supported("dryRun", value, &["All"]);
        return false;
    }
    !provided.is_empty()
}

/// The first character of a field manager that Go cannot print.
fn unprintable(manager: &str) -> Option<FieldError> {
    let printable = |c: char| c == ' ' || !c.is_control() && !c.is_whitespace();
    let (at, character) = manager.char_indices().find(|(_, c)| !printable(*c))?;
    let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(character));
    Some(FieldError::invalid("fieldManager", golang::quoted(manager), &detail))
}

/// The member of a `DeleteOptions` that Go cannot decode.
fn mistyped(body: &Value) -> Option<String> {
    type Fits = fn(&Value) -> bool;
    let text: Fits = Value::is_string;
    let members: [(&str, &str, &str, Fits); 7] = [
        ("/gracePeriodSeconds", "DeleteOptions.", "int64", Value::is_i64),
        ("/orphanDependents", "DeleteOptions.", "bool", Value::is_boolean),
        ("/propagationPolicy", "DeleteOptions.", "v1.DeletionPropagation", text),
        ("/dryRun", "DeleteOptions.", "[]string", Value::is_array),
        ("/preconditions", "DeleteOptions.", "v1.Preconditions", Value::is_object),
        ("/preconditions/uid", "Preconditions.", "types.UID", text),
        ("/preconditions/resourceVersion", "Preconditions.", "string", text),
    ];
    members.into_iter().find_map(|(pointer, owner, ty, fits)| {
        let value = body.pointer(pointer).filter(|value| !value.is_null() && !fits(value))?;
        let (json_type, name) = (golang::json_type(value), pointer[1..].replace('/', "."));
        Some(format!("json: cannot unmarshal {json_type} into Go struct field {owner}{name} of type {ty}"))
    })
}

fn integer(query: &Query, key: &str) -> Result<Option<i64>, StatusError> {
    let Some(text) = query.first(key) else { return Ok(None) };
    let wrong = |_| StatusError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
    text.parse().map(Some).map_err(wrong)
}

/// An invalid number is a 400 in lists, but a 500 in watches and gets.
fn resource_version(query: &Query, watch: bool) -> Result<Option<u64>, StatusError> {
    let Some(text) = query.get("resourceVersion") else { return Ok(None) };
    let failure = StatusError::unreadable_resource_version(text);
    text.parse().map(Some).map_err(|_| match watch {
        true => failure,
        false => StatusError::bad_request(format!("invalid resource version: {}", failure.message)),
    })
}

fn version_match(query: &Query) -> Result<Option<ResourceVersionMatch>, StatusError> {
    match query.get("resourceVersionMatch") {
        None => Ok(None),
        Some("Exact") => Ok(Some(ResourceVersionMatch::Exact)),
        Some("NotOlderThan") => Ok(Some(ResourceVersionMatch::NotOlderThan)),
        Some(other) => {
            let supported = ["Exact", "NotOlderThan", ""];
            let error = FieldError::not_supported("resourceVersionMatch", format!("{other:?}"), &supported);
            Err(StatusError::invalid_option("ListOptions", &[error]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(query: &str) -> Result<ListOptions, StatusError> {
        ListOptions::parse(&Query::parse(query))
    }

    #[test]
    fn invalid_combinations_are_refused() {
        let cause = |query: &str| list(query).unwrap_err().message;
        assert!(cause("resourceVersionMatch=Exact").contains("forbidden unless resourceVersion is provided"));
        assert!(
            cause("resourceVersion=0&resourceVersionMatch=Exact")
                .contains("forbidden for resourceVersion \"0\"")
        );
        assert!(cause("sendInitialEvents=true").contains("sendInitialEvents is forbidden for list"));
        assert!(cause("watch=1&sendInitialEvents=true").contains("requires setting resourceVersionMatch"));
        assert!(
            cause("watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan")
                .contains("forbidden for watch")
        );
        assert!(list("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan").is_ok());
        assert!(list("resourceVersion=5&resourceVersionMatch=Exact&limit=3").is_ok());
        assert_eq!(list("limit=x").unwrap_err().code, 400);
        assert_eq!(list("resourceVersion=x").unwrap_err().code, 400);
        assert_eq!(list("watch=1&resourceVersion=x").unwrap_err().code, 500);
        let exact = "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1";
        assert!(cause(exact).contains("Unsupported value: \"Exact\": supported values: \"NotOlderThan\""));
    }

    #[test]
    fn write_and_delete_options_report_errors() {
        let write = |q: &str| WriteOptions::parse(&Query::parse(q), "PatchOptions");
        assert!(write("dryRun=All&fieldValidation=Strict").unwrap().dry_run);
        for (query, value) in
            [("dryRun=Some", "[\"Some\"]"), ("dryRun=All&dryRun=x", "[\"All\",\"x\"]"), ("dryRun=", "[\"\"]")]
        {
            let message = write(query).unwrap_err().message;
            assert!(
                message.ends_with(&format!("dryRun: Unsupported value: {value}: supported values: \"All\"")),
                "{message}"
            );
        }
        assert!(write("dryRun=All&dryRun=All").unwrap().dry_run);
        let unprintable = write("fieldManager=a%00b").unwrap_err().message;
        assert!(
            unprintable.ends_with(
                r#"fieldManager: Invalid value: "a\x00b": invalid character U+0000 (at position 1)"#
            )
        );
        assert!(write("fieldManager=%C3%A4+b").is_ok());
        assert!(write("fieldValidation=Loose").unwrap_err().message.contains("PatchOptions.meta.k8s.io"));
        let body = serde_json::json!({"propagationPolicy": "Orphan", "preconditions": {"uid": "u"}});
        let delete = DeleteOptions::parse(&Query::default(), &body).unwrap();
        assert_eq!((delete.propagation, delete.uid.as_deref()), (Some(Propagation::Orphan), Some("u")));
        let foreground =
            DeleteOptions::parse(&Query::parse("propagationPolicy=Foreground"), &Value::Null).unwrap();
        assert_eq!(foreground.propagation, Some(Propagation::Foreground));
        DeleteOptions::parse(&Query::parse("propagationPolicy=Zork"), &Value::Null).unwrap_err();
        let both = serde_json::json!({"propagationPolicy": "Orphan", "orphanDependents": true});
        assert_eq!(DeleteOptions::parse(&Query::default(), &both).unwrap_err().code, 422);
    }
}
