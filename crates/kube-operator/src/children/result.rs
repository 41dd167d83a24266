//! What a reconcile takes from a status: the objects, and an error if something has failed.

use super::{error::ChildrenError, status::ChildrenStatus};
use kube_core::{DynamicObject, Resource};
use serde::de::DeserializeOwned;

impl ChildrenStatus {
    /// A child as the server has it, with its status; `None` if it was not applied in this run, or no child has this name.
    ///
    /// # Errors
    ///
    /// [`ChildrenError::Type`] if it is of another type.
    pub fn object<K: Resource + DeserializeOwned>(&self, name: &str) -> Result<Option<K>, ChildrenError> {
        let latest = self.child(name).and_then(|child| child.latest.clone());
        let typed = latest.map(DynamicObject::try_parse).transpose();
        typed.map_err(|source| ChildrenError::Type { name: name.to_owned(), source })
    }

    /// An error if a child was not applied or deleted: an alternative to [`action`](Self::action) that logs it.
    ///
    /// # Errors
    ///
    /// [`ChildrenError::Failed`], whose `{}` is that of the status.
    pub fn into_result(self) -> Result<Self, ChildrenError> {
        if self.has_failed() { Err(ChildrenError::Failed(Box::new(self))) } else { Ok(self) }
    }
}
