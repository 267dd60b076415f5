//! Resources: what a URI, or every URI of a template, stands for. Spec: `server/resources`.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::caller::{Caller, Work};
use super::completion::{Completers, Completing};
use super::described::{Described, described, set};
use super::list::Caching;
use super::once::{Once, done_once};
use super::reading::{IntoResource, Read};
use super::uri_template::UriTemplate;
use super::{Annotations, NoArguments, ToolError};
use crate::flow::{Context, Handling};
use crate::form::Form;

/// What a list says of one resource.
#[derive(Clone, Debug)]
pub struct ResourceInfo {
    pub(super) uri: String,
    name: String,
    described: Described,
    mime_type: Option<String>,
    size: Option<u64>,
    annotations: Option<Annotations>,
}

impl ResourceInfo {
    /// A resource at this URI, under this name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            described: Described::default(),
            mime_type: None,
            size: None,
            annotations: None,
        }
    }

    described!("the resource");

    /// Its media type: `text/plain`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Its size in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Hints on how to use or show it.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// The resource as a list shows it.
    pub(super) fn definition(&self) -> Value {
        self.definition_under("uri")
    }

    fn definition_under(&self, address: &str) -> Value {
        let mut definition = json!({ address: self.uri, "name": self.name });
        self.described.write_head(&mut definition);
        set(&mut definition, "mimeType", &self.mime_type);
        set(&mut definition, "size", &self.size);
        set(&mut definition, "annotations", &self.annotations);
        self.described.write_tail(&mut definition);
        definition
    }
}

/// How a resource is read; the same for one URI and for a template's.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) handler: Arc<Handler>,
    pub(super) mime_type: Option<String>,
    pub(super) caching: Caching,
    pub(super) accept_unasked: bool,
    pub(super) once: Once,
}

type Handler = dyn Fn(Map<String, Value>, Context) -> Result<Handling<Read>, String> + Send + Sync;

/// One resource a server offers, read by an async function that may ask.
///
/// ```
/// use mrtr::{Context, NoArguments, Resource};
///
/// async fn motd(_: NoArguments, _: Context) -> &'static str { "Be kind." }
///
/// let resource = Resource::new("motd://today", "motd", motd).mime_type("text/plain");
/// ```
#[derive(Clone)]
pub struct Resource {
    pub(super) info: ResourceInfo,
    pub(super) reader: Reader,
}

/// Resources that share a URI template, read by an async function that gets the template's values.
///
/// Templates are written as in RFC 6570: `{id}` stands for one segment, `{+path}` may have slashes in it, `{/a,b}`,
/// `{.ext}` and `{#part}` bring their own separator, and `{?q,page}` at the end takes a query in any order. The values
/// become the fields of `A`, decoded; they travel as text, so `A` is what a form can be ([`form`](crate::form)).
///
/// ```
/// use mrtr::{Context, ResourceTemplate};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Row { table: String, id: u32 }
///
/// async fn row(row: Row, _: Context) -> Option<String> {
///     (row.table == "users").then(|| format!("user {}", row.id)) // None: there is no such resource
/// }
///
/// let rows = ResourceTemplate::new("db://{table}/{id}", "row", row).mime_type("text/plain");
/// ```
///
/// # Security
/// Values come from the client, decoded: `{path}` can be `../../etc/passwd`. Hold them against what may be read.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(super) info: ResourceInfo,
    pub(super) template: Result<UriTemplate, String>,
    pub(super) form: Result<Arc<Form>, String>,
    pub(super) reader: Reader,
    pub(super) completers: Completers,
    pub(super) lister: Option<Arc<Lister>>,
}

type Lister = dyn Fn(Caller) -> Work<Result<Vec<ResourceInfo>, String>> + Send + Sync;

impl Reader {
    fn new<A, F, Fut, R>(form: Result<Arc<Form>, String>, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResource,
    {
        Self {
            handler: Arc::new(move |arguments, cx| {
                let form = form.as_ref().map_err(String::clone)?;
                let running = handler(form.decode(arguments).map_err(|problem| problem.to_string())?, cx);
                Ok(Box::pin(async move { running.await.into_resource().map_err(|error| error.for_the_model()) }))
            }),
            mime_type: None,
            caching: Caching::NONE,
            accept_unasked: false,
            once: Once::Never,
        }
    }
}

/// The setters resources and templates share.
macro_rules! readable {
    () => {
        described!("the resource", info.described);
        done_once!(reader.once);

        /// Hints on how to use or show it.
        #[must_use]
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.info = self.info.annotations(annotations);
            self
        }

        /// The media type of its contents, unless they say another.
        #[must_use]
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            let mime_type = mime_type.into();
            self.reader.mime_type = Some(mime_type.clone());
            self.info = self.info.mime_type(mime_type);
            self
        }

        /// How long a client may use what it read without reading again; default zero.
        ///
        /// It stays with that caller unless it is [`public`](Self::public). Contents that took answers to get are never
        /// kept.
        #[must_use]
        pub fn fresh_for(mut self, time: Duration) -> Self {
            self.reader.caching.ttl_ms = Caching::ttl_of(time);
            self
        }

        /// Its contents are the same for everybody: caches between may share them.
        #[must_use]
        pub fn public(mut self) -> Self {
            self.reader.caching.is_public = true;
            self
        }

        /// As [`Tool::accept_unasked`](super::Tool::accept_unasked).
        #[must_use]
        pub fn accept_unasked(mut self) -> Self {
            self.reader.accept_unasked = true;
            self
        }
    };
}

impl Resource {
    /// A resource at this URI.
    pub fn new<F, Fut, R>(uri: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(NoArguments, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResource,
    {
        let form = Form::of::<NoArguments>().map(Arc::new).map_err(|error| error.to_string());
        Self { info: ResourceInfo::new(uri, name), reader: Reader::new(form, handler) }
    }

    readable!();

    /// Its size in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.info = self.info.size(bytes);
        self
    }

    /// The resource's URI.
    pub fn uri(&self) -> &str {
        &self.info.uri
    }
}

impl ResourceTemplate {
    /// The resources whose URIs this template makes. Its variables are the fields of `A`.
    pub fn new<A, F, Fut, R>(uri_template: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResource,
    {
        let info = ResourceInfo::new(uri_template, name);
        let form = Form::of::<A>().map(Arc::new).map_err(|error| error.to_string());
        Self {
            template: UriTemplate::parse(&info.uri),
            reader: Reader::new(form.clone(), handler),
            form,
            info,
            completers: Completers::default(),
            lister: None,
        }
    }

    readable!();

    /// Completes a variable while the user types it; give the best values first, of which a hundred are sent.
    ///
    /// # Security
    /// Whoever may see the template may ask for completions: no secrets among them.
    #[must_use]
    pub fn complete<F, Fut>(mut self, variable: impl Into<String>, complete: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completers.add(variable.into(), complete);
        self
    }

    /// Lists those of its resources that there are now, for `resources/list`; give them in an order that stays. A URI that
    /// is listed already is passed over.
    ///
    /// Without it, clients know of the template only.
    #[must_use]
    pub fn list<F, Fut>(mut self, list: F) -> Self
    where
        F: Fn(Caller) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<ResourceInfo>, ToolError>> + Send + 'static,
    {
        self.lister = Some(Arc::new(move |caller| {
            let listing = list(caller);
            Box::pin(async move { listing.await.map_err(|error| error.for_the_model()) })
        }));
        self
    }

    /// The template as `resources/templates/list` shows it.
    pub(super) fn definition(&self) -> Value {
        self.info.definition_under("uriTemplate")
    }

    /// What is wrong between the template and the type of its values.
    pub(super) fn problem(&self) -> Option<String> {
        let (template, form) = match (&self.template, &self.form) {
            (Ok(template), Ok(form)) => (template, form),
            (Err(problem), _) | (_, Err(problem)) => return Some(problem.clone()),
        };
        let named = |name: &str| template.variables().iter().any(|variable| variable == name);
        let unread = template.variables().iter().find(|variable| form.field(variable).is_none());
        let unset = form.fields().iter().find(|field| field.required && !named(&field.name));
        let stray = self.completers.stray(form);
        match (unread, unset, stray) {
            (Some(variable), _, _) => Some(format!(
                "its variable {variable:?} is no field of the handler's arguments; add the field or remove {{{variable}}}"
            )),
            (_, Some(field), _) => Some(format!(
                "the field {0:?} is no variable of it; add {{{0}}} or make the field an Option",
                field.name
            )),
            (_, _, Some(argument)) => Some(format!("there is no {argument:?} to complete")),
            (None, None, None) => None,
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.info.uri).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTemplate").field("uri_template", &self.info.uri).finish_non_exhaustive()
    }
}
