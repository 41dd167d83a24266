//! The stage prepare: what the server sets, and what the write cannot change.

use serde_json::Value;

use super::{ObjectWrite, WriteContext, object_write::Writer};
use crate::{object::meta, schema::FieldError, status_error::StatusError, strategy};

impl ObjectWrite<'_> {
    pub(super) fn prepare(&mut self, context: &WriteContext<'_>) -> Result<(), StatusError> {
        let requested = self.endpoint.is_core("services").then(|| self.object["spec"].clone());
        match self.old() {
            None => self.prepare_new(context),
            Some(old) => strategy::prepare_update(self.endpoint, self.part(), old, &mut self.object),
        }
        if let Some(requested) = requested {
            self.allocate_addresses(context, &requested)?;
        }
        self.kind.encode(self.endpoint, &mut self.object);
        let Some(old) = self.old() else { return Ok(()) };
        // Both are as they are printed now.
        strategy::count_change(self.endpoint, self.part(), old, &mut self.object);
        self.refuse(&strategy::validate_part(self.part(), old, &self.object))
    }

    fn prepare_new(&mut self, context: &WriteContext<'_>) {
        let (ids, now) = (context.admission.ids, &context.now);
        match &self.writer {
            Writer::Client(client) => {
                client.call.name_new(ids, &mut self.object);
                strategy::prepare_create(self.endpoint, &mut self.object, client.call.new_uid(ids), now);
            }
            Writer::Controller | Writer::Server => {
                strategy::prepare_create(self.endpoint, &mut self.object, &ids.uid(), now);
            }
        }
    }

    /// Allocates cluster IP and node ports of a service; `requested` is its spec before the server completed it.
    fn allocate_addresses(
        &mut self,
        context: &WriteContext<'_>,
        requested: &Value,
    ) -> Result<(), StatusError> {
        let old = self.old().unwrap_or(&Value::Null);
        let errors = context.services.allocate(&self.key(), (old, requested), &mut self.object);
        self.refuse(&errors)
    }

    fn refuse(&self, errors: &[FieldError]) -> Result<(), StatusError> {
        if errors.is_empty() {
            return Ok(());
        }
        let (group, kind) = (self.endpoint.group(), self.endpoint.kind());
        Err(StatusError::invalid(group, kind, meta::name(&self.object), errors))
    }
}
