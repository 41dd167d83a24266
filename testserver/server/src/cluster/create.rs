//! Creates objects on behalf of controllers.

use std::sync::Arc;

use serde_json::Value;

use super::ClusterState;
use crate::{
    admission::{Operation, Write},
    object::meta,
    storage::{Key, Stored, WriteError},
    strategy,
};

/// What became of an object that a controller creates.
#[derive(Clone, Debug)]
pub(super) enum Created {
    Stored(Arc<Stored>),
    /// It exists already, or its kind is not served.
    Exists,
    /// Its namespace takes no new objects.
    Terminating,
    /// An admission plugin refused it; this is the message.
    Refused(String),
}

impl ClusterState {
    /// Creates an object with defaults, a name and a uid, as a create request would; the built-in admission plugins see it.
    pub(super) fn create(
        &mut self,
        group: &str,
        plural: &str,
        mut object: Value,
    ) -> Result<Created, WriteError> {
        let Some(endpoint) = self.storage.scheme.by_plural(group, plural).cloned() else {
            return Ok(Created::Exists);
        };
        endpoint.schema().default(&mut object);
        strategy::default(&endpoint, &mut object);
        if let Some(base) = meta::text(&object, "generateName").filter(|_| meta::name(&object).is_empty()) {
            let name = self.ids.generated_name(base);
            meta::set(&mut object, "name", name);
        }
        let namespace = meta::text(&object, "namespace").map(str::to_owned);
        let key = Key::new(namespace.as_deref(), meta::name(&object));
        if self.storage.store.get(endpoint.resource.table, &key).is_some() {
            return Ok(Created::Exists);
        }
        if namespace.as_deref().is_some_and(|namespace| self.is_terminating(namespace)) {
            return Ok(Created::Terminating);
        }
        let write = Write {
            operation: Operation::Create,
            endpoint: &endpoint,
            subresource: None,
            namespace: namespace.as_deref(),
            old: None,
        };
        if let Err(refusal) = self.admission_context().mutate_by_plugins(&write, &mut object) {
            return Ok(Created::Refused(refusal.message));
        }
        strategy::prepare_create(&endpoint, &mut object, &self.ids.uid(), &self.now());
        endpoint.encode(&mut object);
        meta::drop_empty(&mut object);
        let checked = self.admission_context().validate_by_plugins(&write, &object);
        if let Err(refusal) = checked.and_then(|()| self.admission_context().validate_usage(&write, &object))
        {
            return Ok(Created::Refused(refusal.message));
        }
        self.put(&endpoint.resource, key, object).map(Created::Stored)
    }

    /// Creates an object that every cluster has. A refusal is logged.
    pub(super) fn create_or_warn(
        &mut self,
        group: &str,
        plural: &str,
        object: Value,
    ) -> Result<(), WriteError> {
        let name = meta::name(&object).to_owned();
        if let Created::Refused(why) = self.create(group, plural, object)? {
            tracing::warn!("{plural} {name:?} was not created: {why}");
        }
        Ok(())
    }
}
