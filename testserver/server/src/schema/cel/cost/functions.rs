//! What functions cost, and how large their results are. The numbers are those of genuine servers, derived from the costs they state
//! (`recorded/costs.jsonl`).

use kube_cel::cel::common::ast::operators;

use super::{
    operand::{Estimate, Operand},
    size::Size,
};
use crate::schema::cel::typing::{Kind, Signature};

/// Ten characters of a text cost one step.
const CHARACTERS: f64 = 0.1;
/// Four characters of a pattern count as one expression.
const PATTERN: f64 = 0.25;
/// A named format counts as a pattern of so many steps.
const FORMAT: u64 = 32;
/// What the list extension adds for the list that it makes.
const NEW_LIST: u64 = 11;

type Args<'a, 'd, 'f> = &'a [Operand<'d, 'f>];

/// The cost of one way to call a function; `full` is its qualified name.
pub(super) fn estimate(name: &str, full: &str, signature: &Signature, args: Args<'_, '_, '_>) -> Estimate {
    let text = signature.takes("string") || signature.takes("bytes");
    let size = |at: usize| args.get(at).map_or(Size::UNKNOWN, Operand::size);
    let first = size(0);
    match full {
        "sets.contains" | "sets.intersects" => cost(first.max.saturating_mul(size(1).max).saturating_add(1)),
        "sets.equivalent" => cost(first.max.saturating_mul(size(1).max).saturating_mul(2).saturating_add(1)),
        "strings.quote" => sized(
            read(first),
            Size { min: first.min.saturating_add(2), max: first.max.saturating_mul(2).saturating_add(2) },
        ),
        "ip.isCanonical" => cost(times(first, 2.0 * CHARACTERS)),
        "lists.range" => {
            let length = args.first().and_then(|arg| arg.number).map(|number| number.unsigned_abs());
            let length = length.map_or(Size::UNKNOWN, Size::exact);
            sized(length.max.saturating_add(NEW_LIST), length)
        }
        _ => match name {
            operators::EQUALS | operators::NOT_EQUALS => cost(equality(args)),
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS
                if text =>
            {
                cost(times(Size::up_to(first.max.min(size(1).max)), CHARACTERS))
            }
            operators::ADD if text => {
                let both = first.plus(size(1));
                sized(read(both), both)
            }
            operators::ADD if signature.takes_list() => sized(1, first.plus(size(1))),
            operators::IN if signature.ends_with_list() => cost(size(1).max),
            _ if text => of_text(name, signature, args),
            _ if signature.takes_list() => of_list(name, signature, args),
            "validate" => cost(read(size(1)).saturating_mul(FORMAT)),
            "containsIP" => cost(address(args).saturating_add(4)),
            "containsCIDR" => cost(address(args).saturating_add(7)),
            _ => cost(1),
        },
    }
}

fn cost(cost: u64) -> Estimate {
    Estimate { cost, size: None }
}

fn sized(cost: u64, size: Size) -> Estimate {
    Estimate { cost, size: Some(size) }
}

/// The size times a factor, rounded up.
fn times(size: Size, factor: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; the conversion saturates, and nothing is negative"
    )]
    let product = (size.max as f64 * factor).ceil() as u64;
    product
}

/// The cost of reading a text.
fn read(size: Size) -> u64 {
    times(size, CHARACTERS)
}

fn equality(args: Args<'_, '_, '_>) -> u64 {
    let [left, right] = args else { return 1 };
    match (&left.kind, &right.kind) {
        (Kind::Named("kubernetes.Quantity" | "net.IP" | "net.CIDR" | "kubernetes.Semver"), _) => 1,
        (Kind::Named("kubernetes.NamedFormat"), _) => 7,
        (Kind::Null, Kind::Null) => 1,
        _ => times(Size::up_to(left.size().max.min(right.size().max)), CHARACTERS),
    }
}

/// The address that another one is looked for in.
fn address(args: Args<'_, '_, '_>) -> u64 {
    args.get(1).filter(|arg| matches!(arg.kind, Kind::Named("string"))).map_or(0, |arg| read(arg.size()))
}

fn of_text(name: &str, signature: &Signature, args: Args<'_, '_, '_>) -> Estimate {
    let size = |at: usize| args.get(at).map_or(Size::UNKNOWN, Operand::size);
    let first = size(0);
    match name {
        "startsWith" | "endsWith" => cost(read(size(1))),
        "contains" => cost(read(first).saturating_mul(read(size(1)))),
        "matches" => cost(searched(first, size(1))),
        "find" => sized(searched(first, size(1)), first),
        "findAll" => sized(searched(first, size(1)), Size::up_to(first.max)),
        "lowerAscii" | "upperAscii" | "trim" | "substring" => sized(read(first), first),
        "url" => sized(read(first), first),
        "indexOf" | "lastIndexOf" | "quantity" | "isQuantity" | "ip" | "isIP" | "cidr" | "isCIDR"
        | "semver" | "isSemver" | "format" => cost(read(first)),
        "split" => {
            let most = args.get(2).and_then(|arg| arg.number);
            let most = most.map_or(first.max, |number| number.cast_unsigned());
            sized(times(first, 2.0 * CHARACTERS), Size::up_to(most))
        }
        "replace" => sized(times(first, 2.0 * CHARACTERS), replaced(first, size(1), size(2))),
        "string" if signature.takes("bytes") => {
            sized(read(first), Size { min: first.min / 4, max: first.max })
        }
        "bytes" => sized(read(first), Size { min: first.min, max: first.max.saturating_mul(4) }),
        _ => cost(1),
    }
}

/// The cost of looking for a pattern. Empty texts are searched too.
fn searched(text: Size, pattern: Size) -> u64 {
    read(text.plus(Size::exact(1))).saturating_mul(times(pattern, PATTERN))
}

/// The size of a text with `old` replaced.
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let (replacements, rest) = if old.min == 0 {
        // Between all characters.
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(old.min), 0)
    };
    Size::up_to(replacements.saturating_mul(new.max).saturating_add(rest))
}

fn of_list(name: &str, signature: &Signature, args: Args<'_, '_, '_>) -> Estimate {
    let size = |at: usize| args.get(at).map_or(Size::UNKNOWN, Operand::size);
    let first = size(0);
    let square = Size::up_to(first.max.saturating_mul(first.max));
    match (name, args) {
        ("isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf", [list, ..]) => cost(compared(list)),
        ("join", [list, rest @ ..]) => {
            let delimiters =
                rest.first().map_or(0, |arg| first.max.saturating_sub(1).saturating_mul(arg.size().max));
            let texts = first.max.saturating_mul(list.element_size().max);
            let joined = Size::up_to(texts.saturating_add(delimiters));
            sized(read(joined), joined)
        }
        ("slice", [_, from, to]) => {
            let start = from.number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
            let end = to.number.and_then(|number| u64::try_from(number).ok()).unwrap_or(first.max);
            let length = Size::up_to(end.saturating_sub(start));
            sized(length.max.saturating_add(NEW_LIST), length)
        }
        ("flatten", [_, rest @ ..]) => {
            let depth = rest
                .first()
                .map_or(Some(1), |arg| arg.number)
                .map_or(u64::MAX, |number| number.unsigned_abs());
            let size = if depth == u64::MAX { Size::UNKNOWN } else { first };
            sized(first.max.saturating_mul(depth).saturating_add(NEW_LIST), size)
        }
        ("reverse", _) => sized(first.max.saturating_add(NEW_LIST), first),
        ("distinct", _) => sized(square.max.saturating_mul(2).saturating_add(NEW_LIST), square),
        ("sort" | "@sortByAssociatedKeys", _) => {
            let factor = if signature.ends_with_texts() { 2.0 + CHARACTERS } else { 2.0 };
            sized(times(square, factor).saturating_add(NEW_LIST), square)
        }
        _ => cost(1),
    }
}

/// The cost of comparing all elements of a list, or all of a text whose type is not known.
fn compared(list: &Operand<'_, '_>) -> u64 {
    let size = list.size();
    match &list.kind {
        Kind::List(element) => match &**element {
            Kind::Named("string" | "bytes") => {
                size.max.saturating_mul(read(list.element_size()).saturating_add(1))
            }
            _ => size.max,
        },
        _ => read(size),
    }
}
