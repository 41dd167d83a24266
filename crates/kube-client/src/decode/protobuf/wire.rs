//! The fields of a protobuf message.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a type that metadata do not have.
    Other,
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("a number has more than 64 bits")]
    Number,
    #[error("it ends within a field")]
    Truncated,
    #[error("a field has an unknown wire type")]
    WireType,
    #[error("a field has another type than expected")]
    Type,
    #[error("a time is out of range")]
    Time,
    #[error("managedFields are no JSON")]
    Json,
    #[error("it is not in the envelope of Kubernetes")]
    Envelope,
    #[error("as JSON it has more bytes than an object may have (`collect_limit` of the configuration)")]
    TooLarge,
}

/// The fields of a message, each with its number. An error is the last item.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let tag = varint(&mut self.0)?.ok_or(Malformed::Truncated)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut self.0)?.ok_or(Malformed::Truncated)?),
            2 => {
                let length = varint(&mut self.0)?.ok_or(Malformed::Truncated)?;
                Value::Bytes(self.take(length)?)
            }
            1 => self.take(8).map(|_| Value::Other)?,
            5 => self.take(4).map(|_| Value::Other)?,
            _ => return Err(Malformed::WireType),
        };
        Ok((tag >> 3, value))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed::Truncated)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Takes a number from the front; `None` if it is not complete.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<Option<u64>, Malformed> {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let part = u64::from(byte & 0x7F);
        let shift = 7 * index as u32;
        if shift > 63 || (shift == 63 && part > 1) {
            return Err(Malformed::Number);
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Ok(Some(number));
        }
    }
    Ok(None)
}
