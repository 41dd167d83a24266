//! What of an object is not wanted.

/// Which fields are passed over when an object is decoded: they are never built.
///
/// Put into the extensions of a request, it counts for the objects of its answer. A `RawValue` keeps its text as it came.
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

    /// Where reading begins, if anything is passed over at all.
    pub(super) fn level(self) -> Option<Level> {
        self.managed_fields.then_some(if self.within_event { Level::Event } else { Level::Object })
    }
}

/// A map on the way to what is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// A watch event, with the object in it.
    Event,
    Object,
    /// The metadata of the object.
    Metadata,
}

impl Level {
    /// What the field of this name is, if it is still on the way.
    #[inline]
    pub(super) fn of_field(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Event, "object") => Some(Self::Object),
            (Self::Object, "metadata") => Some(Self::Metadata),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn is_passed_over(self, name: &str) -> bool {
        self == Self::Metadata && name == "managedFields"
    }
}
