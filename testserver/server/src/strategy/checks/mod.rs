//! Validation of built-in kinds as data: rules for the fields of Go types, wherever a type occurs.
//!
//! `table` reads the rules of two files, the declarative tags in the Go sources (`data/tags.txt`, generated) and what genuine servers check besides (`data/checks.txt`). `walk` goes through an object and its type, `rule` judges a value, `formats` knows the texts, `schedules` those of CronJobs.

mod custom;
mod formats;
mod rule;
mod table;
mod walk;

pub(crate) use walk::validate;
