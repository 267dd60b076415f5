//! One form per Rust type and process: handlers ask on every request, forms are built once.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use schemars::JsonSchema;

use super::{Form, SchemaError};

static FORMS: LazyLock<RwLock<HashMap<TypeId, Arc<Form>>>> = LazyLock::new(RwLock::default);

/// The form of `T`, built by whoever asks first.
///
/// # Errors
///
/// Whenever [`Form::of`] fails; a type that cannot be asked is tried again each time, which only a
/// server that is about to be corrected does.
pub(crate) fn cached<T: JsonSchema + 'static>() -> Result<Arc<Form>, SchemaError> {
    let key = TypeId::of::<T>();
    // The map is whole between any two statements, so a panic elsewhere cannot have spoilt it.
    if let Some(form) = FORMS.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(Arc::clone(form));
    }
    // Built outside the lock: `T`'s schema is foreign code.
    let form = Arc::new(Form::of::<T>()?);
    Ok(Arc::clone(FORMS.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(form)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_built_once() {
        let first = cached::<()>().expect("an empty form");
        assert!(Arc::ptr_eq(&first, &cached::<()>().expect("an empty form")));
        assert!(cached::<String>().is_err());
        assert!(cached::<String>().is_err());
    }
}
