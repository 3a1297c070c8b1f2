// snarkjs' JSON files: verification_key.json, proof.json, public.json. Numbers are decimal strings.
#pragma once

#include <string>
#include <vector>

#include "prover/format/curve_of.hpp"
#include "prover/groth16/points.hpp"

namespace prover::format {

// The curve that a verification key names.
telltale::result<curve_id> vkey_curve(const std::string& text, const std::string& name);

// Every point is checked: coordinates below the prime, on the curve, in the subgroup.
template <class Curve>
telltale::result<groth16::verification_points<Curve>> parse_vkey(const std::string& text, const std::string& name);

// "curve" may be missing (rapidsnark leaves it out); where it stands it must be Curve's.
template <class Curve>
telltale::result<groth16::proof_points<Curve>> parse_proof(const std::string& text, const std::string& name);

// Every signal must be below r: larger ones would be a second name for the same proof.
telltale::result<std::vector<integer<4>>> parse_public(const std::string& text, const std::string& name,
                                                       curve_id curve);

template <class Curve>
std::string write_proof(const groth16::proof_points<Curve>& proof);
// Without snarkjs' vk_alphabeta_12, which no verifier needs: it follows from alpha and beta.
template <class Curve>
std::string write_vkey(const groth16::verification_points<Curve>& key);
std::string write_public(const std::vector<integer<4>>& signals);

}  // namespace prover::format
