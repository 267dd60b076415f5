//! What comes of reading a resource, before it has its URI. Spec: `server/resources#reading-resources`.

use serde::Serialize;

use super::{Json, ResourceContents, ToolError};

/// `None` when there is no such resource.
type Found = Result<Option<Vec<Part>>, ToolError>;

/// The same, a failure as the words that are sent.
pub(super) type Read = Result<Option<Vec<Part>>, String>;

/// A part of a resource: complete, or still without the URI and media type it was asked for by.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Part {
    Text(String, Option<&'static str>),
    Blob(Vec<u8>),
    Contents(ResourceContents),
}

impl Part {
    pub(super) fn under(self, uri: &str, mime_type: Option<&str>) -> ResourceContents {
        let (mut contents, mime_type) = match self {
            Self::Text(text, own) => (ResourceContents::text(uri, text), own.or(mime_type)),
            Self::Blob(bytes) => (ResourceContents::blob(uri, bytes), mime_type),
            Self::Contents(contents) => (contents, mime_type),
        };
        contents.mime_type = contents.mime_type.or_else(|| mime_type.map(ToOwned::to_owned));
        contents
    }
}

/// What may be returned from a resource's handler: text, bytes, [`Json`], [`ResourceContents`], several of them; in an
/// `Option` where the resource may not exist, in a `Result` where reading it may fail.
///
/// It is sealed: whatever else a handler has becomes one of these.
pub trait IntoResource {
    #[doc(hidden)]
    fn into_resource(self) -> Result<Option<Vec<Part>>, ToolError>;
}

/// One part, always there.
macro_rules! one_part {
    ($($type:ty: $value:ident => $part:expr;)*) => {$(
        impl IntoResource for $type {
            fn into_resource(self) -> Found {
                let $value = self;
                Ok(Some(vec![$part]))
            }
        }
    )*};
}

one_part! {
    String: text => Part::Text(text, None);
    &'static str: text => Part::Text(text.to_owned(), None);
    Vec<u8>: bytes => Part::Blob(bytes);
    &'static [u8]: bytes => Part::Blob(bytes.to_vec());
    ResourceContents: contents => Part::Contents(contents);
}

impl IntoResource for Vec<ResourceContents> {
    fn into_resource(self) -> Found {
        Ok(Some(self.into_iter().map(Part::Contents).collect()))
    }
}

impl<T: Serialize> IntoResource for Json<T> {
    fn into_resource(self) -> Found {
        Ok(Some(vec![Part::Text(serde_json::to_string(&self.0)?, Some("application/json"))]))
    }
}

impl<T: IntoResource> IntoResource for Option<T> {
    fn into_resource(self) -> Found {
        self.map_or(Ok(None), T::into_resource)
    }
}

impl<T: IntoResource, E: Into<ToolError>> IntoResource for Result<T, E> {
    fn into_resource(self) -> Found {
        self.map_err(Into::into)?.into_resource()
    }
}
