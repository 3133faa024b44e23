//! Where the values of the user's own measure come from: `--slo`.
//!
//! | text | values |
//! |---|---|
//! | `CMD` | `sh -c CMD` runs as long as the job; the first number of each line it prints |
//! | `http://HOST:PORT/PATH METRIC` | the page's line of that name, Prometheus' text format, once a second |
//!
//! `rate:` before either makes it a rate, where more is better, instead of a latency.

use std::path::PathBuf;
use std::str::FromStr;

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SloSource {
    /// For `sh -c`, in this directory.
    Command {
        /// The command.
        text: String,
        /// Where lull was started: its helpers work elsewhere.
        dir: PathBuf,
    },
    /// Asked once a second.
    Page {
        /// Where it is.
        url: String,
        /// The name of the line.
        metric: String,
    },
}

/// What `--slo` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SloChoice {
    /// Where values come from.
    pub source: SloSource,
    /// Whether more is better.
    pub is_rate: bool,
}

impl FromStr for SloChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (is_rate, text) = match text.strip_prefix("rate:") {
            Some(rest) => (true, rest.trim()),
            None => (false, text.trim()),
        };
        if text.is_empty() {
            return Err(
                "is empty; give a command that prints a number each second, or a URL and a metric".to_owned()
            );
        }
        let source = if text.starts_with("http://") {
            page_in(text)?
        } else if text.split_whitespace().next().is_some_and(|word| word.contains("://")) {
            return Err(format!(
                "'{text}': only http:// pages are read; use a command, such as curl, for others"
            ));
        } else {
            let dir = std::env::current_dir().unwrap_or_default();
            SloSource::Command { text: text.to_owned(), dir }
        };
        Ok(Self { source, is_rate })
    }
}

/// `http://HOST:PORT/PATH METRIC`
fn page_in(text: &str) -> Result<SloSource, String> {
    let wrong = |what: &str| format!("'{text}' {what}; write http://HOST:PORT/PATH METRIC");
    let (url, metric) = text.split_once(char::is_whitespace).ok_or_else(|| wrong("names no metric"))?;
    let metric = metric.trim();
    let name = metric.split_once('{').map_or(metric, |(name, _)| name);
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(wrong("names no single metric"));
    }
    let uri: http::Uri = url.parse().map_err(|error| wrong(&format!("has no address ({error})")))?;
    // A number that is no port is taken for a part of the name.
    let place = uri.authority().map(|place| place.as_str());
    let host = place.map(|place| place.rsplit_once('@').map_or(place, |(_, host)| host));
    let port = host.and_then(|host| host.rsplit_once(':'));
    if uri.host().is_none_or(str::is_empty)
        || port.is_some_and(|(_, port)| !port.ends_with(']') && uri.port_u16().is_none())
    {
        return Err(wrong("has no address"));
    }
    Ok(SloSource::Page { url: url.to_owned(), metric: metric.to_owned() })
}

#[cfg(test)]
mod tests;
