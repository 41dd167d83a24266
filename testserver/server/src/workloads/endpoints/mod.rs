//! The pods behind a service, and the Endpoints and EndpointSlices that list them.

mod backends;
mod slices;

pub(crate) use backends::{Backend, backend, plan_endpoints};
pub(crate) use slices::{SERVICE_NAME, SlicePlan, plan_mirror, plan_slices};
