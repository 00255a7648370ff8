use proptest::prelude::*;

use super::{Domain, ENCODING_VERSION, Encoder};
use crate::Digest;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Bool(bool),
    U64(u64),
    I64(i64),
    F64(u64),
    Str(String),
    Bytes(Vec<u8>),
    Digest([u8; 32]),
    Absent,
    Record(String, Vec<Token>),
}

fn tokens() -> impl Strategy<Value = Vec<Token>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Token::Bool),
        (0_u64..4).prop_map(Token::U64),
        (-2_i64..3).prop_map(Token::I64),
        (0_u64..4).prop_map(Token::F64),
        "[()nsb]{0,3}".prop_map(Token::Str),
        prop::collection::vec(prop::sample::select(b"()ns\0".to_vec()), 0..3)
            .prop_map(Token::Bytes),
        any::<[u8; 32]>().prop_map(Token::Digest),
        Just(Token::Absent),
    ];
    let token = leaf.prop_recursive(3, 12, 3, |inner| {
        ("[()n]{0,2}", prop::collection::vec(inner, 0..3))
            .prop_map(|(name, content)| Token::Record(name, content))
    });
    prop::collection::vec(token, 0..4)
}

fn write(tokens: &[Token], encoder: &mut Encoder) {
    for token in tokens {
        match token {
            Token::Bool(value) => encoder.bool(*value),
            Token::U64(value) => encoder.u64(*value),
            Token::I64(value) => encoder.i64(*value),
            Token::F64(bits) => encoder.f64(f64::from_bits(*bits)),
            Token::Str(text) => encoder.str(text),
            Token::Bytes(bytes) => encoder.bytes(bytes),
            Token::Digest(bytes) => encoder.digest(&Digest::from_bytes(*bytes)),
            Token::Absent => encoder.absent(),
            Token::Record(name, content) => encoder.record(name, |it| write(content, it)),
        }
    }
}

fn digest(tokens: &[Token]) -> Digest {
    let mut encoder = Encoder::new(Domain::Field);
    write(tokens, &mut encoder);
    encoder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// The alphabet is small and made of tag bytes, so that streams which a careless encoding would
    /// confuse come up often.
    #[test]
    fn streams_are_equal_just_when_their_digests_are(left in tokens(), right in tokens()) {
        prop_assert_eq!(digest(&left) == digest(&right), left == right);
    }
}

#[test]
fn tokens_that_are_easily_confused_are_not() {
    let streams = [
        vec![],
        vec![Token::Absent],
        vec![Token::Str(String::new())],
        vec![Token::Bytes(vec![])],
        vec![Token::Str("ab".into())],
        vec![Token::Str("a".into()), Token::Str("b".into())],
        vec![Token::Bytes(b"ab".to_vec())],
        vec![Token::U64(0)],
        vec![Token::I64(0)],
        vec![Token::F64(0)],
        vec![Token::F64(1 << 63)],
        vec![Token::Bool(false)],
        vec![Token::Record(String::new(), vec![])],
        vec![Token::Record(String::new(), vec![Token::Absent])],
        vec![Token::Record(String::new(), vec![]), Token::Absent],
        vec![Token::Record("n".into(), vec![])],
    ];
    let digests: std::collections::BTreeSet<Digest> = streams.iter().map(|it| digest(it)).collect();
    assert_eq!(digests.len(), streams.len());
}

#[test]
fn domains_tell_the_version_and_are_different() {
    let domains = [
        Domain::NormalizedLane,
        Domain::ExactLane,
        Domain::Field,
        Domain::Configuration,
        Domain::Ptx,
        Domain::ModuleOfLowering,
        Domain::ModuleOfText,
        Domain::Folder,
    ];
    let texts: std::collections::BTreeSet<&str> = domains.iter().map(|it| it.text()).collect();
    assert_eq!(texts.len(), domains.len());
    let specification = include_str!("../../ENCODING.md");
    for text in texts {
        assert!(text.starts_with(&format!("ptx-key/{ENCODING_VERSION}/")));
        assert!(specification.contains(text));
    }
}

#[test]
fn the_worked_example_of_the_specification_is_what_is_hashed() {
    let specification = include_str!("../../ENCODING.md");
    let (_, behind) = specification.split_once("```text\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    let digits: String = example.chars().filter(char::is_ascii_hexdigit).collect();
    let example = base16ct::lower::decode_vec(&digits).unwrap();

    let domain = Domain::Field.text().as_bytes();
    let length = u64::try_from(domain.len()).unwrap().to_le_bytes();
    let bytes = [b"s".as_slice(), &length, domain, &example].concat();
    let stream =
        [Token::Str("a".into()), Token::U64(5), Token::Record("r".into(), vec![Token::Absent])];
    assert_eq!(digest(&stream), Digest::of_bytes(&bytes));
}
