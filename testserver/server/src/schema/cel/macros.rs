//! Expands the macros that the `cel` crate does not: those with two variables, those of optional values, and `sortBy`.

use std::collections::HashMap;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, operators,
};

use super::ast::{each_part, parts};

/// Adds an entry to a map.
pub(super) const MAP_INSERT: &str = "cel.@mapInsert";
/// Sorts a list by the keys of its elements.
pub(super) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";
const ACCUMULATOR: &str = "@result";
const SORTED: &str = "@sorted";

/// An expression without these macros, and the macro of each node that is not in the text.
#[derive(Debug)]
pub(super) struct Expanded {
    pub(super) ast: IdedExpr,
    pub(super) origins: HashMap<u64, u64>,
    /// Arguments of macros that must be names and are not, and why.
    pub(super) refused: Vec<(IdedExpr, String)>,
}

impl Expanded {
    /// Whether the text has one of these macros.
    pub(super) fn differs(&self) -> bool {
        !self.origins.is_empty()
    }
}

/// Replaces the macros.
pub(super) fn expanded(written: &IdedExpr) -> Expanded {
    let mut expander =
        Expander { next: largest_id(written) + 1, at: 0, origins: HashMap::new(), refused: Vec::new() };
    let mut ast = written.clone();
    expander.expand(&mut ast);
    Expanded { ast, origins: expander.origins, refused: expander.refused }
}

struct Expander {
    next: u64,
    /// The macro that is expanded.
    at: u64,
    origins: HashMap<u64, u64>,
    refused: Vec<(IdedExpr, String)>,
}

/// The parts of a loop.
struct Loop {
    range: IdedExpr,
    names: (String, Option<String>),
    start: IdedExpr,
    condition: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
}

impl Expander {
    fn expand(&mut self, expr: &mut IdedExpr) {
        each_part(expr, &mut |part| self.expand(part));
        if let Expr::Call(call) = &expr.expr
            && let Some(target) = &call.target
        {
            self.at = expr.id;
            if let Some(replacement) = self.replacement(&call.func_name, target, &call.args) {
                *expr = replacement;
            }
        }
    }

    fn replacement(&mut self, name: &str, target: &IdedExpr, args: &[IdedExpr]) -> Option<IdedExpr> {
        let mut names = args.iter().map(variable).collect::<Vec<_>>();
        if let [first @ Some(_), second, _, ..] = names.as_mut_slice()
            && first == second
        {
            *second = None;
        }
        match (name, names.as_slice(), args) {
            (operators::ALL, [Some(first), Some(second), _], [.., holds]) => {
                Some(self.all(target, (first, second), holds))
            }
            (operators::EXISTS, [Some(first), Some(second), _], [.., holds]) => {
                Some(self.exists(target, (first, second), holds))
            }
            (operators::EXISTS_ONE | "existsOne", [Some(first), Some(second), _], [.., holds]) => {
                Some(self.exists_one(target, (first, second), holds))
            }
            ("transformList", [Some(first), Some(second), ..], [_, _, filter @ .., value])
                if filter.len() < 2 =>
            {
                Some(self.list_of(target, (first, second), filter, value))
            }
            ("transformMap", [Some(first), Some(second), ..], [_, _, filter @ .., value])
                if filter.len() < 2 =>
            {
                let key = self.ident(first);
                Some(self.map_of(target, (first, second), filter, vec![key, value.clone()]))
            }
            ("transformMapEntry", [Some(first), Some(second), ..], [_, _, filter @ .., entry])
                if filter.len() < 2 =>
            {
                Some(self.map_of(target, (first, second), filter, vec![entry.clone()]))
            }
            ("optMap" | "optFlatMap", [Some(name_of_value), _], [_, value]) => {
                Some(self.mapped(name, target, name_of_value, value))
            }
            ("sortBy", [Some(name), _], [_, key]) => Some(self.sorted_by(target, name, key)),
            _ => {
                self.refuse(name, args);
                None
            }
        }
    }

    /// Says what is wrong with the names of a macro.
    fn refuse(&mut self, name: &str, args: &[IdedExpr]) {
        let (names, why) = match (name, args.len()) {
            (operators::ALL | operators::EXISTS | operators::EXISTS_ONE | "existsOne", 3)
            | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
                (2, "argument must be a simple name".to_owned())
            }
            ("optMap" | "optFlatMap", 2) => {
                (1, format!("{name}() variable name must be a simple identifier"))
            }
            ("sortBy", 2) => (1, "argument is not an identifier".to_owned()),
            _ => return,
        };
        match args[..names].iter().find(|arg| variable(arg).is_none()) {
            Some(arg) => self.refused.push((arg.clone(), why)),
            None => {
                let why = format!("duplicate variable name: {}", variable(&args[1]).unwrap_or_default());
                self.refused.push((args[1].clone(), why));
            }
        }
    }

    fn node(&mut self, expr: Expr) -> IdedExpr {
        let id = self.next;
        self.next += 1;
        self.origins.insert(id, self.at);
        IdedExpr { id, expr }
    }

    fn ident(&mut self, name: &str) -> IdedExpr {
        self.node(Expr::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> IdedExpr {
        self.ident(ACCUMULATOR)
    }

    fn boolean(&mut self, value: bool) -> IdedExpr {
        self.node(Expr::Literal(LiteralValue::Boolean(value.into())))
    }

    fn number(&mut self, value: i64) -> IdedExpr {
        self.node(Expr::Literal(LiteralValue::Int(value.into())))
    }

    fn list(&mut self, elements: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::List(ListExpr::new(elements)))
    }

    fn call(&mut self, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }))
    }

    fn member(&mut self, target: IdedExpr, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::Call(CallExpr { func_name: name.to_owned(), target: Some(Box::new(target)), args }))
    }

    fn optional(&mut self, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        let namespace = self.ident("optional");
        self.member(namespace, name, args)
    }

    fn on_accumulator(&mut self, name: &str, arg: &IdedExpr) -> IdedExpr {
        let accumulator = self.accumulator();
        self.call(name, vec![accumulator, arg.clone()])
    }

    /// The step, or the accumulator unchanged.
    fn if_(&mut self, condition: IdedExpr, step: IdedExpr) -> IdedExpr {
        let unchanged = self.accumulator();
        self.call(operators::CONDITIONAL, vec![condition, step, unchanged])
    }

    fn filtered(&mut self, filter: &[IdedExpr], step: IdedExpr) -> IdedExpr {
        match filter {
            [filter] => self.if_(filter.clone(), step),
            _ => step,
        }
    }

    /// A loop over indexes or keys and values, whose result is the accumulator.
    fn pairs(
        &mut self,
        range: &IdedExpr,
        (first, second): (&String, &String),
        start: IdedExpr,
        condition: IdedExpr,
        step: IdedExpr,
    ) -> IdedExpr {
        let (names, result) = ((first.clone(), Some(second.clone())), self.accumulator());
        self.comprehension(Loop { range: range.clone(), names, start, condition, step, result })
    }

    fn all(&mut self, range: &IdedExpr, names: (&String, &String), holds: &IdedExpr) -> IdedExpr {
        let (start, accumulator) = (self.boolean(true), self.accumulator());
        let condition = self.call(operators::NOT_STRICTLY_FALSE, vec![accumulator]);
        let step = self.on_accumulator(operators::LOGICAL_AND, holds);
        self.pairs(range, names, start, condition, step)
    }

    fn exists(&mut self, range: &IdedExpr, names: (&String, &String), holds: &IdedExpr) -> IdedExpr {
        let (start, accumulator) = (self.boolean(false), self.accumulator());
        let absent = self.call(operators::LOGICAL_NOT, vec![accumulator]);
        let condition = self.call(operators::NOT_STRICTLY_FALSE, vec![absent]);
        let step = self.on_accumulator(operators::LOGICAL_OR, holds);
        self.pairs(range, names, start, condition, step)
    }

    fn exists_one(&mut self, range: &IdedExpr, names: (&String, &String), holds: &IdedExpr) -> IdedExpr {
        let (start, condition) = (self.number(0), self.boolean(true));
        let one = self.number(1);
        let more = self.on_accumulator(operators::ADD, &one);
        let step = self.if_(holds.clone(), more);
        let one = self.number(1);
        let result = self.on_accumulator(operators::EQUALS, &one);
        let names = (names.0.clone(), Some(names.1.clone()));
        self.comprehension(Loop { range: range.clone(), names, start, condition, step, result })
    }

    fn list_of(
        &mut self,
        range: &IdedExpr,
        names: (&String, &String),
        filter: &[IdedExpr],
        value: &IdedExpr,
    ) -> IdedExpr {
        let (start, condition) = (self.list(Vec::new()), self.boolean(true));
        let element = self.list(vec![value.clone()]);
        let step = self.on_accumulator(operators::ADD, &element);
        let step = self.filtered(filter, step);
        self.pairs(range, names, start, condition, step)
    }

    fn map_of(
        &mut self,
        range: &IdedExpr,
        names: (&String, &String),
        filter: &[IdedExpr],
        inserted: Vec<IdedExpr>,
    ) -> IdedExpr {
        let (start, condition) = (self.node(Expr::Map(MapExpr { entries: Vec::new() })), self.boolean(true));
        let mut args = vec![self.accumulator()];
        args.extend(inserted);
        let step = self.call(MAP_INSERT, args);
        let step = self.filtered(filter, step);
        self.pairs(range, names, start, condition, step)
    }

    /// `value` of what the optional holds, if it holds something.
    fn mapped(&mut self, name: &str, optional: &IdedExpr, variable: &str, value: &IdedExpr) -> IdedExpr {
        let present = self.member(optional.clone(), "hasValue", Vec::new());
        let inner = self.member(optional.clone(), "value", Vec::new());
        let mut bound = self.bind(variable, inner, value.clone());
        if name == "optMap" {
            bound = self.optional("of", vec![bound]);
        }
        let none = self.optional("none", Vec::new());
        self.call(operators::CONDITIONAL, vec![present, bound, none])
    }

    fn sorted_by(&mut self, list: &IdedExpr, name: &str, key: &IdedExpr) -> IdedExpr {
        let (range, start, condition) = (self.ident(SORTED), self.list(Vec::new()), self.boolean(true));
        let element = self.list(vec![key.clone()]);
        let step = self.on_accumulator(operators::ADD, &element);
        let (names, result) = ((name.to_owned(), None), self.accumulator());
        let keys = self.comprehension(Loop { range, names, start, condition, step, result });
        let sorted = self.ident(SORTED);
        let sorted = self.member(sorted, SORT_BY_KEYS, vec![keys]);
        self.bind(SORTED, list.clone(), sorted)
    }

    /// `value` under a name in `result`: a loop without rounds.
    fn bind(&mut self, name: &str, value: IdedExpr, result: IdedExpr) -> IdedExpr {
        let (iter_range, loop_cond) = (self.list(Vec::new()), self.boolean(false));
        let loop_step = self.ident(name);
        self.node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range,
            iter_var: "#unused".to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            accu_init: value,
            loop_cond,
            loop_step,
            result,
        })))
    }

    fn comprehension(&mut self, of: Loop) -> IdedExpr {
        let Loop { range, names, start, condition, step, result } = of;
        self.node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range,
            iter_var: names.0,
            iter_var2: names.1,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: start,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }
}

fn variable(expr: &IdedExpr) -> Option<String> {
    match &expr.expr {
        Expr::Ident(name) => Some(name.clone()),
        _ => None,
    }
}

fn largest_id(expr: &IdedExpr) -> u64 {
    let mut largest = expr.id;
    for part in parts(expr) {
        largest = largest.max(largest_id(part));
    }
    largest
}
