#include "store_access.hpp"

#include "hub/ask/api.hpp"

namespace telltale::cli {

namespace {

class store_access final : public access {
 public:
  explicit store_access(std::unique_ptr<hub::store> s) : store_(std::move(s)) { hub::add_api(routes_, *store_); }

  result<reply> ask(const request& r) override {
    hub::http_request asked;
    asked.method = r.method;
    asked.target = "/api/v1/" + r.path;
    asked.query = r.query;
    asked.body = r.body;
    hub::http_response answer = routes_.answer(asked);
    return reply{answer.status, std::move(answer.body)};
  }
  result<reply> follow(const request&, const std::function<bool(std::string_view)>&) override {
    return error{"nothing comes into a store while no hub runs. `telltale serve --store DIR` starts one"};
  }

 private:
  std::unique_ptr<hub::store> store_;
  hub::router routes_;
};

}  // namespace

result<std::unique_ptr<access>> over_store(std::string directory) {
  hub::store_options o;
  o.directory = std::move(directory);
  o.read_only = true;
  auto s = hub::open_store(std::move(o));
  if (!s) return s.error();
  return std::unique_ptr<access>(std::make_unique<store_access>(std::move(*s)));
}

}  // namespace telltale::cli
