//! Reading many objects.

use std::fmt::Debug;

use kube_core::DeserializeGuard;
use kube_core::object::ObjectList;
use kube_core::params::ListParams;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    /// The objects that `lp` selects. With a limit, one page of them: `metadata.continue_` is the token for the next page.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::ListParams;
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut page = ListParams::default().limit(500);
    /// loop {
    ///     let listed = maps.list(&page).await?;
    ///     for map in &listed {
    ///         println!("{}", map.name_any());
    ///     }
    ///     match listed.metadata.continue_.filter(|token| !token.is_empty()) {
    ///         Some(token) => page = page.continue_token(&token),
    ///         None => break,
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`](crate::Error::Api) with code 410 if a continue token has expired, others as
    /// [`Client::request`](crate::Client::request).
    pub async fn list(&self, lp: &ListParams) -> Result<ObjectList<K>> {
        self.client.request_list(self.list_request(lp)?).await
    }

    /// As [`Api::list`], but an item that cannot be decoded does not fail the list: it carries its error and its metadata.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// for guarded in maps.list_guarded(&Default::default()).await? {
    ///     match guarded.0 {
    ///         Ok(map) => assert!(map.data.is_some()),
    ///         Err(invalid) => eprintln!("skipped: {invalid}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::list`], except for items that cannot be decoded.
    pub async fn list_guarded(&self, lp: &ListParams) -> Result<ObjectList<DeserializeGuard<K>>> {
        self.client.request_list_guarded(self.list_request(lp)?).await
    }

    fn list_request(&self, lp: &ListParams) -> Result<http::Request<Vec<u8>>> {
        let request = match self.metadata_only {
            true => self.request.list_metadata(lp),
            false => self.request.list(lp),
        };
        self.read("list", request)
    }
}
