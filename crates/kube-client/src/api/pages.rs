//! A list as a stream: page by page, or object by object.

use std::fmt::Debug;

use futures::{Stream, TryStreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::Status;
use kube_core::object::ObjectList;
use kube_core::params::ListParams;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;
use crate::error::Error;

/// Objects per page if the caller sets no limit, as in client-go and kubectl.
const PAGE_SIZE: u32 = 500;

impl<K: Clone + DeserializeOwned + Debug> Api<K> {
    /// The objects that `lp` selects, page by page: [`limit`](ListParams::limit) of them at a time, 500 if it is not set.
    ///
    /// A page is requested when the stream is polled for it, so no more than one is in memory.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::ListParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut pages = maps.pages(&ListParams::default());
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} objects, {:?} remain", page.items.len(), page.metadata.remaining_item_count);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Guarantees
    /// All pages are of one state of the collection, that of the first page, in the order of the server (by namespace and name). If reading
    /// takes so long that the server no longer has that state (some minutes), the continue token expires, and the server gives another one,
    /// for the remaining objects in their present state. The stream goes on with it: it returns every object that existed all the time,
    /// none twice, and of those that were created or deleted meanwhile some. `metadata.resource_version` of a page tells the state.
    ///
    /// # Cancellation
    /// Dropping the stream cancels the request.
    ///
    /// # Errors
    /// As [`Api::list`]. An error is the last item. The code is 410 if the token expired and the server gave no other.
    pub fn pages(&self, lp: &ListParams) -> impl Stream<Item = Result<ObjectList<K>>> + Unpin + use<K> {
        let (api, first) = (self.clone(), Paging::new(lp));
        Box::pin(stream::try_unfold(Some(first), move |paging| {
            let api = api.clone();
            async move {
                let Some(mut paging) = paging else { return Ok(None) };
                loop {
                    match api.list(&paging.params).await {
                        Ok(page) => {
                            let next = paging.after_page(&page.metadata)?;
                            return Ok(Some((page, next)));
                        }
                        Err(Error::Api(status)) => paging = paging.after_error(status)?,
                        Err(error) => return Err(error),
                    }
                }
            }
        }))
    }

    /// The objects that `lp` selects, one by one, as [`Api::pages`] reads them: for collections that do not fit into memory.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::ListParams;
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut objects = maps.list_stream(&ListParams::default());
    /// while let Some(map) = objects.try_next().await? {
    ///     println!("{}", map.name_any());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::pages`]. An object that cannot be decoded is an error instead of its page.
    pub fn list_stream(&self, lp: &ListParams) -> impl Stream<Item = Result<K>> + Unpin + use<K> {
        self.pages(lp).map_ok(|page| stream::iter(page.items.into_iter().map(Ok))).try_flatten()
    }
}

/// The parameters of the next page.
#[derive(Debug)]
struct Paging {
    params: ListParams,
    /// The continue token of `params` is from the response to an expired one.
    replaced_token: bool,
}

impl Paging {
    fn new(lp: &ListParams) -> Self {
        let limit = lp.limit.filter(|&limit| limit > 0).unwrap_or(PAGE_SIZE);
        Self { params: lp.clone().limit(limit), replaced_token: false }
    }

    /// The page that follows one with these metadata, if there is one.
    fn after_page(self, page: &ListMeta) -> Result<Option<Self>> {
        let Some(token) = token_of(page) else { return Ok(None) };
        if self.params.continue_token.as_deref() == Some(token) {
            let text = "the server returned the continue token of the request for the page after it: the list would never end";
            return Err(Error::Service(text.into()));
        }
        Ok(Some(self.at(token, false)))
    }

    /// What to request after this response instead of a page. The token of a response is tried once.
    fn after_error(self, status: Box<Status>) -> Result<Self> {
        let expired = status.is_expired() || status.is_gone();
        match status.metadata.as_ref().and_then(token_of) {
            Some(token) if expired && self.params.continue_token.is_some() && !self.replaced_token => {
                tracing::debug!(%status, "the continue token of a list expired; the remaining pages are of a newer state");
                Ok(self.at(token, true))
            }
            _ => Err(Error::Api(status)),
        }
    }

    /// The token contains the version, so no version is sent with it.
    fn at(self, token: &str, replaced_token: bool) -> Self {
        let params = ListParams { resource_version: None, version_match: None, ..self.params };
        Self { params: params.continue_token(token), replaced_token }
    }
}

fn token_of(list: &ListMeta) -> Option<&str> {
    list.continue_.as_deref().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use kube_core::params::VersionMatch;

    use super::*;

    fn list(token: &str) -> ListMeta {
        ListMeta { continue_: Some(token.to_owned()), ..ListMeta::default() }
    }

    fn expired(token: Option<&str>) -> Box<Status> {
        let metadata = token.map(list);
        Status { metadata, ..Status::failure("too old", "Expired").with_code(410) }.boxed()
    }

    fn after(token: &str) -> Paging {
        Paging::new(&ListParams::default()).after_page(&list(token)).unwrap().unwrap()
    }

    #[test]
    fn the_first_page_has_a_limit_and_the_next_ones_the_token_instead_of_a_version() {
        let first =
            Paging::new(&ListParams::default().limit(0).labels("a=b").at("5").matching(VersionMatch::Exact));
        assert_eq!((first.params.limit, first.params.resource_version.as_deref()), (Some(500), Some("5")));
        let next = first.after_page(&list("t")).unwrap().unwrap().params;
        assert_eq!(next, ListParams::default().labels("a=b").limit(500).continue_token("t"));
        assert_eq!(Paging::new(&ListParams::default().limit(7)).params.limit, Some(7));
    }

    #[test]
    fn the_last_page_has_no_token() {
        assert!(after("t").after_page(&ListMeta::default()).unwrap().is_none());
        assert!(after("t").after_page(&list("")).unwrap().is_none());
    }

    #[test]
    fn an_expired_token_is_replaced_by_that_of_the_response() {
        let again = after("old").after_error(expired(Some("new"))).unwrap();
        assert_eq!(again.params.continue_token.as_deref(), Some("new"));
        // At once again: the server cannot serve it.
        assert!(again.after_error(expired(Some("newer"))).is_err());
        // After a page, it may expire again.
        let later =
            after("old").after_error(expired(Some("new"))).unwrap().after_page(&list("next")).unwrap();
        assert!(later.unwrap().after_error(expired(Some("newer"))).is_ok());
    }

    #[test]
    fn other_errors_end_the_list() {
        assert!(after("old").after_error(expired(None)).unwrap_err().is_expired());
        assert!(
            Paging::new(&ListParams::default()).after_error(expired(Some("new"))).is_err(),
            "the first page"
        );
        let forbidden =
            Status { metadata: Some(list("new")), ..Status::failure("", "Forbidden").with_code(403) };
        assert!(after("old").after_error(forbidden.boxed()).unwrap_err().is_forbidden());
    }

    #[test]
    fn a_token_that_comes_back_is_an_error() {
        let error = after("same").after_page(&list("same")).unwrap_err();
        assert!(error.to_string().contains("would never end"), "{error}");
    }
}
