//! Tests of controllers, one situation each: the page "Test a controller" shows them.

mod client_layers;
mod conflict;
mod deletion;
mod reconcile;
mod upgrade;
mod webhook;
mod whole_controller;
