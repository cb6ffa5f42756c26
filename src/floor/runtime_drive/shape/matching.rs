//! Compares a JSON body with a shape.

use super::{Field, Plain, Shape};
use crate::host::path::escape;
use serde_json::Value;

/// At most this many differences are told.
const MOST: usize = 10;
/// At most this many keys of an object are told.
const MOST_KEYS: usize = 12;

/// What a comparison found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::floor::runtime_drive) struct Comparison {
    /// Where the body is not as it should be, with its place, e.g. `$.widgets[0].color`.
    pub(in crate::floor::runtime_drive) differences: Vec<String>,
    /// Lists without an item: the shape of their items was shown by nothing.
    pub(in crate::floor::runtime_drive) empty: Vec<String>,
}

/// Compares a body with a shape.
pub(in crate::floor::runtime_drive) fn compare(shape: &Shape, body: &Value) -> Comparison {
    let mut found = Comparison::default();
    walk(shape, body, "$", &mut found);
    found
}

fn walk(shape: &Shape, body: &Value, place: &str, found: &mut Comparison) {
    if found.differences.len() >= MOST {
        return;
    }
    match (shape, body) {
        (Shape::Any, _) => {}
        (Shape::Plain(plain), _) if plain.fits(body) => {}
        (Shape::Literal(value), _) if value == body => {}
        (Shape::Array(inner), Value::Array(items)) => {
            if items.is_empty() && **inner != Shape::Any && found.empty.len() < MOST {
                found.empty.push(place.to_owned());
            }
            for (at, item) in items.iter().enumerate() {
                walk(inner, item, &format!("{place}[{at}]"), found);
            }
        }
        (Shape::Map(inner), Value::Object(map)) => {
            for (key, value) in map {
                walk(inner, value, &below(place, key), found);
            }
        }
        (Shape::Object(fields), Value::Object(map)) => {
            for Field { key, optional, shape } in fields {
                match map.get(key) {
                    Some(value) => walk(shape, value, &below(place, key), found),
                    None if *optional => {}
                    None => {
                        found.differences.push(format!("{} is missing; {place} has {}", below(place, key), keys(map)));
                    }
                }
            }
        }
        (Shape::Union(parts), _) => {
            let tried: Vec<Comparison> = parts.iter().map(|part| compare(part, body)).collect();
            if tried.iter().all(|one| !one.differences.is_empty()) {
                found.differences.push(format!("{place} is {}, not {shape}", kind(body)));
            }
        }
        _ => found.differences.push(format!("{place} is {}, not {shape}", kind(body))),
    }
}

impl Plain {
    fn fits(self, body: &Value) -> bool {
        match self {
            Self::Text => body.is_string(),
            Self::Number => body.is_number(),
            Self::Integer => body.is_i64() || body.is_u64() || body.as_f64().is_some_and(|n| n.fract() == 0.0),
            Self::Boolean => body.is_boolean(),
            Self::Null => body.is_null(),
        }
    }
}

fn below(place: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    let key: String = key.chars().take(60).collect();
    if plain { format!("{place}.{key}") } else { format!("{place}[\"{}\"]", escape(key.as_bytes())) }
}

fn keys(map: &serde_json::Map<String, Value>) -> String {
    if map.is_empty() {
        return "no key".to_owned();
    }
    let short = |key: &String| escape(key.chars().take(40).collect::<String>().as_bytes());
    let shown: Vec<String> = map.keys().take(MOST_KEYS).map(short).collect();
    let more = if map.len() > MOST_KEYS { format!(" and {} more", map.len() - MOST_KEYS) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn kind(body: &Value) -> String {
    match body {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(text) => {
            let shown = escape(text.chars().take(40).collect::<String>().as_bytes());
            format!("the string \"{shown}\"")
        }
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(map) => format!("an object with {}", keys(map)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn differences(shape: &str, body: &str) -> Vec<String> {
        let shape = parse(&serde_yaml::Value::String(shape.to_owned())).unwrap();
        compare(&shape, &serde_json::from_str(body).unwrap()).differences
    }

    #[test]
    fn a_body_fits_its_shape_or_the_place_where_it_does_not_is_named() {
        let widgets = "{ widgets: array of { id: number, color: string } }";
        for (shape, body, expected) in [
            (widgets, r#"{"widgets":[{"id":1,"color":"red","more":true}],"next":null}"#, ""),
            (
                widgets,
                r#"{"widgets":[{"id":1,"color":"red"},{"id":2,"colour":"red"}]}"#,
                "$.widgets[1].color is missing; $.widgets[1] has id, colour",
            ),
            (widgets, r#"{"widgets":[{"id":"1","color":"red"}]}"#, "$.widgets[0].id is the string \"1\", not number"),
            (
                widgets,
                r#"{"widgets":{}}"#,
                "$.widgets is an object with no key, not array of { id: number, color: string }",
            ),
            (widgets, "[]", "$ is an array of 0, not { widgets: array of { id: number, color: string } }"),
            ("{ a?: string }", "{}", ""),
            ("{ a?: string }", r#"{"a":null}"#, "$.a is null, not string"),
            ("{ a: string | null }", r#"{"a":null}"#, ""),
            ("{ a: string | null }", r#"{"a":1}"#, "$.a is the number 1, not string | null"),
            ("integer", "1.5", "$ is the number 1.5, not integer"),
            ("integer", "2.0", ""),
            ("{ 'a b': 'x' }", r#"{"a b":"y"}"#, "$[\"a b\"] is the string \"y\", not \"x\""),
            ("map of number", r#"{"k":true}"#, "$.k is the boolean true, not number"),
            ("any", "null", ""),
        ] {
            assert_eq!(differences(shape, body).join("; "), expected, "{shape} {body}");
        }
    }

    #[test]
    fn a_list_without_items_is_noticed_and_a_flood_of_differences_is_bounded() {
        let shape = parse(&serde_yaml::Value::String("{ a: array of string }".to_owned())).unwrap();
        let found = compare(&shape, &serde_json::json!({"a": []}));
        assert_eq!((found.differences.len(), found.empty), (0, vec!["$.a".to_owned()]));
        let many = serde_json::json!({ "a": vec![1; 5_000] });
        assert_eq!(compare(&shape, &many).differences.len(), MOST);
    }
}
