//! Estimates the cost of a schema's rules, provided the sizes that the schema permits: a CRD with too expensive rules is refused
//! ([KEP-2876](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2876-crd-validation-expression-language)).
//!
//! `size` knows how large a value of the schema can be, `operand` what is known about the value of an expression. `functions` has the
//! costs of calls, `estimate` walks an expression, and `budget` refuses what costs too much. The weights are those of the genuine server,
//! derived from its messages.

mod budget;
mod estimate;
mod functions;
mod operand;
mod size;

#[cfg(test)]
mod tests;

pub(super) use budget::{Costs, Occurrences};
