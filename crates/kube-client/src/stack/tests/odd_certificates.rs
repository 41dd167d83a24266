//! Servers with certificates that no library accepts, and CA bundles with blocks that cannot be used.

use std::io::{Read, Write};

use openssl::asn1::{Asn1Object, Asn1OctetString, Asn1Time};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::{X509, X509Extension};

use super::servers::{CertificateAuthority, Https, acceptor};
use super::{backends, client, client_certificate};
use crate::config::Config;

fn certificate(key: &PKey<Private>, version: i32, extension: Option<X509Extension>) -> X509 {
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(version).unwrap();
    certificate.set_pubkey(key).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    if let Some(extension) = extension {
        certificate.append_extension(extension).unwrap();
    }
    certificate.sign(key, MessageDigest::sha256()).unwrap();
    certificate.build()
}

fn rsa(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap()
}

/// A server of OpenSSL, which responds to the first request of each connection.
fn serve(key: &PKey<Private>, certificate: &X509) -> String {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_security_level(0);
    acceptor.set_certificate(certificate).unwrap();
    acceptor.set_private_key(key).unwrap();
    let acceptor = acceptor.build();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let Ok(mut stream) = acceptor.accept(stream) else { continue };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
        }
    });
    url
}

/// As by kubectl.
#[tokio::test]
async fn an_insecure_client_accepts_whatever_the_server_presents() {
    let group = EcGroup::from_curve_name(Nid::SECP521R1).unwrap();
    let p521 = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let (usual, small) = (rsa(2048), rsa(1024));
    let oid = Asn1Object::from_str("1.2.3.4").unwrap();
    let content = Asn1OctetString::new_from_bytes(&[5, 0]).unwrap();
    let critical = X509Extension::new_from_der(&oid, true, &content).unwrap();
    for (what, key, certificate) in [
        ("version 1", &usual, certificate(&usual, 0, None)),
        ("unknown critical extension", &usual, certificate(&usual, 2, Some(critical))),
        ("RSA with 1024 bits", &small, certificate(&small, 2, None)),
        ("P-521", &p521, certificate(&p521, 2, None)),
    ] {
        let mut config = Config::new(serve(key, &certificate).parse().unwrap());
        config.accept_invalid_certs = true;
        for (name, backend) in backends() {
            let answer = client_certificate(&client(&config, backend).unwrap()).await;
            assert_eq!(answer.unwrap(), "ok", "{what}, {name}");
        }
    }
}

#[tokio::test]
async fn a_ca_bundle_is_used_without_the_certificates_that_are_not_valid() {
    let ours = CertificateAuthority::new("ours");
    let server = Https::start(acceptor(&ours.sign(&["127.0.0.1"]), &ours)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    let block =
        |content: &str| format!("-----BEGIN CERTIFICATE-----\n{content}\n-----END CERTIFICATE-----\n");
    for (name, backend) in backends() {
        let mut config = Config::new(server.url().parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec(), ours.der()]);
        assert!(client_certificate(&client(&config, backend).unwrap()).await.is_ok(), "{name}");
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        assert!(client(&config, backend).is_err(), "{name}");

        // Also when the file is read again.
        std::fs::write(&file, CertificateAuthority::new("other").pem()).unwrap();
        config.root_cert = None;
        config.root_cert_file = Some(file.clone());
        let client = client(&config, backend).unwrap();
        assert!(client_certificate(&client).await.is_err(), "{name}");
        std::fs::write(&file, [block("YQ=="), block("%%"), ours.pem()].concat()).unwrap();
        assert!(client_certificate(&client).await.is_ok(), "{name}");
    }
}
