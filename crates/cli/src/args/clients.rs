//! Clients, as help texts list them: from the table, so that a new one is in all of them.

use stemmata_service::clients::{at_home, hooked, listed};

/// Returns the help of an argument that names a client with hooks.
pub(super) fn with_hooks() -> String {
    let mut ids: Vec<&str> = hooked().map(|client| client.id).collect();
    ids.sort_unstable();
    format!("The client: {}", listed(ids.into_iter().map(quoted), "or"))
}

/// Returns the help of `--in`.
pub(super) fn to_continue_in() -> String {
    let clients = listed(at_home().map(|client| quoted(client.id)), "or");
    format!(
        "Client to continue in: {clients} [default: the original]. Sessions are converted; losses are listed"
    )
}

/// Returns the help of a filter by client.
pub(super) fn to_search() -> String {
    let clients: Vec<String> = at_home().map(|client| quoted(client.id)).collect();
    format!("Only this client: {} or another; `ledger`: events", clients.join(", "))
}

fn quoted(id: &str) -> String {
    format!("`{id}`")
}
