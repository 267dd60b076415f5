//! Objects as the wire has them: written as objects, and naming each member once.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::CanonicalError;
use super::message::Text;

/// A `T` written as a JSON object that names no member twice.
///
/// Derived structs also read arrays, member by member; on the wire that would be a second, undocumented spelling. And they
/// notice repetition only among the names they know; what else an object says twice, somebody in front may have read.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMaps<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMaps<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let mut names = Names::default();
                T::deserialize(MapAccessDeserializer::new(Members { map, names: &mut names })).map(Object)
            }
        }
        deserializer.deserialize_map(OnlyMaps(PhantomData))
    }
}

/// For `#[serde(deserialize_with)]`: an optional `T` that must be an object when it is there; `null` is absent.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

/// For `#[serde(deserialize_with)]`: a raw member, where `null` is not the same as absent.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The members of an object, each name once.
struct Members<'n, 'de, A> {
    map: A,
    names: &'n mut Names<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Text(name)) = self.map.next_key()? else { return Ok(None) };
        let key = seed.deserialize((&*name).into_deserializer())?;
        match self.names.add(name) {
            Ok(()) => Ok(Some(key)),
            Err(name) => Err(A::Error::custom(CanonicalError::duplicate(&name))),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// How many names are compared one by one: more than a proper message has in one object.
const FEW: usize = 12;

/// The names seen so far. The first few cost no allocation, and a peer that sends many gains nothing by it.
#[derive(Default)]
pub(super) struct Names<'de> {
    few: [Cow<'de, str>; FEW],
    count: usize,
    more: Option<HashSet<Cow<'de, str>>>,
}

impl<'de> Names<'de> {
    /// Adds a name, or hands it back if it is there already.
    pub(super) fn add(&mut self, name: Cow<'de, str>) -> Result<(), Cow<'de, str>> {
        let (seen, free) = self.few.split_at_mut(self.count);
        if seen.contains(&name) {
            return Err(name);
        }
        if let Some(free) = free.first_mut() {
            *free = name;
            self.count += 1;
            return Ok(());
        }
        let more = self.more.get_or_insert_default();
        match more.contains(&name) {
            true => Err(name),
            false => {
                more.insert(name);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_names_each_member_once_however_many_there_are() {
        #[derive(Debug, serde::Deserialize)]
        struct Known {
            a: u8,
        }
        let read = |text: &str| serde_json::from_str::<Object<Known>>(text).map(|Object(known)| known.a);
        let many = |count: u32| (0..count).map(|n| format!("\"k{n}\":[{n}],")).collect::<String>();
        for count in [0, 1, 11, 12, 13, 1000] {
            assert_eq!(read(&format!("{{{}\"a\":1}}", many(count))).ok(), Some(1), "{count}");
            for twice in [0, 10, 11, 12, count.saturating_sub(1)].into_iter().filter(|n| *n < count) {
                let error = read(&format!("{{{}\"a\":1,\"k{twice}\":0}}", many(count))).expect_err("twice");
                let said = format!("an object names the key \"k{twice}\" twice");
                assert!(error.is_data() && error.to_string().starts_with(&said), "{error}");
            }
        }
        assert!(read(r#"{"a":1,"b":0,"\u0062":0}"#).is_err(), "however it is spelled");
        assert!(read("[1]").is_err());
    }
}
