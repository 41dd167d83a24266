//! Tests of controllers, one situation each: the page "Test a controller" shows them.
//!
//! `reconcile` is one call of a reconciler; then `conflict`, `deletion`, `whole_controller`, `webhook` and `upgrade`. `pods` has logs and
//! ports, `client_layers` tests what is between a client and its server, and `verify` breaks an operator in every place.

mod client_layers;
mod conflict;
mod deletion;
mod pods;
mod reconcile;
mod upgrade;
mod verify;
mod webhook;
mod whole_controller;
