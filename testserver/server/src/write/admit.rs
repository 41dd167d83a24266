//! The stage admit: built-in plugins change the object, then mutating policies and webhooks do.

use super::{ObjectWrite, WriteContext, kind::undecodable};
use crate::{admission, status_error::StatusError, webhook::Interruption};

impl ObjectWrite<'_> {
    pub(super) fn admit(&mut self, context: &WriteContext<'_>) -> Result<(), Interruption> {
        if !self.is_reviewed() {
            return Ok(());
        }
        let admission = context.admission;
        let call = self.call();
        let new_volume = |base: &str| match call {
            Some(call) => call.new_volume(admission.ids, base),
            None => admission.ids.generated_name(base),
        };
        admission.mutate_by_plugins(&self.plugin_write(), &new_volume, &mut self.object)?;
        let by_controller = self.as_request(context);
        let attributes = self.attributes(by_controller.as_ref());
        let Some(attributes) = attributes.filter(|_| admission.control.reviews_every_request()) else {
            return Ok(());
        };
        // Webhooks see what is printed of the object.
        self.kind.encode(self.endpoint, &mut self.object);
        if admission::mutate(admission, attributes, Some(&mut self.object), &mut self.warnings)? {
            self.kind
                .decode(self.endpoint, &mut self.object, &mut Vec::new())
                .map_err(|why| StatusError::internal(undecodable(self.endpoint, &why).message))?;
            self.default();
        }
        Ok(())
    }
}
