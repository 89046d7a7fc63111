// A host in C++ whose callback fails.  An exception must not leave a callback,
// for the frames of the library have nothing that would set its locks free; so
// the callback keeps it, interrupts the run and returns, and the host throws it
// when the call has returned.  The session then goes on.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>

#include <rly.h>

struct Free {
  void operator()(rly_context *cx) { rly_context_free(cx); }
  void operator()(rly_program *p) { rly_program_free(p); }
  void operator()(rly_session *s) { rly_session_free(s); }
  void operator()(rly_value *v) { rly_value_free(v); }
};

struct Host {
  rly_session *session = nullptr;
  std::exception_ptr thrown;
  int written = 0;
};

static void write(void *data, const char *text, size_t len) noexcept {
  Host *host = static_cast<Host *>(data);
  try {
    host->written++;
    if (len && text[0] == '3') throw std::runtime_error("no more");
  } catch (...) {
    host->thrown = std::current_exception();
    rly_session_interrupt(host->session);
  }
}

static std::unique_ptr<rly_value, Free> call(Host &host, const char *name) {
  rly_value *v = nullptr;
  rly_status status = rly_session_call(host.session, name, 0, nullptr, &v);
  if (host.thrown) {
    std::exception_ptr thrown = host.thrown;
    host.thrown = nullptr;
    std::rethrow_exception(thrown);
  }
  if (status != RLY_OK) throw std::runtime_error(rly_status_name(status));
  return std::unique_ptr<rly_value, Free>(v);
}

static const char text[] =
    "def @count(%n: int32) -> int32 { print(%n); @count(%n + 1) }\n"
    "def @main() { @count(0) }\n"
    "def @fine() { 5 }\n";

int main() {
  Host host;
  std::unique_ptr<rly_context, Free> cx(rly_context_new(nullptr));
  std::unique_ptr<rly_program, Free> p(rly_program_new(cx.get()));
  if (rly_program_add_text(p.get(), "text", text, std::strlen(text), 0) !=
      RLY_OK)
    return 1;
  rly_session_options options = {};
  options.write = write;
  options.data = &host;
  std::unique_ptr<rly_session, Free> s(rly_session_new(p.get(), &options));
  host.session = s.get();
  try {
    call(host, "main");
    return 1;
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
  }
  auto five = call(host, "fine");
  std::printf("%d\n", *static_cast<const int *>(rly_value_elements(five.get())));
}
