//! Finds libtelltale: in TELLTALE_LIB_DIR, else where pkg-like prefixes put it.
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-env-changed=TELLTALE_LIB_DIR");
    println!("cargo:rerun-if-changed=build.rs");
    let directory = match std::env::var_os("TELLTALE_LIB_DIR") {
        Some(said) => {
            let said = PathBuf::from(said);
            assert!(
                has_library(&said),
                "TELLTALE_LIB_DIR is \"{}\", but there is no libtelltale.so there. Build Telltale's core and install it \
                 (cmake --install), or name the folder that has the library.",
                said.display()
            );
            said
        }
        None => ["/usr/local/lib", "/usr/local/lib64", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"]
            .iter()
            .map(PathBuf::from)
            .find(|d| has_library(d))
            .expect(
                "libtelltale.so was not found in the usual folders. Install Telltale's core (cmake --install), or set \
                 TELLTALE_LIB_DIR to the folder that has it.",
            ),
    };
    println!("cargo:rustc-link-search=native={}", directory.display());
    println!("cargo:rustc-link-lib=dylib=telltale");
    // For this package's own tests; a program that depends on it says itself where its libraries are.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", directory.display());
}

fn has_library(directory: &Path) -> bool {
    directory.join("libtelltale.so").exists()
}
