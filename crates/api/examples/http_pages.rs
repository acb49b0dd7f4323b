//! Prints the documents about HTTP: `openapi` for programs, `table` for docs/reference/http.md; `cargo xtask generate` runs it.

use std::io::Write as _;

use stemmata_api::operations::http;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if std::env::args().nth(1).as_deref() == Some("openapi") {
        let document = serde_json::to_string_pretty(&http::openapi())?;
        return writeln!(out, "{document}");
    }
    out.write_all(page().as_bytes())
}

/// Returns the page.
fn page() -> String {
    "<!-- Written by `cargo xtask generate`; do not edit. -->\n# HTTP\n\n`stemma serve` answers these requests; \
     [service.md](../guide/service.md) begins with them, and `GET /openapi.json` has every field. A part of a path in braces is a field of \
     the request. With `GET` the other fields stand in the query: a field of a field as `page.limit=20`, a list by repeating its \
     name. With `POST` and `PATCH` they are the JSON of the body. An answer is JSON; a problem is `application/problem+json` with the \
     codes of [errors.md](errors.md). *May* is what a caller must be allowed to do.\n\n"
        .to_owned()
        + &http::table()
}
