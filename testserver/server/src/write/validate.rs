//! The stage validate: records who owns which fields, then asks everything that can refuse the object as it will be stored.

use super::{ObjectWrite, WriteContext, object_write::Writer};
use crate::{
    admission::{self, Attributes},
    apply::Ownership,
    crd,
    rbac::RoleWrite,
    status_error::StatusError,
    strategy::WritePart,
    validation,
    webhook::Interruption,
};

impl ObjectWrite<'_> {
    pub(super) fn validate(&mut self, context: &WriteContext<'_>) -> Result<(), Interruption> {
        self.check_roles(context)?;
        let defines = self.endpoint.resource.is_definition();
        if defines {
            crd::complete(&mut self.object);
        }
        self.record_owners(context)?;
        if defines && self.part() == WritePart::Main {
            crd::record_stored_versions(&mut self.object);
        }
        if !self.is_trusted() {
            let warnings = validation::validate(self.endpoint, self.part(), &self.object, self.old())?;
            self.warnings.extend(warnings);
        }
        if self.is_reviewed() {
            self.review(context)?;
        }
        if defines {
            // The CRD is served as soon as it is stored. On clusters, a controller accepts its names later.
            crd::accept(&mut self.object, &context.admission.storage.scheme, &context.now);
        }
        Ok(())
    }

    fn record_owners(&mut self, context: &WriteContext<'_>) -> Result<(), Interruption> {
        let old = self.old();
        let Writer::Client(client) = &mut self.writer else { return Ok(()) };
        let ownership = std::mem::replace(&mut client.ownership, Ownership::FromDiff);
        ownership.record(context.admission.storage, client.call, &context.now, old, &mut self.object)
    }

    /// Refuses to grant more than the user has.
    fn check_roles(&self, context: &WriteContext<'_>) -> Result<(), StatusError> {
        let Some(call) = self.call() else { return Ok(()) };
        let write = RoleWrite {
            user: &call.user,
            endpoint: self.endpoint,
            namespace: self.namespace,
            object: &self.object,
            old: self.old(),
        };
        write.check(context.admission.access, context.admission.storage)
    }

    fn review(&mut self, context: &WriteContext<'_>) -> Result<(), Interruption> {
        let admission = context.admission;
        let by_controller = self.as_request(context);
        if let Some(attributes) = self.attributes(by_controller.as_ref()) {
            let reviewed = Attributes { object: Some(&self.object), ..attributes };
            return admission::validate(admission, &reviewed, &mut self.warnings);
        }
        let write = self.plugin_write();
        admission.validate_by_plugins(&write, &self.object)?;
        Ok(admission.validate_usage(&write, &self.object)?)
    }
}
