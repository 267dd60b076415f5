//! Fields that look as if they asked for a secret, which no form may do.
//!
//! It is a guess from the words around a field, made for a warning: a person decides. A word counts only as a whole, so
//! that neither a spinning wheel nor a number of tokens is taken for one.

use super::field::{Field, TextFormat};

impl Field {
    /// What secret the field seems to ask for, by its name, title, description or format; `None` for most fields.
    ///
    /// # Security
    ///
    /// The specification has servers ask for passwords, keys, tokens and payment details on pages of their own, never in
    /// forms, whose answers pass through the client. Warn the person before such a field is answered. The guess knows
    /// common English words and a few others: that it finds nothing says nothing.
    ///
    /// ```
    /// use mrtr::form::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::lenient(&json!({ "properties": {
    ///     "apiKey": { "type": "string" }, "keyboard": { "type": "string" },
    /// }}));
    /// assert_eq!(form.fields()[0].looks_secret(), Some("an API key"));
    /// assert_eq!(form.fields()[1].looks_secret(), None);
    /// ```
    #[must_use]
    pub fn looks_secret(&self) -> Option<&'static str> {
        let format = match &self.kind {
            super::FieldKind::Text { format: Some(TextFormat::Other(format)), .. } => Some(format.as_str()),
            _ => None,
        };
        let labels = [Some(self.name.as_str()), self.title.as_deref(), format];
        let in_labels = labels.into_iter().flatten().find_map(|text| secret_in(text, LABELS));
        in_labels.or_else(|| secret_in(self.description.as_deref().unwrap_or_default(), SENTENCES))
    }
}

fn secret_in(text: &str, known: &[&[(&str, &'static str)]]) -> Option<&'static str> {
    let words = words(text);
    let spaced = format!(" {words} ");
    let is_there = |phrase: &str| spaced.contains(&format!(" {phrase} "));
    known.iter().copied().flatten().find(|(phrase, _)| is_there(phrase)).map(|(_, what)| *what)
}

/// The words of a name or a sentence in lower case: `apiKey`, `API-key` and `api_key` are the same two.
fn words(text: &str) -> String {
    let mut words = String::new();
    let mut after_lower = false;
    for c in text.chars().take(LONGEST) {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_lower) {
            words.push(' ');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a description says is read too, but there words such as "pin" mean other things more often.
const SENTENCES: &[&[(&str, &str)]] = &[UNMISTAKABLE];

const LABELS: &[&[(&str, &str)]] = &[UNMISTAKABLE, SHORT];

const UNMISTAKABLE: &[(&str, &str)] = &[
    ("password", PASSWORD),
    ("passwords", PASSWORD),
    ("passwd", PASSWORD),
    ("passphrase", PASSWORD),
    ("passcode", PASSWORD),
    ("passwort", PASSWORD),
    ("kennwort", PASSWORD),
    ("mot de passe", PASSWORD),
    ("contraseña", PASSWORD),
    ("senha", PASSWORD),
    ("пароль", PASSWORD),
    ("密码", PASSWORD),
    ("パスワード", PASSWORD),
    ("apikey", API_KEY),
    ("api key", API_KEY),
    ("api keys", API_KEY),
    ("api token", API_KEY),
    ("access key", API_KEY),
    ("secret key", API_KEY),
    ("private key", "a private key"),
    ("ssh key", "a private key"),
    ("signing key", "a private key"),
    ("encryption key", "a private key"),
    ("seed phrase", "a private key"),
    ("recovery phrase", "a private key"),
    ("client secret", "a secret"),
    ("access token", TOKEN),
    ("refresh token", TOKEN),
    ("bearer token", TOKEN),
    ("auth token", TOKEN),
    ("session token", TOKEN),
    ("jwt", TOKEN),
    ("credentials", "credentials"),
    ("card number", CARD),
    ("cardnumber", CARD),
    ("credit card", CARD),
    ("creditcard", CARD),
    ("debit card", CARD),
    ("cvv", CARD),
    ("cvc", CARD),
    ("security code", CARD),
    ("social security number", "an identity number"),
    ("one time code", CODE),
    ("one time password", CODE),
    ("verification code", CODE),
];

const SHORT: &[(&str, &str)] = &[
    ("secret", "a secret"),
    ("token", TOKEN),
    ("credential", "credentials"),
    ("pwd", PASSWORD),
    ("pass", PASSWORD),
    ("pin", "a PIN"),
    ("pin code", "a PIN"),
    ("otp", CODE),
    ("ssn", "an identity number"),
    ("authorization", TOKEN),
];

const PASSWORD: &str = "a password";
const API_KEY: &str = "an API key";
const TOKEN: &str = "an access token";
const CARD: &str = "payment card details";
const CODE: &str = "a one-time code";

/// How much of a text is read, in characters: a description may have a megabyte.
const LONGEST: usize = 4000;
