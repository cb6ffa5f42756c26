//! The shape language of `bodyShape`: keys and types of a JSON body, nested.
//!
//! ```text
//! shape  := term { "|" term }
//! term   := ( "array" "of" term | "array" "<" shape ">" | "map" "of" term | "{" [ field { ("," | ";") field } ] "}"
//!           | "[" [ shape ] "]" | "(" shape ")" | literal | word ) { "[]" }
//! field  := key [ "?" ] [ ":" shape ] | "..."
//! word   := string | number | integer | int | boolean | bool | null | object | array | any | unknown
//! ```
//!
//! A named key must be there (unless it has a `?`) and must have its shape; keys that the shape does not name may be
//! there too. A key without a shape only has to be there.

mod matching;
mod reading;

pub(super) use matching::compare;
pub(super) use reading::{ShapeError, parse};

use std::fmt;

/// What a JSON value must look like.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// Anything.
    Any,
    /// One of the plain types.
    Plain(Plain),
    /// Exactly this value.
    Literal(serde_json::Value),
    /// A list of such values.
    Array(Box<Shape>),
    /// An object of such values, whatever its keys.
    Map(Box<Shape>),
    /// An object with these keys.
    Object(Vec<Field>),
    /// One of these.
    Union(Vec<Shape>),
}

/// A plain type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    Text,
    Number,
    Integer,
    Boolean,
    Null,
}

/// A key of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    key: String,
    optional: bool,
    shape: Shape,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Plain(plain) => f.write_str(plain.word()),
            Self::Literal(value) => write!(f, "{value}"),
            Self::Array(inner) => write!(f, "array of {}", Nested(inner)),
            Self::Map(inner) => write!(f, "map of {}", Nested(inner)),
            Self::Object(fields) if fields.is_empty() => f.write_str("object"),
            Self::Object(fields) => {
                f.write_str("{ ")?;
                for (at, Field { key, optional, shape }) in fields.iter().enumerate() {
                    let (comma, mark) = (if at == 0 { "" } else { ", " }, if *optional { "?" } else { "" });
                    write!(f, "{comma}{key}{mark}: {shape}")?;
                }
                f.write_str(" }")
            }
            Self::Union(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at == 0 { "" } else { " | " })?;
                }
                Ok(())
            }
        }
    }
}

/// A shape where a union needs its brackets.
struct Nested<'a>(&'a Shape);

impl fmt::Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Shape::Union(_) => write!(f, "({})", self.0),
            other => write!(f, "{other}"),
        }
    }
}

impl Plain {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}
