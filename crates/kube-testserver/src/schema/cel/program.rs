//! A compiled expression and its cost.

use std::sync::{Arc, LazyLock};

use super::{authorizer, rewrite::Structs};
use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, Program, Value,
        common::ast::{Expr, IdedExpr},
        objects::Opaque,
    },
};

/// The largest length of an expression: the limit of genuine servers' parser.
const MAX_LENGTH: usize = 100_000;
/// The largest nesting of an expression. Parser and evaluator are recursive, and the stack is limited.
const MAX_NESTING: usize = 60;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    ast: IdedExpr,
    /// The depth of nested loops.
    loops: u32,
    /// Steps of one evaluation, not counting loops.
    steps: u64,
}

/// The variables of an evaluation.
pub(crate) struct Scope<'a>(Context<'a>);

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
        let program = Program::compile(text).map_err(|error| error.to_string())?;
        let ast = structs.resolve(text, program.expression().clone())?;
        let (loops, steps) = measure(&ast);
        Ok(Self { ast, loops, steps })
    }

    pub(super) fn ast(&self) -> &IdedExpr {
        &self.ast
    }

    /// Whether the expression references a variable.
    pub(super) fn mentions(&self, variable: &str) -> bool {
        self.ast.references().has_variable(variable)
    }

    /// The largest cost of an evaluation when no collection is longer than `longest`.
    pub(super) fn cost(&self, longest: u64) -> u64 {
        self.steps.saturating_mul(longest.max(1).saturating_pow(self.loops))
    }

    pub(super) fn has_loops(&self) -> bool {
        self.loops > 0
    }

    /// Evaluates the expression. Common errors have the messages of the genuine server.
    pub(crate) fn run(&self, scope: &Scope<'_>) -> Result<Value, String> {
        Value::resolve(&self.ast, &scope.0).map_err(|error| match error {
            ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
            ExecutionError::DivisionByZero(_) => "division by zero".into(),
            ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
            ExecutionError::IndexOutOfBounds(Value::Int(at)) => format!("index out of bounds: {at}"),
            ExecutionError::NoSuchOverload => "no such overload".into(),
            ExecutionError::FunctionError { message, .. } => message,
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
        Self(FUNCTIONS.new_inner_scope())
    }
}

impl Scope<'_> {
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.add_variable_from_value(name, value);
    }

    /// Whether a function of this name exists, with any arguments.
    pub(super) fn has_function(name: &str) -> bool {
        let Ok(call) = Program::compile(&format!("{name}()")) else { return false };
        !matches!(call.execute(&FUNCTIONS), Err(ExecutionError::UndeclaredReference(_)))
    }
}

/// The functions of CEL and of Kubernetes.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("type", |value: Value| -> Result<Value, ExecutionError> {
        Ok(Value::Opaque(Arc::new(TypeName(type_name(&value)))))
    });
    authorizer::register(&mut context);
    for name in TYPES {
        context.add_variable_from_value(name, Value::Opaque(Arc::new(TypeName(name))));
    }
    context
});

/// Names of types, which are values in CEL.
pub(super) const TYPES: [&str; 10] =
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

/// The depth of nested loops, and the number of nodes.
fn measure(expr: &IdedExpr) -> (u32, u64) {
    let mut children: Vec<&IdedExpr> = Vec::new();
    let mut inner_loop = (0, 0);
    match &expr.expr {
        Expr::Call(call) => children.extend(call.target.as_deref().into_iter().chain(&call.args)),
        Expr::Comprehension(c) => {
            children.extend([&c.iter_range, &c.accu_init, &c.result]);
            let (condition, step) = (measure(&c.loop_cond), measure(&c.loop_step));
            inner_loop = (1 + condition.0.max(step.0), condition.1 + step.1);
        }
        Expr::List(list) => children.extend(&list.elements),
        Expr::Select(select) => children.push(&select.operand),
        Expr::Map(map) => children.extend(map.entries.iter().flat_map(|entry| entry_parts(&entry.expr))),
        Expr::Struct(made) => children.extend(made.entries.iter().flat_map(|entry| entry_parts(&entry.expr))),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    let each: Vec<(u32, u64)> = children.into_iter().map(measure).collect();
    let loops = each.iter().map(|(loops, _)| *loops).max().unwrap_or(0);
    (loops.max(inner_loop.0), 1 + inner_loop.1 + each.iter().map(|(_, steps)| steps).sum::<u64>())
}

/// The expressions in an entry of a map or struct literal.
pub(super) fn entry_parts(entry: &kube_cel::cel::common::ast::EntryExpr) -> Vec<&IdedExpr> {
    use kube_cel::cel::common::ast::EntryExpr;
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
