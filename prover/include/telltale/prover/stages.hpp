// Who wants to know how far a proof is, or to stop it, gives engine::prove one of these.
#pragma once

namespace prover {

// It may throw: the proof then ends with that exception, having wiped and freed what it used.
class stage_listener {
 public:
  // Called on the proving thread where a stage begins: "evaluate_rows", "intt_c", …, "msm_h", …, "assemble", "verify";
  // the stage before it, if any, has ended. `stage` is a literal, the name of the stage's span. False: stop here.
  virtual bool begins(const char* stage) = 0;

 protected:
  ~stage_listener() = default;
};

// Nobody listens: go on.
inline bool go_on(stage_listener* listener, const char* stage) {
  return listener == nullptr || listener->begins(stage);
}

}  // namespace prover
