//! The tokens of the label selector syntax.

/// The tokens of the label selector syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A key, a value, or one of the words `in` and `notin`.
    Word(String),
    Equals,
    DoubleEquals,
    NotEquals,
    Not,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    End,
}

impl Token {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::Not => "!",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::End => "",
        }
    }
}

pub(super) fn tokens(input: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = input.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '=' if rest.starts_with("==") => (Token::DoubleEquals, 2),
            '=' => (Token::Equals, 1),
            '!' if rest.starts_with("!=") => (Token::NotEquals, 2),
            '!' => (Token::Not, 1),
            '>' => (Token::Greater, 1),
            '<' => (Token::Less, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            _ => {
                let end =
                    rest.find(|c: char| c.is_whitespace() || "=!<>(),".contains(c)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_string()), end)
            }
        };
        out.push(token);
        rest = rest[length..].trim_start();
    }
    out
}
