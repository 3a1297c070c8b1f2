#include "hub/store/listeners.hpp"

#include "hub/store/records.hpp"

namespace telltale::hub {

std::shared_ptr<void> listeners::add(store::listener f) {
  auto kept = std::make_shared<store::listener>(std::move(f));
  const std::lock_guard lock(mutex_);
  all_.push_back(kept);
  any_ = true;
  return kept;
}

void listeners::tell(const batch& b) {
  if (!any_) return;
  std::vector<std::shared_ptr<store::listener>> now;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& l) { return l.expired(); });
    for (const auto& l : all_) {
      if (auto kept = l.lock()) now.push_back(std::move(kept));
    }
    any_ = !all_.empty();
  }
  if (now.empty()) return;
  for (const auto* list : {&b.spans, &b.open}) {
    for (const span_record& s : *list) {
      const auto row = row_of(s, b);
      if (!row) continue;
      for (const auto& l : now) (*l)(*row);
    }
  }
}

}  // namespace telltale::hub
