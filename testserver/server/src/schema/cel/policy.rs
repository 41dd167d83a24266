//! Expressions of admission policies.

use kube_cel::cel::{Value as Cel, objects::Key};
use serde_json::{Map, Number, Value};

use super::{
    Expression, Scope,
    rewrite::Structs,
    typing::{self, Kind},
};
use crate::schema::expression::{PolicyExpression, Returns};

impl PolicyExpression {
    /// Parses an expression. Its variables are not checked.
    pub(crate) fn parse(self, text: &str) -> Result<Expression, String> {
        match self {
            Self::Plain => Expression::compile(text),
            Self::Mutation => Expression::compile_mutation(text),
        }
    }

    /// Checks an expression over `variables`, of whose types nothing is known. The error is the genuine server's.
    pub(crate) fn check(self, text: &str, variables: &[&str], returns: Returns) -> Result<(), String> {
        let refused = |why| format!("compilation failed: {why}");
        let expression = self.parse(text).map_err(refused)?;
        let structs = match self {
            Self::Plain => Structs::Refused,
            Self::Mutation => Structs::OfMutations,
        };
        let actual_type = typing::returned(text, &expression, variables, structs).map_err(refused)?;
        let expected_type = match (returns, &actual_type) {
            (Returns::Anything, _)
            | (Returns::Bool, Kind::Named("bool"))
            | (Returns::String, Kind::Named("string"))
            | (Returns::StringOrNull, Kind::Named("string") | Kind::Null) => return Ok(()),
            (_, Kind::Dyn) if has_typed_variables(text) => return Ok(()),
            (Returns::Bool, _) => "bool",
            (Returns::String, _) => "string",
            (Returns::StringOrNull, _) => "one of [string null_type]",
        };
        Err(format!("must evaluate to {expected_type} but got {actual_type}"))
    }
}

/// Whether an expression may use variables whose types genuine servers know, and this one does not.
fn has_typed_variables(text: &str) -> bool {
    ["variables", "request", "namespaceObject", "authorizer"].iter().any(|name| text.contains(name))
}

impl Expression {
    /// Evaluates an expression to a text; `None` when it fails or is something else.
    pub(crate) fn text(&self, scope: &Scope<'_>) -> Option<String> {
        match self.run(scope) {
            Ok(Cel::String(text)) => Some(text.to_string()),
            _ => None,
        }
    }

    /// Evaluates an expression to JSON.
    pub(crate) fn json(&self, scope: &Scope<'_>) -> Result<Value, String> {
        json(&self.run(scope)?).ok_or_else(|| "the result has no representation in JSON".into())
    }
}

/// The JSON of a result; `None` when it has none.
fn json(value: &Cel) -> Option<Value> {
    Some(match value {
        Cel::Null => Value::Null,
        Cel::Bool(value) => (*value).into(),
        Cel::Int(number) => (*number).into(),
        Cel::UInt(number) => (*number).into(),
        Cel::Float(number) => Number::from_f64(*number)?.into(),
        Cel::String(text) => text.as_str().into(),
        Cel::List(items) => items.iter().map(json).collect::<Option<Vec<Value>>>()?.into(),
        Cel::Map(map) => {
            let mut members = Map::new();
            for (key, value) in map.map.iter() {
                let Key::String(name) = key else { return None };
                members.insert(name.to_string(), json(value)?);
            }
            members.into()
        }
        _ => return None,
    })
}
