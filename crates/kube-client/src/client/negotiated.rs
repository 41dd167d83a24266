//! Lists and watches, in the form in which they cost server and network the least: which that is, and what a server does not know.
//!
//! - Metadata alone are asked for in protobuf, with JSON as second choice: the server spends a fifth of the CPU time on them.
//! - `drop=metadata.managedFields` (KEP-5958) where the decoder skips them anyway. Servers that do not know it ignore it, as they do with
//!   any parameter: 1.20 and 1.37 do.
//!
//! A server that refuses such an `Accept` is asked again with that of the request, and for this kind with no other from then on. So is one
//! that sends whole objects in protobuf, after one error.

use http::header::ACCEPT;
use http::{HeaderValue, Request, StatusCode};

use super::Client;
use super::requests::prune_of;
use super::unsupported::Optional;
use crate::Result;
use crate::body::Body;
use crate::decode::{Form, PROTOBUF, as_json};
use crate::error::Error;

const JSON: &str = "application/json";
const DROP_MANAGED_FIELDS: &str = ";drop=metadata.managedFields";

impl Client {
    /// Whether the server does not support this for the kind of the collection at this path. For the watcher of `kube-runtime`.
    #[doc(hidden)]
    pub fn is_unsupported(&self, what: Optional, path: &str) -> bool {
        self.unsupported.has(self.cluster_number(), what, path)
    }

    /// The server does not support this. For the watcher of `kube-runtime`.
    #[doc(hidden)]
    pub fn note_unsupported(&self, what: Optional, path: &str) {
        self.unsupported.note(self.cluster_number(), what, path);
    }

    /// Sends a list or a watch. The body is JSON, whatever the server sends.
    pub(super) async fn send_negotiated(&self, mut request: Request<Vec<u8>>, form: Form) -> Result<Body> {
        let skips_managed_fields = prune_of(&request).skips_managed_fields();
        let path = request.uri().path().to_owned();
        let accept = match self.is_unsupported(Optional::MediaTypes, &path) {
            true => None,
            false => accept(&request),
        };
        let (unsupported, cluster, noted) = (self.unsupported.clone(), self.cluster_number(), path.clone());
        let on_other_type = move || unsupported.note(cluster, Optional::MediaTypes, &noted);
        let Some(accept) = accept else {
            let response = self.send_for_success(request).await?;
            return Ok(as_json(response, form, skips_managed_fields, on_other_type));
        };
        let plain = request.clone();
        request.headers_mut().insert(ACCEPT, accept);
        let response = match self.send_for_success(request).await {
            Err(Error::Api(status)) if is_refusal(status.code) => {
                let response = self.send_for_success(plain).await?;
                self.note_unsupported(Optional::MediaTypes, &path);
                response
            }
            result => result?,
        };
        Ok(as_json(response, form, skips_managed_fields, on_other_type))
    }
}

/// Whether the `Accept` may be what the server does not like.
fn is_refusal(code: u16) -> bool {
    [StatusCode::BAD_REQUEST, StatusCode::NOT_ACCEPTABLE, StatusCode::UNSUPPORTED_MEDIA_TYPE]
        .iter()
        .any(|refusal| *refusal == code)
}

/// What to ask for in place of the `Accept` of a request, if that is not what the program itself has chosen.
fn accept(request: &Request<Vec<u8>>) -> Option<HeaderValue> {
    let accept = request.headers().get(ACCEPT)?.to_str().ok()?;
    let parameters = accept.strip_prefix(JSON)?;
    let drop = if prune_of(request).skips_managed_fields() { DROP_MANAGED_FIELDS } else { "" };
    let negotiated = match parameters {
        "" if drop.is_empty() => return None,
        "" => format!("{JSON}{drop}"),
        _ if parameters.starts_with(";as=PartialObjectMetadata") && !parameters.contains(',') => {
            format!("{PROTOBUF}{parameters}{drop},{JSON}{parameters}{drop}")
        }
        _ => return None,
    };
    HeaderValue::try_from(negotiated).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures::StreamExt;
    use http::Response;
    use http::header::CONTENT_TYPE;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::params::{ListParams, WatchParams};
    use kube_core::{PartialObjectMeta, ResourceExt, WatchEvent};
    use tower::BoxError;

    use super::*;
    use crate::api::Api;
    use crate::decode::Prune;

    const LIST: &[u8] = include_bytes!("../decode/protobuf/recorded/list.pb");
    const EVENTS: &[u8] = include_bytes!("../decode/protobuf/recorded/events.pb");

    type Accepts = Arc<Mutex<Vec<String>>>;

    /// A server that answers as `answer` says, and the `Accept` of each request.
    fn server(answer: fn(&str) -> (u16, &'static str, &'static [u8])) -> (Client, Accepts) {
        let accepts = Accepts::default();
        let seen = Arc::clone(&accepts);
        let server = tower::service_fn(move |request: Request<Body>| {
            let accept = request.headers()[ACCEPT].to_str().unwrap().to_owned();
            let (code, content_type, body) = answer(&accept);
            seen.lock().unwrap().push(accept);
            let response = Response::builder().status(code).header(CONTENT_TYPE, content_type);
            std::future::ready(Ok::<_, BoxError>(response.body(Body::from(body.to_vec())).unwrap()))
        });
        (Client::new(server, "default"), accepts)
    }

    const AS_LIST: &str = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const AS_OBJECT: &str = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

    #[tokio::test]
    async fn metadata_are_asked_for_in_protobuf_and_in_json() {
        let (client, accepts) = server(|accept| match accept.contains("MetadataList") {
            true => (200, PROTOBUF, LIST),
            false => (200, "application/vnd.kubernetes.protobuf;stream=watch", EVENTS),
        });
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client.clone());
        let names: Vec<_> =
            maps.list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["full", "owner"]);
        let pruned = maps.prune(Prune::default().managed_fields());
        let listed = pruned.list(&ListParams::default()).await.unwrap();
        assert!(listed.iter().all(|map| map.metadata.managed_fields.is_none()));
        let events: Vec<_> = pruned.watch(&WatchParams::default(), "0").await.unwrap().collect().await;
        assert!(
            matches!(&events[..], [Ok(WatchEvent::Added(_)), .., Ok(WatchEvent::Error(status))] if status.code == 410)
        );
        let drop = DROP_MANAGED_FIELDS;
        let expected = [
            format!("{PROTOBUF};{AS_LIST},{JSON};{AS_LIST}"),
            format!("{PROTOBUF};{AS_LIST}{drop},{JSON};{AS_LIST}{drop}"),
            format!("{PROTOBUF};{AS_OBJECT}{drop},{JSON};{AS_OBJECT}{drop}"),
        ];
        assert_eq!(*accepts.lock().unwrap(), expected);
    }

    #[tokio::test]
    async fn a_server_that_sends_json_is_read_as_that() {
        let (client, accepts) =
            server(|_| (200, JSON, br#"{"metadata":{},"items":[{"metadata":{"name":"a"}}]}"#));
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client.clone());
        assert_eq!(maps.list(&ListParams::default()).await.unwrap().items[0].name_any(), "a");
        let whole: Api<ConfigMap> = Api::all(client);
        whole.list(&ListParams::default()).await.unwrap();
        whole.prune(Prune::default().managed_fields()).list(&ListParams::default()).await.unwrap();
        let accepts = accepts.lock().unwrap();
        assert_eq!(accepts[1..], [JSON.to_owned(), format!("{JSON};drop=metadata.managedFields")]);
    }

    /// As an aggregated API may that does not parse media types.
    #[tokio::test]
    async fn a_server_that_refuses_the_media_types_is_asked_for_json_from_then_on() {
        for code in ["400", "406", "415"] {
            let (client, accepts) = server(match code {
                "400" => |accept| {
                    if accept == JSON { (200, JSON, b"{\"items\":[]}" as &[u8]) } else { (400, JSON, b"{}") }
                },
                "406" => |accept| {
                    if accept == JSON { (200, JSON, b"{\"items\":[]}" as &[u8]) } else { (406, "", b"") }
                },
                _ => |accept| {
                    if accept == JSON { (200, JSON, b"{\"items\":[]}" as &[u8]) } else { (415, "", b"") }
                },
            });
            let maps = Api::<ConfigMap>::all(client.clone()).prune(Prune::default().managed_fields());
            maps.list(&ListParams::default()).await.unwrap();
            Api::<ConfigMap>::namespaced(client, "web")
                .prune(Prune::default().managed_fields())
                .list(&ListParams::default())
                .await
                .unwrap();
            let accepts = accepts.lock().unwrap();
            assert_eq!(accepts[..], [&format!("{JSON};drop=metadata.managedFields"), JSON, JSON], "{code}");
        }
    }

    #[tokio::test]
    async fn a_server_that_refuses_the_request_whatever_its_accept_is_asked_for_protobuf_again() {
        let (client, accepts) =
            server(|_| (400, JSON, br#"{"status":"Failure","message":"odd","code":400}"#));
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client);
        for _ in 0..2 {
            let err = maps.list(&ListParams::default()).await.unwrap_err();
            assert!(err.to_string().contains("odd"), "{err}");
        }
        let protobuf = accepts.lock().unwrap().iter().filter(|accept| accept.contains(PROTOBUF)).count();
        assert_eq!((protobuf, accepts.lock().unwrap().len()), (2, 4));
    }

    /// As one that speaks protobuf and ignores the parameters of the media type.
    #[tokio::test]
    async fn a_server_that_sends_whole_objects_in_protobuf_is_asked_for_json_from_then_on() {
        const PODS: &[u8] = b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\0";
        const EVENT: &[u8] =
            b"\0\0\0\x1c\x0a\x05ADDED\x12\x13\x0a\x11k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\0";
        let answer = |accept: &str| match (accept.contains(PROTOBUF), accept.contains("MetadataList")) {
            (true, true) => (200, PROTOBUF, PODS),
            (true, false) => (200, PROTOBUF, EVENT),
            (false, true) => (200, JSON, b"{\"items\":[]}" as &[u8]),
            (false, false) => (200, JSON, b"" as &[u8]),
        };
        let (client, _) = server(answer);
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client);
        let err = maps.list(&ListParams::default()).await.unwrap_err();
        assert!(err.to_string().contains("PodList"), "{err}");
        maps.list(&ListParams::default()).await.unwrap();

        let (client, accepts) = server(answer);
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::all(client);
        for is_error in [true, false] {
            let events: Vec<_> = maps.watch(&WatchParams::default(), "0").await.unwrap().collect().await;
            assert_eq!(events.iter().any(Result::is_err), is_error, "{events:?}");
        }
        assert_eq!(accepts.lock().unwrap()[1], format!("{JSON};{AS_OBJECT}"));
    }

    #[tokio::test]
    async fn an_accept_that_the_program_has_chosen_is_kept() {
        let (client, accepts) = server(|_| (200, JSON, b"{\"items\":[]}"));
        for chosen in ["application/json;as=Table;g=meta.k8s.io;v=v1", "application/json, */*"] {
            let mut request = Request::get("/api/v1/pods").header(ACCEPT, chosen).body(Vec::new()).unwrap();
            request.extensions_mut().insert(Prune::default().managed_fields());
            client.request_list::<ConfigMap>(request).await.unwrap();
            assert_eq!(accepts.lock().unwrap().pop().as_deref(), Some(chosen));
        }
    }
}
