//! Strings that ask for a secret: the quote that closes one opens no value. Found by a check: code behind a prompt was replaced.

use crate::support::plant;
use serde_json::json;
use stemmata_redact::Scrubber;

/// Code, in lines of its own, as an argument of a tool in JSON, and in JSON in JSON.
fn dressed(text: &str) -> [String; 4] {
    let edit = json!({ "old": text }).to_string();
    [
        text.to_owned(),
        format!("src/a.py:12:{text}"),
        edit.clone(),
        json!({ "type": "tool_use", "partial_json": edit }).to_string(),
    ]
}

fn scrub(line: &str) -> String {
    let line = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap();
    String::from_utf8(line.bytes.into_owned()).unwrap()
}

#[test]
fn code_behind_a_prompt_stays() {
    for text in [
        "def win_getpass(prompt='Password: ', stream=None):",
        "click.prompt(\"Password: \", hide_input=True)",
        "child.expect('Password: ', timeout=30)",
        "child.expect(b'Password: ', timeout=30)",
        "child.expect(\"Password: \"); child.sendline(\"x\")",
        "rpassword::prompt_password(\"Password: \")?;",
        "input('Secret: ', default=None)",
        "input(f'Token: ', a1b2c3d4e5f6g7h8)",
        "fmt.Print(\"Password: \", user.Name)",
        "echo 'password: ' | tee f",
        "echo \"Password: \" >&2; read -r x",
        "read -rsp \"Password: \" pw; echo",
        "print('Password: ' + name1, end=': ')",
        "print('Password: '+name1)",
        "s = 'Password: '.format(name1)",
        "s = \"Password: \" .. name1 .. \"x\"",
        "s = [\"Password: \", user1]",
        "s = {'a': 'Password: '}; b = {'c': 1}",
        "if prompt == 'Password: ': return name1",
        "<input placeholder=\"Password: \" id=\"a1\"/>",
        "<input placeholder='Password: '/><b class='x1'>",
        "don't use input('Password: ', 'abc1234')",
        "print(\"the password is \", name1)",
        "print(\"The password is: \", name1.lower())",
        "x = \"Password: \" if is_set1 else \"\"",
        "system(\"mysql --password \", user1)",
        "run('set DB_PASSWORD ', user1)",
        "ask(`Password: `, { mask: \"*1\" })",
        "{\"old\": \"child.expect('Password: ', timeout=30)\"}",
        "x {\"old\": \"click.prompt(\\\"Password: \\\", hide=True)\"} y",
    ] {
        for line in dressed(text) {
            assert_eq!(scrub(&line), line);
        }
    }
}

#[test]
fn what_a_quote_opens_is_found() {
    for template in [
        "password: '«hunter2secret»'",
        "'password': '«hunter2secret»'",
        "\"password\": \"«hunter2secret»\"",
        "{'password':'«hunter2secret»'}",
        "app --password '«hunter2secret»'",
        "PGPASSWORD='«hunter2secret»' psql",
        "don't: password: '«hunter2secret»'",
        "the users' password: '«hunter2secret»'",
        "bob's password: ',«hunter2secret»'",
        "f('a', password=',«hunter2secret»')",
        "f(b'a', password='|«hunter2secret»')",
        "x = 'a'; password = ' «hunter2secret»'",
        "{\"a\": \"it's\", 'password': ')«hunter2secret»'}",
        "x {\"a\": \"{\\\"password\\\": \\\",«hunter2secret»\\\"}\"}",
    ] {
        let planted = plant(template, 3);
        for line in dressed(&planted.text()) {
            let clean = scrub(&line);
            assert!(!clean.contains("hunter2") && clean.contains("[REDACTED:"), "{line}: {clean}");
        }
    }
}
