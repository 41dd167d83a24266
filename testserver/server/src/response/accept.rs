//! Negotiates from `Accept` how objects are shown, and in which media type.

use super::table;
use crate::{route::Query, status_error::StatusError};

/// The representation that a client requests with `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Object,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `PartialObjectMetadataList`.
    MetadataList,
    Table(Include),
}

/// The object in a table row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

/// The media type of a document, or of the events of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

/// The media types of objects, which their errors name.
pub(crate) const OFFERED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// Two names of one type.
const OPENAPI_V2: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The representations that a resource has, besides JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Not for custom resources.
    pub(crate) protobuf: bool,
    /// Not for what is only posted, such as reviews and evictions.
    pub(crate) tables: bool,
}

impl View {
    /// Selects the preferred representation that the server supports. Tables have none in protobuf.
    pub(crate) fn negotiate(accept: &str, query: &Query, offer: Offer) -> Result<(Self, Media), StatusError> {
        if accept.trim().is_empty() {
            return Ok((Self::Object, Media::Json));
        }
        if offer.protobuf && !clauses(accept).iter().any(|clause| clause.media != "application/*") {
            return Err(StatusError::unrouted_accept(OFFERED));
        }
        let include = match query.get("includeObject") {
            None | Some("Metadata") => Include::Metadata,
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            Some(other) => {
                return Err(StatusError::bad_request(format!("unrecognized includeObject value: {other:?}")));
            }
        };
        let supported = |(view, media): &(Self, Media)| match view {
            Self::Object => offer.protobuf || *media != Media::Protobuf,
            Self::Metadata | Self::MetadataList => true,
            Self::Table(_) => offer.tables && *media != Media::Protobuf,
        };
        let negotiated = clauses(accept)
            .iter()
            .filter_map(|clause| Some((view(clause, include)?, clause.media())))
            .find(supported);
        negotiated.ok_or_else(|| StatusError::accepts_only(OFFERED))
    }
}

/// The media type of errors and of documents, which are shown as they are.
pub(crate) fn document_media(accept: &str) -> Media {
    clauses(accept).iter().find(|clause| clause.get("as").is_none()).map_or(Media::Json, Clause::media)
}

/// Whether a document that is only shown as it is, in any media type, is acceptable.
pub(crate) fn wants_document(accept: &str) -> bool {
    accept.trim().is_empty() || clauses(accept).iter().any(|clause| clause.get("as").is_none())
}

/// Whether a document that is only available as JSON is acceptable.
pub(crate) fn wants_json(accept: &str) -> bool {
    accept.trim().is_empty() || clauses(accept).iter().any(|clause| clause.media() == Media::Json)
}

/// The media type of the OpenAPI v2 document, if one is acceptable.
pub(crate) fn openapi_v2_media(accept: &str) -> Option<Media> {
    if accept.trim().is_empty() {
        return Some(Media::Json);
    }
    let offered =
        |media: &str| OPENAPI_V2.contains(&media) || matches!(media, JSON | "application/*" | "*/*");
    let best = ranked(accept, offered);
    best.first().map(|clause| if OPENAPI_V2.contains(&clause.media) { Media::Protobuf } else { Media::Json })
}

/// The version of aggregated discovery and its media type, if it is requested before plain discovery.
pub(crate) fn discovery_form(accept: &str) -> Option<(&'static str, Media)> {
    for clause in clauses(accept) {
        let version = match (clause.get("g"), clause.get("as"), clause.get("v")) {
            (Some("apidiscovery.k8s.io"), Some("APIGroupDiscoveryList"), Some("v2")) => "v2",
            (None, None, _) => return None,
            _ => continue,
        };
        return Some((version, clause.media()));
    }
    None
}

fn view(clause: &Clause, include: Include) -> Option<View> {
    match (clause.get("as"), clause.get("g"), clause.get("v")) {
        (None, None, None) => Some(View::Object),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) if table::SERVED => Some(View::Table(include)),
        (Some("PartialObjectMetadata"), Some("meta.k8s.io"), Some("v1")) => Some(View::Metadata),
        (Some("PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => Some(View::MetadataList),
        _ => None,
    }
}

/// The supported media ranges, the preferred one first.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    ranked(accept, |media| matches!(media, JSON | YAML | PROTOBUF | "application/*" | "*/*"))
}

/// The offered media ranges in the order in which genuine servers sort them: whole types before wildcards, then by quality.
fn ranked(accept: &str, offered: impl Fn(&str) -> bool) -> Vec<Clause<'_>> {
    let parts = accept.split(',').filter_map(Clause::parse);
    let mut clauses: Vec<Clause> = parts.filter(|clause| offered(clause.media)).collect();
    clauses.sort_by(|a, b| a.is_wild().cmp(&b.is_wild()).then(b.quality().total_cmp(&a.quality())));
    clauses
}

/// One media range of an `Accept` header.
struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(part: &'a str) -> Option<Self> {
        let mut fields = part.split(';').map(str::trim);
        let media = fields.next()?;
        Some(Self { media, parameters: fields.filter_map(|field| field.split_once('=')).collect() })
    }

    /// Wildcards mean JSON.
    fn media(&self) -> Media {
        match self.media {
            YAML => Media::Yaml,
            PROTOBUF => Media::Protobuf,
            _ => Media::Json,
        }
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

    fn negotiate(accept: &str, custom: bool) -> Result<(View, Media), StatusError> {
        View::negotiate(accept, &Query::default(), Offer { protobuf: !custom, tables: true })
    }

    #[test]
    fn the_first_supported_representation_is_selected() {
        let view = |accept: &str| negotiate(accept, false);
        assert_eq!(view(""), Ok((View::Object, Media::Json)));
        assert_eq!(view("*/*"), Ok((View::Object, Media::Json)));
        assert_eq!(
            view("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Ok((View::MetadataList, Media::Json))
        );
        assert_eq!(
            view("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Ok((View::Object, Media::Json))
        );
        for refused in
            ["text/html", "application/*", "application/json;v=v1", "application/json;g=meta.k8s.io"]
        {
            assert_eq!(view(refused).unwrap_err().code, 406, "{refused}");
        }
        assert_eq!(negotiate("application/*", true), Ok((View::Object, Media::Json)));
        assert_eq!(view(PROTOBUF), Ok((View::Object, Media::Protobuf)));
    }

    #[test]
    fn custom_resources_are_not_shown_in_protobuf_but_their_metadata_is() {
        let view = |accept: &str| negotiate(accept, true);
        assert_eq!(view(PROTOBUF).unwrap_err().code, 406);
        assert_eq!(view(&format!("{PROTOBUF}, application/yaml")), Ok((View::Object, Media::Yaml)));
        let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        assert_eq!(view(&metadata), Ok((View::Metadata, Media::Protobuf)));
    }

    #[cfg(feature = "tables")]
    #[test]
    fn tables_are_selected_but_not_in_protobuf() {
        let view = |accept: &str| negotiate(accept, false);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let selected = Ok((View::Table(Include::Metadata), Media::Json));
        assert_eq!(view(&format!("{table},application/json")), selected);
        let in_protobuf = table.replace("application/json", PROTOBUF);
        assert_eq!(view(&format!("{in_protobuf}, {table}")), selected);
        assert_eq!(view(&in_protobuf).unwrap_err().code, 406);
    }

    #[test]
    fn quality_and_precision_decide() {
        for (accept, media) in [
            ("application/json;q=0.1, application/yaml;q=0.9", Media::Yaml),
            ("application/yaml;q=0.5, application/json;q=0.5", Media::Yaml),
            ("*/*;q=0.1, application/yaml", Media::Yaml),
            ("application/*;q=0.2, application/yaml;q=0.1", Media::Yaml),
            ("application/yaml;q=abc, application/json;q=0.1", Media::Json),
            ("application/json;q=0", Media::Json),
            ("application/vnd.kubernetes.protobuf;q=0.5,application/json", Media::Json),
            ("application/vnd.kubernetes.protobuf,application/json", Media::Protobuf),
            ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", Media::Json),
        ] {
            assert_eq!(document_media(accept), media, "{accept}");
        }
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1, application/json;q=0.9";
        assert_eq!(negotiate(table, false), Ok((View::Object, Media::Json)));
    }

    #[test]
    fn aggregated_discovery_is_requested_by_its_full_media_type() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert_eq!(discovery_form(&format!("{v2},application/json")), Some(("v2", Media::Json)));
        assert_eq!(discovery_form(&format!("application/json,{v2}")), None);
        assert_eq!(discovery_form("*/*"), None);
        assert_eq!(discovery_form(&v2.replace("v=v2;", "v=v2beta1;")), None, "1.37 has no other form");
        assert!(wants_document("*/*") && !wants_document("text/html") && !wants_document(v2));
        let in_protobuf = v2.replace("application/json", PROTOBUF);
        assert_eq!(discovery_form(&in_protobuf), Some(("v2", Media::Protobuf)));
    }

    #[test]
    fn openapi_has_a_media_type_in_protobuf_of_its_own() {
        let [new, old] = OPENAPI_V2;
        for (accept, media) in [
            ("", Some(Media::Json)),
            ("*/*", Some(Media::Json)),
            (new, Some(Media::Protobuf)),
            (old, Some(Media::Protobuf)),
            (&format!("{old}, application/json"), Some(Media::Protobuf)),
            (&format!("application/json, {old}"), Some(Media::Json)),
            (&format!("application/json;q=0.5,{new}"), Some(Media::Protobuf)),
            (&format!("*/*,{new};q=0.5"), Some(Media::Protobuf)),
            (PROTOBUF, None),
            ("application/yaml", None),
        ] {
            assert_eq!(openapi_v2_media(accept), media, "{accept}");
        }
    }
}
