//! The kernels of arkworks and blst, one thread each, for ./bench prover. A request is a line on standard input, such as
//! "arkworks msm bn254 g1 18"; the answer is a line with the milliseconds that one run took, of processor time and of time.
//! What a request needs is made when it first comes.
use ark_ec::{pairing::Pairing, CurveGroup, VariableBaseMSM};
use ark_ff::{FftField, PrimeField, UniformRand};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};

type Run = Box<dyn FnMut()>;

fn cpu_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}

fn arkworks_msm<G: CurveGroup + VariableBaseMSM>(n: usize) -> Run {
    let mut rng = ark_std::test_rng();
    let step = G::generator();
    let mut walk = G::rand(&mut rng);
    let points: Vec<G> = (0..n)
        .map(|_| {
            walk += step;
            walk
        })
        .collect();
    let bases = G::normalize_batch(&points);
    let scalars: Vec<_> = (0..n).map(|_| G::ScalarField::rand(&mut rng).into_bigint()).collect();
    Box::new(move || {
        black_box(G::msm_bigint(&bases, &scalars));
    })
}

/// Values on the n-th roots of unity to coefficients, and those to values on the odd 2n-th roots.
fn arkworks_ntt<F: PrimeField + FftField>(n: usize) -> Run {
    let mut rng = ark_std::test_rng();
    let domain = Radix2EvaluationDomain::<F>::new(n).unwrap();
    let coset = domain.get_coset(F::get_root_of_unity(2 * n as u64).unwrap()).unwrap();
    let mut values: Vec<F> = (0..n).map(|_| F::rand(&mut rng)).collect();
    Box::new(move || {
        domain.ifft_in_place(&mut values);
        coset.fft_in_place(&mut values);
        black_box(&values);
    })
}

fn random_scalars(n: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    };
    // Below 2^254, and so below the curve's order.
    (0..4 * n)
        .flat_map(|i| if i % 4 == 3 { next() >> 2 } else { next() }.to_le_bytes())
        .collect()
}

macro_rules! blst_msm {
    ($name:ident, $point:ident, $affine:ident, $generator:ident, $add:ident, $to_affine:ident, $scratch:ident,
     $multiply:ident) => {
        fn $name(n: usize) -> Run {
            use blst::*;
            let generator = unsafe { *$generator() };
            let mut walk = generator;
            let points: Vec<$point> = (0..n)
                .map(|_| {
                    let this = walk;
                    unsafe { $add(&mut walk, &this, &generator) };
                    walk
                })
                .collect();
            let mut bases = vec![$affine::default(); n];
            let all = [points.as_ptr(), std::ptr::null()];
            unsafe { $to_affine(bases.as_mut_ptr(), all.as_ptr(), n) };
            let scalars = random_scalars(n);
            let mut scratch = vec![0 as limb_t; unsafe { $scratch(n) } / std::mem::size_of::<limb_t>() + 1];
            Box::new(move || {
                let bases = [bases.as_ptr(), std::ptr::null()];
                let scalars = [scalars.as_ptr(), std::ptr::null()];
                let mut sum = $point::default();
                unsafe {
                    $multiply(
                        &mut sum,
                        bases.as_ptr(),
                        n,
                        scalars.as_ptr(),
                        255,
                        scratch.as_mut_ptr(),
                    )
                };
                black_box(sum);
            })
        }
    };
}
blst_msm!(
    blst_g1,
    blst_p1,
    blst_p1_affine,
    blst_p1_generator,
    blst_p1_add_or_double,
    blst_p1s_to_affine,
    blst_p1s_mult_pippenger_scratch_sizeof,
    blst_p1s_mult_pippenger
);
blst_msm!(
    blst_g2,
    blst_p2,
    blst_p2_affine,
    blst_p2_generator,
    blst_p2_add_or_double,
    blst_p2s_to_affine,
    blst_p2s_mult_pippenger_scratch_sizeof,
    blst_p2s_mult_pippenger
);

fn make(request: &str) -> Option<Run> {
    let (kernel, log_size) = request.rsplit_once(' ')?;
    let n = 1usize << log_size.parse::<u32>().ok().filter(|k| *k <= 24)?;
    Some(match kernel {
        "arkworks msm bn254 g1" => arkworks_msm::<<ark_bn254::Bn254 as Pairing>::G1>(n),
        "arkworks msm bn254 g2" => arkworks_msm::<<ark_bn254::Bn254 as Pairing>::G2>(n),
        "arkworks msm bls12-381 g1" => arkworks_msm::<<ark_bls12_381::Bls12_381 as Pairing>::G1>(n),
        "arkworks msm bls12-381 g2" => arkworks_msm::<<ark_bls12_381::Bls12_381 as Pairing>::G2>(n),
        "arkworks ntt bn254" => arkworks_ntt::<ark_bn254::Fr>(n),
        "arkworks ntt bls12-381" => arkworks_ntt::<ark_bls12_381::Fr>(n),
        "blst msm bls12-381 g1" => blst_g1(n),
        "blst msm bls12-381 g2" => blst_g2(n),
        _ => return None,
    })
}

fn main() {
    let mut made: HashMap<String, Run> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let request = line.expect("standard input");
        if !made.contains_key(&request) {
            match make(&request) {
                Some(run) => made.insert(request.clone(), run),
                None => {
                    println!("cannot: no such request");
                    continue;
                }
            };
        }
        let run = made.get_mut(&request).unwrap();
        let (before, cpu_before) = (std::time::Instant::now(), cpu_ms());
        run();
        println!("{} {}", cpu_ms() - cpu_before, before.elapsed().as_secs_f64() * 1e3);
        std::io::stdout().flush().unwrap();
    }
}
