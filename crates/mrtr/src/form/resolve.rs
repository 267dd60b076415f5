//! Takes the indirections out of one property: local references, single-member combinators, and "or
//! null".
//!
//! Only a chain is ever followed, never a tree, so the work is bounded by the number of hops
//! whatever the schema's author had in mind. Nothing is fetched. What references lead to is copied
//! to where they stand, and a [`Document`] limits how much of that there can be: a thousand fields
//! that refer to a thousand choices are a million choices, out of a short text.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::keywords::Oddity;

/// A schema whose properties may refer into it, and what may still be copied out of it.
pub(super) struct Document<'a> {
    root: &'a Value,
    left: Cell<usize>,
}

impl<'a> Document<'a> {
    /// Allows for all of `root` behind a reference, for all of it again in its fields, and for
    /// choices that several fields share.
    pub(super) fn new(root: &'a Value) -> Self {
        let own = weight(root, usize::MAX).unwrap_or(usize::MAX);
        Self { root, left: Cell::new(own.saturating_mul(2).saturating_add(SHARED)) }
    }

    /// The schema itself.
    pub(super) fn root(&self) -> &'a Value {
        self.root
    }

    /// Whether no reference is followed any more.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// A copy of what `reference` leads to. Once there is no room for one, there is for no other
    /// either, or looking for a small enough one would take as long as the copies.
    fn copy(&self, reference: &Value) -> Result<Map<String, Value>, Oddity> {
        let target = look_up(self.root, reference)?;
        let spent = weight(target, self.left.get());
        self.left.set(spent.map_or(0, |spent| self.left.get() - spent));
        match spent {
            Some(_) => object(target).cloned(),
            None => Err(Oddity::new(
                "the form's references repeat too much of it to be followed this far",
                "share less between the fields, or ask in several steps",
            )),
        }
    }
}

/// Roughly the bytes `value` takes, unless they are more than `limit`.
pub(super) fn weight(value: &Value, limit: usize) -> Option<usize> {
    let limit = limit.checked_sub(NODE)?;
    let left = match value {
        Value::String(text) => limit.checked_sub(text.len())?,
        Value::Array(items) => items.iter().try_fold(limit, |left, item| Some(left - weight(item, left)?))?,
        Value::Object(members) => members.iter().try_fold(limit, |left, (key, member)| {
            let left = left.checked_sub(key.len())?;
            Some(left - weight(member, left)?)
        })?,
        Value::Null | Value::Bool(_) | Value::Number(_) => limit,
    };
    Some(limit - left + NODE)
}

/// A property whose keywords can be read where they stand.
pub(super) struct Resolved {
    /// The keywords.
    pub(super) schema: Map<String, Value>,
    /// Whether `null` was allowed as well.
    pub(super) nullable: bool,
}

impl Resolved {
    /// A property that cannot be followed, with the keywords it shows by itself.
    pub(super) fn unfollowed(raw: &Value) -> Self {
        Self { schema: raw.as_object().cloned().unwrap_or_default(), nullable: false }
    }
}

/// Follows `$ref` into `document`, unwraps `allOf` with one member and unions with `null`.
///
/// Keywords beside a reference win over those it leads to: that is how a field's own description
/// outranks its type's.
pub(super) fn resolve(document: &Document<'_>, raw: &Value) -> Result<Resolved, Oddity> {
    let mut schema = object(raw)?.clone();
    let mut nullable = false;
    for _ in 0..MAX_HOPS {
        if let Some(reference) = schema.shift_remove("$ref") {
            schema = overlay(document.copy(&reference)?, schema);
        } else if let Some(only) = only_member(&mut schema, "allOf") {
            schema = overlay(owned(only)?, schema);
        } else if let Some(only) = take_null_out(&mut schema, &mut nullable) {
            schema = overlay(owned(only)?, schema);
        } else {
            nullable |= take_null_type_out(&mut schema);
            return Ok(Resolved { schema, nullable });
        }
    }
    Err(Oddity::new("it refers to itself", "break the recursion: a form is one flat list of fields"))
}

fn object(schema: &Value) -> Result<&Map<String, Value>, Oddity> {
    match schema {
        Value::Object(schema) => Ok(schema),
        Value::Bool(true) => Err(Oddity::any_value()),
        Value::Bool(false) => Err(Oddity::new("it accepts no value at all", "remove the field")),
        _ => Err(Oddity::new("its schema is not a JSON object", "give it one of the form field schemas")),
    }
}

/// The keywords of a schema that is nobody else's any more: as [`object`], but not copied.
fn owned(schema: Value) -> Result<Map<String, Value>, Oddity> {
    match schema {
        Value::Object(schema) => Ok(schema),
        other => object(&other).cloned(),
    }
}

fn look_up<'a>(root: &'a Value, reference: &Value) -> Result<&'a Value, Oddity> {
    let inline = "write the schema in place";
    let Some(reference) = reference.as_str() else {
        return Err(Oddity::new("its $ref is not text", inline));
    };
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(Oddity::new("its $ref leads to another document, which is never fetched", inline));
    };
    root.pointer(pointer).ok_or_else(|| Oddity::new("its $ref leads nowhere", inline))
}

/// `site`'s keywords over `target`'s.
fn overlay(mut target: Map<String, Value>, site: Map<String, Value>) -> Map<String, Value> {
    target.extend(site);
    target
}

/// Removes a combinator that has exactly one member, and returns the member.
fn only_member(schema: &mut Map<String, Value>, keyword: &str) -> Option<Value> {
    let members = schema.get_mut(keyword)?.as_array_mut()?;
    if members.len() != 1 {
        return None;
    }
    let only = members.pop();
    schema.shift_remove(keyword);
    only
}

/// Removes the `null` members of `anyOf` or `oneOf`; returns the other member when it is the only
/// one.
fn take_null_out(schema: &mut Map<String, Value>, nullable: &mut bool) -> Option<Value> {
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(members)) = schema.get_mut(keyword) else {
            continue;
        };
        let before = members.len();
        members.retain(|member| member.get("type").and_then(Value::as_str) != Some("null"));
        if members.len() < before {
            *nullable = true;
            if let Some(only) = only_member(schema, keyword) {
                return Some(only);
            }
        }
    }
    None
}

/// Turns `"type": [T, "null"]` into `"type": T` and takes `null` out of `enum`; true when `null`
/// was allowed.
fn take_null_type_out(schema: &mut Map<String, Value>) -> bool {
    let typed = schema.contains_key("type");
    let mut nullable = false;
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        let before = types.len();
        types.retain(|name| name != "null");
        nullable = types.len() < before;
        if types.len() == 1 {
            let only = types.remove(0);
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        let before = values.len();
        values.retain(|value| !value.is_null());
        nullable |= !typed && values.len() < before;
    }
    nullable
}

/// Longest chain of references and wrappers that is followed.
const MAX_HOPS: usize = 32;

/// What one value takes beside its text: about its size in memory.
const NODE: usize = 64;

/// Bytes a form may copy through references beyond its own size: ten fields with five thousand
/// choices each.
const SHARED: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(root: &Value, raw: &Value) -> Result<(Value, bool), String> {
        resolve(&Document::new(root), raw).map(|r| (Value::Object(r.schema), r.nullable)).map_err(|oddity| oddity.what)
    }

    #[test]
    fn a_reference_keeps_the_keywords_beside_it() {
        let root = json!({ "$defs": { "P": { "type": "string", "description": "the type's" } } });
        let raw = json!({ "$ref": "#/$defs/P", "description": "the field's" });
        let expected = json!({ "type": "string", "description": "the field's" });
        assert_eq!(resolved(&root, &raw), Ok((expected, false)));
    }

    #[test]
    fn every_spelling_of_or_null_is_unwrapped() {
        let root = json!({ "$defs": { "P": { "enum": ["a"] } } });
        for raw in [
            json!({ "type": ["string", "null"] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "oneOf": [{ "type": "null" }, { "type": "string" }] }),
        ] {
            assert_eq!(resolved(&root, &raw), Ok((json!({ "type": "string" }), true)), "{raw}");
        }
        let raw = json!({ "anyOf": [{ "allOf": [{ "$ref": "#/$defs/P" }] }, { "type": "null" }] });
        assert_eq!(resolved(&root, &raw), Ok((json!({ "enum": ["a"] }), true)));
        assert_eq!(resolved(&root, &json!({ "enum": ["a", null] })), Ok((json!({ "enum": ["a"] }), true)));
    }

    #[test]
    fn cycles_end() {
        let (to_a, to_b) = (json!({ "$ref": "#/$defs/A" }), json!({ "$ref": "#/$defs/B" }));
        let root = json!({ "$defs": { "A": to_b, "B": { "allOf": [to_a] } } });
        assert_eq!(resolved(&root, &json!({ "$ref": "#/$defs/A" })), Err("it refers to itself".to_owned()));
    }

    #[test]
    fn nothing_is_fetched() {
        let refused = resolved(&json!({}), &json!({ "$ref": "https://example.com/p.json" })).unwrap_err();
        assert!(refused.contains("never fetched"), "{refused}");
    }

    #[test]
    fn what_references_copy_is_limited_by_the_schema_that_makes_them() {
        let root = json!({ "$defs": { "P": { "enum": vec!["x"; 1000] } } });
        let own = weight(&root, usize::MAX).expect("no limit");
        let document = Document::new(&root);
        let raw = json!({ "$ref": "#/$defs/P" });
        let copies = (0..100_000).take_while(|_| resolve(&document, &raw).is_ok()).count();
        assert!(copies > 50 && copies <= SHARED / (1000 * NODE) + 2, "{copies} copies of {own} bytes");
        assert!(document.is_spent());
        assert!(resolve(&document, &json!({ "type": "string" })).is_ok());
    }
}
