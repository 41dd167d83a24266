//! What of an object is not wanted.

/// Which fields are passed over when an object is decoded: they are never built.
///
/// Put into the extensions of a request, it counts for the objects of its answer, unless their type has something that only
/// serde_json can read, such as a `RawValue`: they come with all fields.
///
/// ```
/// use http::Request;
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_client::{Client, client::Prune};
///
/// # async fn list(client: Client) -> kube_client::Result<()> {
/// let mut request = Request::get("/api/v1/pods").body(Vec::new()).expect("a valid URL");
/// request.extensions_mut().insert(Prune::managed_fields());
/// let pods = client.request_list::<Pod>(request).await?;
/// assert!(pods.items.iter().all(|pod| pod.metadata.managed_fields.is_none()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    managed_fields: bool,
    within_event: bool,
}

impl Prune {
    /// `metadata.managedFields`, often a third of an object and more than that of its memory. Only server-side apply has a use for it.
    #[must_use]
    pub fn managed_fields() -> Self {
        Self { managed_fields: true, within_event: false }
    }

    /// The same for an object that is part of a watch event.
    pub(super) fn within_event(self) -> Self {
        Self { within_event: true, ..self }
    }

    /// Whether the fields of a map so deep are those of an object to prune.
    #[inline]
    pub(super) fn is_object_at(self, depth: usize) -> bool {
        self.managed_fields && depth == 1 + usize::from(self.within_event)
    }
}
