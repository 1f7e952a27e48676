//! Generates what `tonic-build` makes of a service without `protoc`: the message is written
//! by hand.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let method = |name: &str, route: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("crate::rpc::Number")
            .output_type("crate::rpc::Number")
            .codec_path("tonic_prost::ProstCodec")
    };
    let service = Service::builder()
        .name("Doubles")
        .package("bench")
        .method(method("call", "Call").build())
        .method(
            method("stream", "Stream")
                .client_streaming()
                .server_streaming()
                .build(),
        )
        .build();
    Builder::new().compile(&[service]);
    println!("cargo:rerun-if-changed=../build.rs");
}
