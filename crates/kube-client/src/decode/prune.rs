//! Fields that are skipped while decoding.

/// Which fields are skipped when an object is decoded: they are never allocated.
///
/// As an extension of a request, it applies to the objects of the response. A `RawValue` keeps its text unchanged.
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
    /// Skips `metadata.managedFields`, often a third of an object and more of its memory. Only server-side apply needs them.
    #[must_use]
    pub fn managed_fields() -> Self {
        Self { managed_fields: true, within_event: false }
    }

    /// The same for the object in a watch event.
    pub(super) fn within_event(self) -> Self {
        Self { within_event: true, ..self }
    }

    /// The level of the outermost value, if anything is skipped.
    pub(super) fn level(self) -> Option<PruneLevel> {
        self.managed_fields.then_some(if self.within_event { PruneLevel::Event } else { PruneLevel::Object })
    }
}

/// A map on the path to the skipped field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PruneLevel {
    /// A watch event, which contains the object.
    Event,
    Object,
    /// The metadata of the object.
    Metadata,
}

impl PruneLevel {
    /// The level of the field `name`, if it is on the path.
    #[inline]
    pub(super) fn field(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Event, "object") => Some(Self::Object),
            (Self::Object, "metadata") => Some(Self::Metadata),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn is_skipped(self, name: &str) -> bool {
        self == Self::Metadata && name == "managedFields"
    }
}
