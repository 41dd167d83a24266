//! A compiled expression and its cost.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicU64, Ordering},
};

use super::{
    ast::each_part,
    authorizer,
    macros::{self, Expanded},
    pairs,
    rewrite::{Structs, resolved},
};
use crate::schema::pattern::compile as compile_pattern;
use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, Value,
        common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators},
        extractors::This,
        objects::{Key, Opaque, OptionalValue},
        parser::Parser,
    },
};

/// The largest length of an expression: the limit of genuine servers' parser.
const MAX_LENGTH: usize = 100_000;
/// The largest nesting of an expression. Parser and evaluator are recursive, and the stack is limited.
const MAX_NESTING: usize = 60;

/// The most steps of one evaluation.
const MAX_COST: u64 = 1_000_000;
/// The error of an evaluation that takes more.
pub(super) const COST_EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";
/// Our own functions and variable, with names that rules cannot have.
const COUNT: &str = "@count";
const MEMBER: &str = "@member";
const STEPS: &str = "@steps";

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    /// As parsed, if that has macros which are expanded.
    written: Option<IdedExpr>,
    /// Without macros.
    expanded: Expanded,
    /// As evaluated.
    program: IdedExpr,
    /// Steps of one evaluation, not counting those in loops.
    steps: u64,
}

/// The variables of an evaluation.
pub(crate) struct Scope<'a> {
    context: Context<'a>,
    /// The steps of the current evaluation.
    steps: Arc<AtomicU64>,
}

impl Expression {
    /// Compiles; the error is the parser's.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        Self::parse(text, Structs::Refused)
    }

    /// Compiles an expression that may construct the objects of mutations.
    pub(super) fn compile_mutation(text: &str) -> Result<Self, String> {
        Self::parse(text, Structs::OfMutations)
    }

    fn parse(text: &str, structs: Structs) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!(
                "expression code point size exceeds limit: size: {}, limit {MAX_LENGTH}",
                text.len()
            ));
        }
        if nesting(text) > MAX_NESTING {
            return Err(format!("expression recursion limit exceeded: {MAX_NESTING}"));
        }
        let written = Parser::new().enable_optional_syntax(true).parse(text);
        // Genuine servers indent the lines below an error.
        let written = written.map_err(|error| error.to_string().replace("\n|", "\n |"))?;
        let expanded = macros::expanded(&written);
        let written = expanded.differs().then_some(written);
        let mut program = resolved(expanded.ast.clone(), structs);
        pairs::lower(&mut program);
        let steps = prepare(&mut program);
        Ok(Self { written, expanded, program, steps })
    }

    pub(super) fn written(&self) -> &IdedExpr {
        self.written.as_ref().unwrap_or(&self.expanded.ast)
    }

    pub(super) fn expanded(&self) -> &Expanded {
        &self.expanded
    }

    /// Whether the expression references a variable.
    pub(super) fn mentions(&self, variable: &str) -> bool {
        self.expanded.ast.references().has_variable(variable)
    }

    /// Evaluates the expression. Common errors have the messages of the genuine server.
    pub(crate) fn run(&self, scope: &Scope<'_>) -> Result<Value, String> {
        scope.steps.store(self.steps, Ordering::Relaxed);
        Value::resolve(&self.program, &scope.context).map_err(|error| match error {
            ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
            ExecutionError::DivisionByZero(_) => "division by zero".into(),
            ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
            ExecutionError::IndexOutOfBounds(Value::Int(at)) => format!("index out of bounds: {at}"),
            ExecutionError::NoSuchOverload => "no such overload".into(),
            ExecutionError::Overflow(..) => "integer overflow".into(),
            ExecutionError::FunctionError { function, message } => match function.as_str() {
                "int" | "uint" | "double" => format!("type conversion error from 'string' to '{function}'"),
                "duration" => "type conversion error from 'string' to 'google.protobuf.Duration'".into(),
                _ => message,
            },
            other => other.to_string(),
        })
    }
}

impl Expression {
    /// Evaluates a condition.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, String> {
        match self.run(scope)? {
            Value::Bool(holds) => Ok(holds),
            _ => Err("cel expression must evaluate to a bool".into()),
        }
    }
}

impl Scope<'static> {
    pub(crate) fn new() -> Self {
        let mut context = FUNCTIONS.new_inner_scope();
        let steps = Arc::new(AtomicU64::new(0));
        context.add_variable_from_value(STEPS, Value::Opaque(Arc::new(Steps(steps.clone()))));
        Self { context, steps }
    }
}

impl Scope<'_> {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.context.add_variable_from_value(name, value);
    }

    /// The steps of the last evaluation.
    pub(super) fn cost(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Whether a function of this name exists, with any arguments.
    #[cfg(test)]
    pub(super) fn has_function(name: &str) -> bool {
        let call = CallExpr { func_name: name.to_owned(), target: None, args: Vec::new() };
        let call = IdedExpr { id: 0, expr: Expr::Call(call) };
        !matches!(Value::resolve(&call, &FUNCTIONS), Err(ExecutionError::UndeclaredReference(_)))
    }
}

/// The functions of CEL and of Kubernetes.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("type", |value: Value| -> Result<Value, ExecutionError> {
        Ok(Value::Opaque(Arc::new(TypeName(type_name(&value)))))
    });
    context.add_function("dyn", |value: Value| -> Result<Value, ExecutionError> { Ok(value) });
    context.add_function("bool", boolean);
    context.add_function("matches", matches);
    context.add_function(MEMBER, optional_member);
    context.add_function(COUNT, count);
    authorizer::register(&mut context);
    pairs::register(&mut context);
    for name in TYPES {
        context.add_variable_from_value(name, Value::Opaque(Arc::new(TypeName(name))));
    }
    context
});

/// The steps of an evaluation, as a variable for [`count`].
#[derive(Debug)]
struct Steps(Arc<AtomicU64>);

impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Steps {}

impl Opaque for Steps {
    fn runtime_type_name(&self) -> &str {
        "steps"
    }
}

/// Adds the steps of one round of a loop and returns its result.
fn count(steps: Value, inner: i64, value: Value) -> Result<Value, ExecutionError> {
    let inner = u64::try_from(inner).unwrap_or_default();
    let Value::Opaque(opaque) = &steps else { return Err(ExecutionError::NoSuchOverload) };
    let Some(Steps(steps)) = opaque.downcast_ref() else { return Err(ExecutionError::NoSuchOverload) };
    match steps.fetch_add(inner, Ordering::Relaxed) + inner > MAX_COST {
        true => Err(ExecutionError::function_error(COUNT, COST_EXCEEDED)),
        false => Ok(value),
    }
}

/// `value.?name`.
fn optional_member(value: Value, name: Arc<String>) -> Result<Value, ExecutionError> {
    let optional = |value| Ok(Value::Opaque(Arc::new(value)));
    match &value {
        Value::Map(map) => match map.map.get(&Key::String(name)) {
            Some(member) => optional(OptionalValue::of(member.clone())),
            None => optional(OptionalValue::none()),
        },
        Value::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value) {
            Some(Some(inner)) => optional_member(inner.clone(), name),
            Some(None) => optional(OptionalValue::none()),
            None => Err(ExecutionError::NoSuchOverload),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Patterns are those of Go.
fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<bool, ExecutionError> {
    let compiled = compile_pattern(&pattern);
    let compiled = compiled
        .map_err(|why| ExecutionError::function_error("matches", format!("error parsing regexp: {why}")))?;
    Ok(compiled.is_match(&text))
}

fn boolean(value: Value) -> Result<bool, ExecutionError> {
    match &value {
        Value::Bool(value) => Ok(*value),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(ExecutionError::function_error("bool", "type conversion error from 'string' to 'bool'")),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Names of types, which are values in CEL.
const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

#[derive(Debug, PartialEq, Eq)]
struct TypeName(&'static str);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Opaque(_) | Value::Function(..) => "type",
    }
}

/// The nesting of brackets and operators in a text, as an upper bound.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut run, mut branches) = (0usize, 0, 0usize, 0usize);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = if matches!(c, '!' | '-') { run + 1 } else { 0 };
        branches += usize::from(c == '?');
        deepest = deepest.max(depth + run + branches);
    }
    deepest
}

/// Makes loops count their steps, and gives optional members a function. Returns the steps outside of loops.
fn prepare(expr: &mut IdedExpr) -> u64 {
    match &mut expr.expr {
        Expr::Comprehension(comprehension) => {
            let outside =
                [&mut comprehension.iter_range, &mut comprehension.accu_init, &mut comprehension.result];
            let outside: u64 = outside.into_iter().map(prepare).sum();
            let inside = prepare(&mut comprehension.loop_cond) + prepare(&mut comprehension.loop_step);
            let step = std::mem::take(&mut comprehension.loop_step);
            let inside = i64::try_from(inside).unwrap_or(i64::MAX);
            let steps = IdedExpr { id: 0, expr: Expr::Ident(STEPS.into()) };
            let count = IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::Int(inside.into())) };
            let id = step.id;
            let args = vec![steps, count, step];
            let call = Expr::Call(CallExpr { func_name: COUNT.into(), target: None, args });
            comprehension.loop_step = IdedExpr { id, expr: call };
            return 1 + outside;
        }
        Expr::Call(call) if call.func_name == operators::OPT_SELECT => call.func_name = MEMBER.into(),
        _ => {}
    }
    let mut steps = 1;
    each_part(expr, &mut |part| steps += prepare(part));
    steps
}
