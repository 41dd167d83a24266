//! Negotiates from `Accept` how objects are shown.

use super::table;
use crate::{route::Query, status_error::StatusError};

/// The representation that a client requests with `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Object,
    /// `PartialObjectMetadata` and its list.
    Metadata,
    Table(Include),
}

/// The object in a table row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

const OFFERED: &str = "application/json, application/yaml";

impl View {
    /// Selects the preferred representation that the server supports.
    pub(crate) fn negotiate(accept: &str, query: &Query) -> Result<Self, StatusError> {
        if accept.trim().is_empty() {
            return Ok(Self::Object);
        }
        let include = match query.get("includeObject") {
            None | Some("Metadata") => Include::Metadata,
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            Some(other) => {
                return Err(StatusError::bad_request(format!("unrecognized includeObject value: {other:?}")));
            }
        };
        clauses(accept)
            .iter()
            .find_map(|clause| view(clause, include))
            .ok_or_else(|| StatusError::not_acceptable(OFFERED))
    }
}

/// Whether YAML is the preferred media type.
pub(crate) fn wants_yaml(accept: &str) -> bool {
    clauses(accept).first().is_some_and(|clause| clause.media == "application/yaml")
}

/// Whether a document that is only available as JSON is acceptable.
pub(crate) fn wants_json(accept: &str) -> bool {
    accept.trim().is_empty() || clauses(accept).iter().any(|clause| clause.media != "application/yaml")
}

/// The version of aggregated discovery, if it is requested before plain JSON.
pub(crate) fn discovery_form(accept: &str) -> Option<&'static str> {
    for clause in clauses(accept) {
        match (clause.get("g"), clause.get("as"), clause.get("v")) {
            (Some("apidiscovery.k8s.io"), Some("APIGroupDiscoveryList"), Some("v2")) => return Some("v2"),
            (Some("apidiscovery.k8s.io"), Some("APIGroupDiscoveryList"), Some("v2beta1")) => {
                return Some("v2beta1");
            }
            (None, None, _) => return None,
            _ => {}
        }
    }
    None
}

fn view(clause: &Clause, include: Include) -> Option<View> {
    match (clause.get("as"), clause.get("g"), clause.get("v")) {
        (None, ..) => Some(View::Object),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) if table::SERVED => Some(View::Table(include)),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(View::Metadata)
        }
        _ => None,
    }
}

/// The supported media ranges, the preferred one first: as genuine servers sort them, whole types before wildcards, then by quality.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause> = accept.split(',').filter_map(Clause::parse).collect();
    clauses.sort_by(|a, b| a.is_wild().cmp(&b.is_wild()).then(b.quality().total_cmp(&a.quality())));
    clauses
}

/// One supported media range of an `Accept` header.
struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(part: &'a str) -> Option<Self> {
        let mut fields = part.split(';').map(str::trim);
        let media = fields.next()?;
        if !matches!(media, "application/json" | "application/yaml" | "application/*" | "*/*") {
            return None;
        }
        Some(Self { media, parameters: fields.filter_map(|field| field.split_once('=')).collect() })
    }

    fn is_wild(&self) -> bool {
        self.media.ends_with('*')
    }

    /// 1 without a quality, 0 for one that is not a number.
    fn quality(&self) -> f64 {
        self.get("q").map_or(1.0, |text| text.parse().unwrap_or(0.0))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_supported_representation_is_selected() {
        let view = |accept: &str| View::negotiate(accept, &Query::default());
        assert_eq!(view(""), Ok(View::Object));
        assert_eq!(view("*/*"), Ok(View::Object));
        assert_eq!(
            view("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Ok(View::Metadata)
        );
        assert_eq!(view("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"), Ok(View::Object));
        assert_eq!(view("text/html").unwrap_err().code, 406);
        assert_eq!(view("application/vnd.kubernetes.protobuf").unwrap_err().code, 406);
    }

    #[cfg(feature = "tables")]
    #[test]
    fn tables_are_selected() {
        let view = |accept: &str| View::negotiate(accept, &Query::default());
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(view(&format!("{table},application/json")), Ok(View::Table(Include::Metadata)));
        assert_eq!(
            view(&format!("application/vnd.kubernetes.protobuf, {table}")),
            Ok(View::Table(Include::Metadata))
        );
    }

    #[test]
    fn quality_and_precision_decide() {
        for (accept, yaml) in [
            ("application/json;q=0.1, application/yaml;q=0.9", true),
            ("application/yaml;q=0.5, application/json;q=0.5", true),
            ("*/*;q=0.1, application/yaml", true),
            ("application/*;q=0.2, application/yaml;q=0.1", true),
            ("application/yaml;q=abc, application/json;q=0.1", false),
            ("application/json;q=0", false),
        ] {
            assert_eq!(wants_yaml(accept), yaml, "{accept}");
        }
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1, application/json;q=0.9";
        assert_eq!(View::negotiate(table, &Query::default()), Ok(View::Object));
    }

    #[test]
    fn aggregated_discovery_is_requested_by_its_full_media_type() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert_eq!(discovery_form(&format!("{v2},application/json")), Some("v2"));
        assert_eq!(discovery_form(&format!("application/json,{v2}")), None);
        assert_eq!(discovery_form("*/*"), None);
        assert_eq!(discovery_form(&v2.replace("v=v2;", "v=v2beta1;")), Some("v2beta1"));
    }
}
