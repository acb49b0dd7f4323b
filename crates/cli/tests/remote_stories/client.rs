//! What the client does when an answer does not come, or comes from another version.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;

use stemmata_api::v1::{SearchFilter, SearchForm, SearchRequest, TagsRequest};
use stemmata_api::{CancelToken, Chains as _, Control, Search as _};
use stemmata_client::Remote;

/// Returns a client of a service that a listener on this machine stands for.
fn client(listener: &TcpListener) -> Remote {
    let address = listener.local_addr().expect("an address");
    Remote::new(format!("http://{address}").parse().expect("an address of a service"))
}

#[test]
fn who_cancels_waits_no_longer_and_the_service_sees_the_connection_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let remote = client(&listener);
    let cancel = CancelToken::default();
    let (asked, is_asked) = channel();
    let far = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while lines.read_line(&mut line).expect("a head") > 2 {
            line.clear();
        }
        asked.send(()).expect("the test waits");
        // It never answers: the connection ends because the client went away.
        lines.read_to_end(&mut Vec::new()).expect("an end")
    });
    let token = cancel.clone();
    let canceller = thread::spawn(move || {
        is_asked.recv().expect("a request");
        token.cancel();
    });
    let request = SearchRequest {
        text: "x".to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::all(),
        is_unfinished: false,
        limit: None,
        settle_ms: None,
    };
    let control = Control { cancel: Some(&cancel), ..Control::none() };
    let problem = remote.search(&request, &control).expect_err("it was cancelled");
    assert_eq!(problem.code, "cancelled");
    canceller.join().expect("cancelled");
    assert_eq!(far.join().expect("an end"), 0);
}

#[test]
fn a_service_of_another_version_that_does_not_understand_is_named_with_its_version() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let remote = client(&listener);
    let far = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let body = r#"{"code":"bad_request","kind":"usage","title":"t","detail":"unknown field `prefix`","exit_code":2}"#;
        let head = "HTTP/1.1 400 Bad Request\r\nServer: stemmata/99.1.0\r\nConnection: close\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).expect("sent");
        let _request = stream.read(&mut [0; 4096]);
    });
    let problem = remote.tags(&TagsRequest { prefix: String::new() }).expect_err("it was refused");
    assert_eq!(problem.code, "bad_request");
    assert!(problem.detail.starts_with("unknown field `prefix`; this is version "), "{problem}");
    assert!(problem.detail.ends_with("and the service is version 99.1.0"), "{problem}");
    far.join().expect("an answer");
}
