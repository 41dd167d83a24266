//! Numbers.

use serde::de::Visitor;

use super::cursor::{Reader, Refused};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Positive(u64),
    Negative(i64),
    Float(f64),
}

/// So many digits fit into both kinds of integers.
const SAFE_DIGITS: usize = 18;

impl Number {
    #[inline]
    pub(super) fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self {
            Self::Positive(number) => visitor.visit_u64(number),
            Self::Negative(number) => visitor.visit_i64(number),
            Self::Float(number) => visitor.visit_f64(number),
        }
    }
}

impl Reader<'_, '_> {
    /// Passes a number.
    pub(super) fn number(&mut self) -> Result<Number, Refused> {
        self.peek();
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let negative = bytes.first() == Some(&b'-');
        let digits = bytes.get(usize::from(negative)..).unwrap_or_default();
        let count = digits.iter().take_while(|digit| digit.is_ascii_digit()).count();
        // Zero stands alone.
        if count == 0 || (count > 1 && digits[0] == b'0') {
            return Err(Refused);
        }
        if count > SAFE_DIGITS || matches!(digits.get(count), Some(b'.' | b'e' | b'E')) {
            return self.any_number();
        }
        self.at += usize::from(negative) + count;
        let value = digits[..count].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        match i64::try_from(value) {
            // Minus zero is a float.
            Ok(0) if negative => Ok(Number::Float(-0.0)),
            Ok(value) if negative => Ok(Number::Negative(-value)),
            _ => Ok(Number::Positive(value)),
        }
    }

    /// As serde_json takes it, so that it does not matter who reads.
    fn any_number(&mut self) -> Result<Number, Refused> {
        let rest = self.text.get(self.at..).ok_or(Refused)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let (number, _) = rest.split_at(rest.bytes().take_while(is_part).count());
        self.at += number.len();
        if let Ok(positive) = number.parse() {
            return Ok(Number::Positive(positive));
        }
        if let Ok(negative) = number.parse() {
            return Ok(Number::Negative(negative));
        }
        serde_json::from_str(number).map(Number::Float).map_err(|_| Refused)
    }
}
