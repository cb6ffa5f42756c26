//! Reads a shape.

use super::{Field, Plain, Shape};

/// Deeper nesting is refused.
const DEEPEST: usize = 32;
/// A longer text is refused.
const LONGEST: usize = 64 << 10;

/// Why a text is not a shape.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not a body shape: {why}")]
pub(in crate::floor::runtime_drive) struct ShapeError {
    /// The text, shortened.
    text: String,
    /// What is wrong with it.
    why: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Mark(char),
    Rest,
}

/// Reads a shape as it stands in a manifest: a text, or YAML's own maps and lists with such texts inside.
pub(in crate::floor::runtime_drive) fn parse(written: &serde_yaml::Value) -> Result<Shape, ShapeError> {
    of_yaml(written, 0)
}

fn of_yaml(written: &serde_yaml::Value, depth: usize) -> Result<Shape, ShapeError> {
    use serde_yaml::Value as Yaml;
    let refuse = |why: &str| Err(ShapeError { text: "the shape".to_owned(), why: why.to_owned() });
    if depth > DEEPEST {
        return refuse("it is nested too deeply");
    }
    match written {
        Yaml::String(text) => of_text(text),
        Yaml::Null => Ok(Shape::Plain(Plain::Null)),
        Yaml::Bool(value) => Ok(Shape::Literal((*value).into())),
        Yaml::Number(_) => match serde_json::to_value(written) {
            Ok(value) => Ok(Shape::Literal(value)),
            Err(_) => refuse("it holds a number that JSON does not know"),
        },
        Yaml::Sequence(items) => match &items[..] {
            [] => Ok(Shape::Array(Box::new(Shape::Any))),
            [item] => Ok(Shape::Array(Box::new(of_yaml(item, depth + 1)?))),
            _ => refuse("a list has one entry, the shape of each of its items"),
        },
        Yaml::Mapping(map) => {
            let mut fields = Vec::new();
            for (key, value) in map {
                let Yaml::String(key) = key else { return refuse("a key is not a text") };
                let (key, optional) = key.strip_suffix('?').map_or((key.as_str(), false), |key| (key, true));
                fields.push(Field { key: key.to_owned(), optional, shape: of_yaml(value, depth + 1)? });
            }
            Ok(Shape::Object(fields))
        }
        Yaml::Tagged(_) => refuse("it holds a YAML tag"),
    }
}

fn of_text(text: &str) -> Result<Shape, ShapeError> {
    let refuse = |why: String| ShapeError { text: text.chars().take(120).collect(), why };
    if text.len() > LONGEST {
        return Err(refuse(format!("it has more than {LONGEST} bytes")));
    }
    let mut reader = Reader { tokens: tokens(text).map_err(refuse)?, at: 0, depth: 0 };
    let shape = reader.shape().map_err(refuse)?;
    match reader.next() {
        None => Ok(shape),
        Some(token) => Err(refuse(format!("nothing may follow before {}", token.shown()))),
    }
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Quoted(text) => format!("{text:?}"),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::Rest => "`...`".to_owned(),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.' | '+');
        let length = if matches!(first, '"' | '\'') {
            let inner = &rest[1..];
            let end = inner.find(first).ok_or_else(|| format!("a text that starts with {first} never ends"))?;
            found.push(Token::Quoted(inner[..end].to_owned()));
            end + 2
        } else if rest.starts_with("...") || first == '\u{2026}' {
            found.push(Token::Rest);
            3
        } else if is_word(first) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            end
        } else if "{}[]()<>,;:?|".contains(first) {
            found.push(Token::Mark(first));
            1
        } else {
            return Err(format!("{first:?} means nothing here"));
        };
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.take(mark) {
            return Ok(());
        }
        let found = self.peek().map_or("its end".to_owned(), Token::shown);
        Err(format!("`{mark}` is missing before {found}"))
    }

    fn shape(&mut self) -> Result<Shape, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let mut parts = Vec::new();
        loop {
            match self.term()? {
                Shape::Union(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            if !self.take('|') {
                break;
            }
        }
        self.depth -= 1;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Shape::Union(parts) })
    }

    fn term(&mut self) -> Result<Shape, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let mut shape = match self.next() {
            Some(Token::Mark('{')) => self.object()?,
            Some(Token::Mark('[')) if self.take(']') => Shape::Array(Box::new(Shape::Any)),
            Some(Token::Mark('[')) => {
                let inner = self.shape()?;
                self.expect(']')?;
                Shape::Array(Box::new(inner))
            }
            Some(Token::Mark('(')) => {
                let inner = self.shape()?;
                self.expect(')')?;
                inner
            }
            Some(Token::Quoted(text)) => Shape::Literal(text.into()),
            Some(Token::Word(word)) => self.word(&word)?,
            Some(other) => return Err(format!("a type is missing before {}", other.shown())),
            None => return Err("a type is missing at its end".to_owned()),
        };
        while self.peek() == Some(&Token::Mark('[')) && self.tokens.get(self.at + 1) == Some(&Token::Mark(']')) {
            self.at += 2;
            shape = Shape::Array(Box::new(shape));
        }
        self.depth -= 1;
        Ok(shape)
    }

    fn word(&mut self, word: &str) -> Result<Shape, String> {
        let is_of = matches!(self.peek(), Some(Token::Word(next)) if next == "of");
        Ok(match word {
            "array" | "list" | "map" | "record" => {
                let inner = if is_of {
                    self.at += 1;
                    self.term()?
                } else if self.take('<') {
                    let inner = self.shape()?;
                    self.expect('>')?;
                    inner
                } else {
                    Shape::Any
                };
                let inner = Box::new(inner);
                if matches!(word, "array" | "list") { Shape::Array(inner) } else { Shape::Map(inner) }
            }
            "string" => Shape::Plain(Plain::Text),
            "number" | "float" => Shape::Plain(Plain::Number),
            "integer" | "int" => Shape::Plain(Plain::Integer),
            "boolean" | "bool" => Shape::Plain(Plain::Boolean),
            "null" => Shape::Plain(Plain::Null),
            "object" => Shape::Object(Vec::new()),
            "any" | "unknown" => Shape::Any,
            "true" => Shape::Literal(true.into()),
            "false" => Shape::Literal(false.into()),
            other => match serde_json::from_str::<serde_json::Number>(other) {
                Ok(number) => Shape::Literal(number.into()),
                Err(_) => return Err(format!("`{other}` is no type that countersign knows")),
            },
        })
    }

    fn object(&mut self) -> Result<Shape, String> {
        let mut fields: Vec<Field> = Vec::new();
        loop {
            if self.take('}') {
                return Ok(Shape::Object(fields));
            }
            let key = match self.next() {
                Some(Token::Word(key) | Token::Quoted(key)) => Some(key),
                Some(Token::Rest) => None,
                Some(other) => return Err(format!("a key is missing before {}", other.shown())),
                None => return Err("`}` is missing at its end".to_owned()),
            };
            if let Some(key) = key {
                let optional = self.take('?');
                let shape = if self.take(':') { self.shape()? } else { Shape::Any };
                if fields.iter().any(|field| field.key == key) {
                    return Err(format!("the key `{key}` stands there twice"));
                }
                fields.push(Field { key, optional, shape });
            }
            if !self.take(',') && !self.take(';') && self.peek() != Some(&Token::Mark('}')) {
                self.expect('}')?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Result<String, String> {
        of_text(text).map(|shape| shape.to_string()).map_err(|why| why.why)
    }

    #[test]
    fn shapes_are_read_in_all_their_spellings() {
        for (text, means) in [
            (
                "{ widgets: array of { id: number, color: string } }",
                "{ widgets: array of { id: number, color: string } }",
            ),
            (
                "{widgets:[{id:int;'a key'?:string|null}],}",
                "{ widgets: array of { id: integer, a key?: string | null } }",
            ),
            ("string[][]", "array of array of string"),
            ("array of string | null", "array of string | null"),
            ("array of (string | null)", "array of (string | null)"),
            ("array<string|null>", "array of (string | null)"),
            ("array", "array of any"),
            ("[]", "array of any"),
            ("map of boolean", "map of boolean"),
            ("{}", "object"),
            ("{ ok: true, kind: 'x', n: 3, ... }", "{ ok: true, kind: \"x\", n: 3 }"),
            ("{ id, name }", "{ id: any, name: any }"),
            ("{ of: of-nothing }", "`of-nothing` is no type"),
            ("{ id: number", "`}` is missing"),
            ("{ id: number name: string }", "`}` is missing before `name`"),
            ("{ id: numbr }", "`numbr` is no type"),
            ("{ id: number, id: string }", "twice"),
            ("number string", "nothing may follow before `string`"),
            ("array of", "a type is missing"),
            ("{ : number }", "a key is missing"),
            ("'open", "never ends"),
            ("a & b", "'&' means nothing"),
            ("", "a type is missing"),
        ] {
            match shown(text) {
                Ok(shape) => assert_eq!(shape, means, "{text}"),
                Err(why) => assert!(why.contains(means), "{text}: {why}"),
            }
        }
        assert!(shown(&"[".repeat(10_000)).unwrap_err().contains("too deeply"));
        assert!(shown(&"array of ".repeat(10_000)).is_err());
    }

    #[test]
    fn yaml_of_its_own_is_a_shape_too() {
        let yaml = |text: &str| parse(&serde_yaml::from_str(text).unwrap()).map(|shape| shape.to_string());
        assert_eq!(
            yaml("widgets: [{id: number, tag?: string}]").unwrap(),
            "{ widgets: array of { id: number, tag?: string } }"
        );
        assert_eq!(yaml("'array of string'").unwrap(), "array of string");
        assert!(yaml("[string, number]").is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(text in "[a-z{}\\[\\],:?| ]{0,40}") {
            if let Ok(shape) = of_text(&text) {
                prop_assert_eq!(of_text(&shape.to_string()), Ok(shape));
            }
        }
    }
}
