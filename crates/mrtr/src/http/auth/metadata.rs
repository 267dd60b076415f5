//! The document that tells clients where to get a token: OAuth 2.0 Protected Resource Metadata
//! ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use serde::Serialize;
use tower_service::Service;

use crate::http::{
    body::{ResponseBody, empty_response, json_response},
    refusal::Refusal,
};

/// Where the document is, before the path of the resource.
pub(in crate::http) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What clients need to know to get a token for a server.
///
/// Given to [`McpService::resource_metadata`](crate::http::McpService::resource_metadata), refusals point to it and
/// [`HttpServer`](crate::http::HttpServer) serves it. Where the service is mounted by hand, mount the document as well:
///
/// ```
/// use mrtr::{http::{McpService, ResourceMetadata}, server::Server};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let metadata = ResourceMetadata::new("https://mcp.example.com/mcp", ["https://id.example.com"])?;
/// assert_eq!(metadata.path(), "/.well-known/oauth-protected-resource/mcp");
///
/// let service = McpService::new(Server::new("releases", "1.0.0").build()?).resource_metadata(metadata.clone());
/// let app: axum::Router = axum::Router::new()
///     .route_service("/mcp", service)
///     .route_service(metadata.path(), metadata.service());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMetadata {
    url: String,
    path: String,
    document: Document,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Document {
    resource: String,
    authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<String>,
}

/// Why a resource cannot be described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceMetadataError {
    /// The resource is not the URL of a server.
    #[error(
        "{resource:?} is not the URL of an MCP server: give it as clients call it, with http:// or https://, \
         without a fragment, such as https://mcp.example.com/mcp"
    )]
    Resource {
        /// What was given.
        resource: String,
    },
    /// Clients would not know where to go.
    #[error("at least one authorization server is required: give the issuer URL of the one your tokens come from")]
    NoAuthorizationServer,
}

impl ResourceMetadata {
    /// Describes the server at this URL, whose tokens come from these authorization servers (their issuer URLs).
    ///
    /// The URL is the one clients call, in public: behind a proxy that is the proxy's. It is also what tokens must name
    /// as their audience, letter by letter.
    ///
    /// # Errors
    ///
    /// When the resource is not an absolute `http` or `https` URL without a fragment, or no authorization server is given.
    pub fn new(
        resource: impl Into<String>,
        authorization_servers: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, ResourceMetadataError> {
        let resource = resource.into();
        let Some((url, path)) = well_known(&resource) else {
            return Err(ResourceMetadataError::Resource { resource });
        };
        let authorization_servers: Vec<String> = authorization_servers.into_iter().map(Into::into).collect();
        if authorization_servers.is_empty() {
            return Err(ResourceMetadataError::NoAuthorizationServer);
        }
        let document = Document {
            resource,
            authorization_servers,
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
            resource_name: None,
            resource_documentation: None,
        };
        Ok(Self { url, path, document })
    }

    /// Lists the scopes that basic use of the server needs. Default: none are listed.
    ///
    /// Clients ask for all of them at first, so list few. `offline_access` does not belong here.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.document.scopes_supported = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Names the server for people who are asked to consent. Default: no name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.document.resource_name = Some(name.into());
        self
    }

    /// Points developers to a page about the server. Default: none.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.document.resource_documentation = Some(url.into());
        self
    }

    /// Returns where clients find the document; a 401 says so.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the path to serve the document at.
    ///
    /// Clients that were told nothing try this one and then `/.well-known/oauth-protected-resource`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the document's JSON text.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(&self.document).expect("texts and lists of texts are always JSON")
    }

    /// Returns the service that answers with the document; it looks at no path.
    #[must_use]
    pub fn service(&self) -> MetadataService {
        MetadataService { json: Bytes::from(self.json()) }
    }

    /// Whether the document is found at this path of a server whose endpoint is at `endpoint`.
    ///
    /// A proxy may have cut the resource's path down to the endpoint's, so both are served; and some clients drop the
    /// slash at the end of either.
    pub(in crate::http) fn is_at(&self, path: &str, endpoint: &str) -> bool {
        let plain = |path: &str| path.strip_suffix('/').unwrap_or(path).to_owned();
        path.strip_prefix(WELL_KNOWN)
            .map(plain)
            .is_some_and(|rest| rest.is_empty() || rest == plain(endpoint) || plain(path) == plain(&self.path))
    }
}

/// Answers with a server's [`ResourceMetadata`], to anyone and to pages of any origin: nothing in it is secret.
#[derive(Clone, Debug)]
pub struct MetadataService {
    json: Bytes,
}

impl MetadataService {
    pub(in crate::http) fn respond(&self, method: &Method) -> Response<ResponseBody> {
        let mut response = match *method {
            Method::GET | Method::HEAD => json_response(StatusCode::OK, self.json.clone()),
            // Clients in browsers send headers of their own (MCP-Protocol-Version), which makes browsers ask first.
            Method::OPTIONS => empty_response(StatusCode::NO_CONTENT),
            _ => Refusal::DocumentMethodNotAllowed.into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if *method == Method::OPTIONS {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
        }
        response
    }
}

impl<B> Service<Request<B>> for MetadataService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.respond(request.method())))
    }
}

/// The URL and path of a resource's document: the well-known part goes between host and path (RFC 9728, section 3.1).
fn well_known(resource: &str) -> Option<(String, String)> {
    // `Uri` drops a fragment without a word, and takes a password.
    if resource.contains(['#', '@']) {
        return None;
    }
    let uri: Uri = resource.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    let authority = uri.authority()?;
    // Only the slash right behind the host goes; any other belongs to the resource's name.
    let path = format!("{WELL_KNOWN}{}", if uri.path() == "/" { "" } else { uri.path() });
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    Some((format!("{scheme}://{authority}{path}{query}"), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(resource: &str) -> Result<ResourceMetadata, ResourceMetadataError> {
        ResourceMetadata::new(resource, ["https://id.example.com"])
    }

    #[test]
    fn the_document_is_between_host_and_path() {
        for (resource, expected) in [
            ("https://mcp.example.com/mcp", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"),
            ("https://mcp.example.com", "https://mcp.example.com/.well-known/oauth-protected-resource"),
            ("https://mcp.example.com/", "https://mcp.example.com/.well-known/oauth-protected-resource"),
            (
                "https://mcp.example.com:8443/a/b",
                "https://mcp.example.com:8443/.well-known/oauth-protected-resource/a/b",
            ),
            ("https://mcp.example.com/mcp/", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp/"),
            ("http://localhost:8080/mcp?k=1", "http://localhost:8080/.well-known/oauth-protected-resource/mcp?k=1"),
        ] {
            assert_eq!(metadata(resource).unwrap().url(), expected);
        }
    }

    #[test]
    fn what_is_not_a_servers_url_is_an_error() {
        for resource in
            ["mcp.example.com", "https://mcp.example.com#x", "/mcp", "ftp://mcp.example.com", "", "https://u:p@h/"]
        {
            let error = metadata(resource).unwrap_err();
            assert!(matches!(error, ResourceMetadataError::Resource { .. }), "{resource}");
        }
        let nowhere = ResourceMetadata::new("https://mcp.example.com", Vec::<String>::new());
        assert_eq!(nowhere.unwrap_err(), ResourceMetadataError::NoAuthorizationServer);
    }

    #[test]
    fn the_document_says_what_is_set_and_nothing_else() {
        let metadata = metadata("https://mcp.example.com/mcp").unwrap();
        assert_eq!(
            metadata.json(),
            "{\"resource\":\"https://mcp.example.com/mcp\",\"authorization_servers\":[\"https://id.example.com\"],\
             \"bearer_methods_supported\":[\"header\"]}"
        );
        let full = metadata.scopes(["deploy"]).name("Releases").documentation("https://example.com/releases");
        assert!(full.json().ends_with(
            "\"scopes_supported\":[\"deploy\"],\"bearer_methods_supported\":[\"header\"],\
             \"resource_name\":\"Releases\",\"resource_documentation\":\"https://example.com/releases\"}"
        ));
    }

    #[test]
    fn the_document_is_served_at_the_root_and_at_the_path() {
        let metadata = metadata("https://mcp.example.com/public/mcp").unwrap();
        for (path, expected) in [
            ("/.well-known/oauth-protected-resource", true),
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/.well-known/oauth-protected-resource/public/mcp", true),
            ("/.well-known/oauth-protected-resource/other", false),
            ("/.well-known/oauth-protected-resources", false),
            ("/mcp", false),
        ] {
            assert_eq!(metadata.is_at(path, "/mcp"), expected, "{path}");
            assert_eq!(metadata.is_at(&format!("{path}/"), "/mcp/"), expected, "{path}/");
        }
    }
}
