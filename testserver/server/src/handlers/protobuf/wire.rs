//! The protobuf wire format.

/// The undecoded value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message; ends after an error.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, WireValue<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "the message is truncated or malformed".into()))
    }
}

impl<'a> Reader<'a> {
    fn field(&mut self) -> Option<(u64, WireValue<'a>)> {
        let tag = self.number()?;
        let wire = match tag & 7 {
            0 => WireValue::Number(self.number()?),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                WireValue::Bytes(bytes)
            }
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}
