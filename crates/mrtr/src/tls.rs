//! How this crate's HTTP clients do TLS: rustls with ring, trusting what the platform trusts.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
};
use rustls_platform_verifier::Verifier;

/// Builds the TLS configuration with its own crypto provider: a library does not install one for the whole process.
pub(crate) fn config(trust_platform: bool) -> Result<ClientConfig, rustls::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    if trust_platform {
        let verifier = Arc::new(Verifier::new(provider)?);
        return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
    }
    // Plain HTTP needs no trust store, and a machine without one can still call a local server. Nothing is trusted then.
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
